import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { CURRENCY_CODES } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import type { Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { SANDBOX_INSTRUMENTS } from '../../../src/gateways/sandbox/index.ts'
import { CARD, callApi, makeAttempt, RETURN_URL, type Rig, saveCard, startRig } from './rig.ts'

const cleanups: (() => Promise<void>)[] = []
let rig: Rig
before(async () => {
  rig = await startRig(cleanups)
})
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

const summarize = (outcome: Outcome | StartedCheckout) =>
  outcome.kind === 'succeeded'
    ? `paid ${outcome.paid.minor} ${outcome.paid.currency}`
    : outcome.kind === 'declined'
      ? outcome.code
      : outcome.kind === 'unknown'
        ? outcome.reason
        : outcome.kind

async function startWith(instrument: string) {
  const channel = SANDBOX_INSTRUMENTS.find(({ name }) => name === instrument)?.channel ?? 'card'
  const now = rig.clock.now()
  const attempt = makeAttempt({ startedAt: now, expiresAt: new Date(now.getTime() + 3_600_000) })
  return { attempt, started: await rig.gateway.startCheckout(attempt, { channel, instrument }, RETURN_URL) }
}

describe('a card in a sandbox checkout', () => {
  const endings: [string, string, string | null][] = [
    ['card_success', 'paid 125050 KES', '4242'],
    ['card_3ds', 'paid 125050 KES', '3155'],
    ['card_declined', 'do_not_honor', null],
    ['card_insufficient_funds', 'insufficient_funds', null],
    ['card_declined_later', 'paid 125050 KES', '0341'],
    ['card_auth_required_later', 'paid 125050 KES', '3184'],
    ['card_lost_answer_later', 'paid 125050 KES', '0119'],
    ['card_slow_later', 'paid 125050 KES', '0259'],
  ]
  for (const [instrument, ending, last4] of endings) {
    it(`${instrument} is pending on the page and ends: ${ending}`, async () => {
      const { attempt, started } = await startWith(instrument)
      assert(started.kind === 'started' && started.next.kind === 'redirect')
      assert.match(started.next.url, /^http:\/\/127\.0\.0\.1:\d+\/pay\/\w{22}$/)
      assert.equal(summarize(await rig.gateway.verify(attempt, null)), 'pending')
      assert.equal(summarize(await rig.gateway.simulatePayer(attempt.key)), ending)
      const outcome = await rig.gateway.verify(attempt, null)
      assert.equal(summarize(outcome), ending)
      const saved = outcome.kind === 'succeeded' ? outcome.savedMethod : null
      assert.equal(saved?.card?.last4 ?? null, last4)
      if (outcome.kind === 'succeeded') assert.equal(outcome.key, attempt.key)
      const executions = await rig.gateway.executions(attempt.paymentId)
      assert.equal(executions.length, last4 ? 1 : 0)
    })
  }

  it('is saved with one fingerprint per instrument and payer, for every currency', async () => {
    const save = async (instrument: string, email: string) => {
      const attempt = makeAttempt({ customer: { email, firstname: 'A', lastname: 'B' } })
      await rig.gateway.startCheckout(attempt, { channel: 'card', instrument }, RETURN_URL)
      const outcome = await rig.gateway.simulatePayer(attempt.key)
      assert(outcome.kind === 'succeeded' && outcome.savedMethod)
      return outcome.savedMethod
    }
    const first = await save('card_success', 'a@example.com')
    const again = await save('card_success', 'A@example.com')
    assert.equal(first.fingerprint, again.fingerprint)
    assert.notEqual(first.fingerprint, (await save('card_3ds', 'a@example.com')).fingerprint)
    assert.notEqual(first.fingerprint, (await save('card_success', 'b@example.com')).fingerprint)
    assert.deepEqual(first.currencies, CURRENCY_CODES)
    assert((first.card?.expiryYear ?? 0) > rig.clock.now().getFullYear())
  })

  it('can be simulated with another instrument, of the same channel only', async () => {
    const { attempt } = await startWith('card_success')
    assert.equal(summarize(await rig.gateway.simulatePayer(attempt.key, 'mobile_success')), 'unrecognized')
    assert.equal(summarize(await rig.gateway.simulatePayer(attempt.key, 'card_declined')), 'do_not_honor')
    assert.equal(summarize(await rig.gateway.simulatePayer(attempt.key, 'card_success')), 'do_not_honor')
  })

  it('expires with the checkout', async () => {
    const { attempt } = await startWith('card_success')
    rig.clock.move(3_600_000)
    assert.equal(summarize(await rig.gateway.verify(attempt, null)), 'customer_timeout')
    assert.equal(summarize(await rig.gateway.simulatePayer(attempt.key)), 'customer_timeout')
  })
})

describe('events outside the page follow the clock', () => {
  const ends: [string, number, string][] = [
    ['mobile_success', 2_000, 'paid 125050 KES'],
    ['mobile_cancelled', 1_000, 'customer_cancelled'],
    ['mobile_timeout', 300_000, 'customer_timeout'],
    ['mobile_late_success', 3_602_000, 'paid 125050 KES'],
    ['transfer_success', 2_000, 'paid 125050 KES'],
    ['transfer_underpaid', 2_000, 'paid 112545 KES'],
  ]
  for (const [instrument, afterMs, ending] of ends) {
    it(`${instrument} is pending for ${afterMs} ms and ends: ${ending}`, async () => {
      const { attempt, started } = await startWith(instrument)
      assert(started.kind === 'started')
      assert.equal(started.next.kind, instrument.startsWith('mobile') ? 'prompt' : 'transfer')
      rig.clock.move(afterMs - 1)
      assert.equal(summarize(await rig.gateway.verify(attempt, null)), 'pending')
      assert.deepEqual(await rig.gateway.executions(attempt.paymentId), [])
      rig.clock.move(1)
      const outcome = await rig.gateway.verify(attempt, null)
      assert.equal(summarize(outcome), ending)
      assert(outcome.kind !== 'succeeded' || outcome.savedMethod === null)
    })

    it(`${instrument} ends at once when it is simulated`, async () => {
      const { attempt } = await startWith(instrument)
      assert.equal(summarize(await rig.gateway.simulatePayer(attempt.key)), ending)
    })
  }

  it('prompts the given phone, with the names of its network and of the merchant', async () => {
    const choice = { channel: 'mobile_money' as const, phone: '+254712345678', network: 'mpesa_ke' }
    const started = await rig.gateway.startCheckout(makeAttempt(), choice, RETURN_URL)
    assert(started.kind === 'started' && started.next.kind === 'prompt')
    const { expiresAt, ...shown } = started.next
    assert.deepEqual(shown, {
      kind: 'prompt',
      phone: '+254712345678',
      network: 'M-Pesa',
      promptName: 'Duka <b>La</b> Vitabu',
    })
    assert.equal(Date.parse(expiresAt), rig.clock.now().getTime() + 300_000)
  })

  it('prompts a placeholder number if only the instrument is named', async () => {
    const { started } = await startWith('mobile_success')
    assert(started.kind === 'started' && started.next.kind === 'prompt')
    assert.equal(started.next.phone, '+254700000000')
    assert.equal(started.next.network, 'Sandbox Mobile')
  })

  it('rejects phones and networks in another format than the contract', async () => {
    const prompts = [
      { phone: '0712345678' },
      { phone: `+254${'7'.repeat(20)}` },
      { network: 'M-Pesa' },
      { network: `${'m'.repeat(21)}_ke` },
    ]
    for (const prompt of prompts) {
      const choice = { channel: 'mobile_money' as const, ...prompt }
      const outcome = await rig.gateway.startCheckout(makeAttempt(), choice, RETURN_URL)
      assert(outcome.kind === 'declined' && outcome.refused, JSON.stringify(prompt))
      assert.equal(outcome.message, 'the sandbox does not accept the request')
    }
  })

  it('underpays by at least one minor unit', async () => {
    const attempt = makeAttempt({ amount: money(5n, 'XOF') })
    const choice = { channel: 'bank_transfer' as const, instrument: 'transfer_underpaid' }
    await rig.gateway.startCheckout(attempt, choice, RETURN_URL)
    assert.equal(summarize(await rig.gateway.simulatePayer(attempt.key)), 'paid 4 XOF')
    const [execution] = await rig.gateway.executions(attempt.paymentId)
    assert.equal(execution?.amount, '4.00')
  })
})

describe('cancelling a sandbox checkout', () => {
  it('stops an unpaid checkout, and returns success if it was paid before', async () => {
    const open = await startWith('mobile_success')
    assert.equal(summarize(await rig.gateway.cancel(open.attempt, null)), 'customer_cancelled')
    rig.clock.move(2_000)
    assert.equal(summarize(await rig.gateway.verify(open.attempt, null)), 'customer_cancelled')
    const late = await startWith('mobile_success')
    rig.clock.move(2_000)
    assert.equal(summarize(await rig.gateway.cancel(late.attempt, null)), 'paid 125050 KES')
  })
})

describe('a saved sandbox card that is charged again', () => {
  const charge = async (instrument: string) => {
    const attempt = makeAttempt()
    const credential = await saveCard(rig, instrument)
    return { attempt, credential, outcome: await rig.gateway.chargeSaved(attempt, credential) }
  }
  const answers: [string, string, number][] = [
    ['card_success', 'paid 125050 KES', 1],
    ['card_3ds', 'paid 125050 KES', 1],
    ['card_declined_later', 'insufficient_funds', 0],
    ['card_auth_required_later', 'authentication_required', 0],
  ]
  for (const [instrument, ending, executed] of answers) {
    it(`${instrument}: ${ending}`, async () => {
      const { attempt, outcome } = await charge(instrument)
      assert.equal(summarize(outcome), ending)
      assert.equal((await rig.gateway.executions(attempt.paymentId)).length, executed)
    })
  }

  it('F-28 card_lost_answer_later executes once, and reports it in a status check', async () => {
    const { attempt, credential, outcome } = await charge('card_lost_answer_later')
    assert.equal(summarize(outcome), 'no_answer')
    assert.equal(summarize(await rig.gateway.verify(attempt, null)), 'paid 125050 KES')
    const repeated = await rig.gateway.chargeSaved(attempt, credential)
    assert.equal(repeated.kind, 'succeeded')
    assert.equal((await rig.gateway.executions(attempt.paymentId)).length, 1)
  })

  it('card_slow_later responds after five seconds', async () => {
    rig.clock.sleeps.length = 0
    const { outcome } = await charge('card_slow_later')
    assert.equal(outcome.kind, 'succeeded')
    assert(rig.clock.sleeps.includes(5_000))
  })

  it('declines an unknown token', async () => {
    for (const token of ['x', `tok_${'0'.repeat(32)}.card_declined`, `tok_${'0'.repeat(32)}.toString`]) {
      const outcome = await rig.gateway.chargeSaved(makeAttempt(), token)
      assert.equal(summarize(outcome), 'invalid_card')
    }
  })
})

describe('the idempotency key of the sandbox', () => {
  it('F-47 leads to one execution for 50 parallel requests', async () => {
    const attempt = makeAttempt()
    const credential = await saveCard(rig, 'card_success')
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => rig.gateway.chargeSaved(attempt, credential)),
    )
    const references = new Set(
      outcomes.map((outcome) => outcome.kind === 'succeeded' && outcome.gatewayReference),
    )
    assert.equal(references.size, 1)
    assert(!references.has(false))
    assert.equal((await rig.gateway.executions(attempt.paymentId)).length, 1)
  })

  it('does not hide a second execution: executions are counted by payment, across keys', async () => {
    const attempt = makeAttempt()
    const credential = await saveCard(rig, 'card_success')
    await rig.gateway.chargeSaved(attempt, credential)
    await rig.gateway.chargeSaved({ ...attempt, key: 'another' }, credential)
    const executions = await rig.gateway.executions(attempt.paymentId)
    assert.equal(executions.length, 2)
    const { kind, amount, currency, status } = executions[0] ?? {}
    assert.deepEqual(
      { kind, amount, currency, status },
      { kind: 'charge', amount: '1250.50', currency: 'KES', status: 'successful' },
    )
  })

  it('F-48 is refused with another amount, and nothing is executed', async () => {
    const attempt = makeAttempt()
    const credential = await saveCard(rig, 'card_success')
    await rig.gateway.chargeSaved(attempt, credential)
    const other = await rig.gateway.chargeSaved({ ...attempt, amount: money(1n, 'KES') }, credential)
    assert.deepEqual(other, {
      kind: 'unknown',
      reason: 'unrecognized',
      message: 'the sandbox answered HTTP 409',
    })
    assert.equal((await rig.gateway.executions(attempt.paymentId)).length, 1)
  })

  it('returns the same checkout again, with its current status', async () => {
    const attempt = makeAttempt()
    const first = await rig.gateway.startCheckout(attempt, CARD, RETURN_URL)
    assert.deepEqual(await rig.gateway.startCheckout(attempt, CARD, RETURN_URL), first)
    await rig.gateway.simulatePayer(attempt.key)
    assert.equal(summarize(await rig.gateway.startCheckout(attempt, CARD, RETURN_URL)), 'paid 125050 KES')
  })

  it('is not found if it is unknown', async () => {
    assert.equal(summarize(await rig.gateway.verify(makeAttempt(), null)), 'not_found')
  })
})

describe('the API of the sandbox', () => {
  it('refuses requests without the right secret', async () => {
    const otherAccount = rig.connect('wrong')
    const attempt = makeAttempt()
    const refused = await otherAccount.startCheckout(attempt, CARD, RETURN_URL)
    assert(refused.kind === 'declined' && refused.refused)
    assert.match(refused.message, /COWRY_SANDBOX_SECRET/)
    assert.equal((await otherAccount.verify(attempt, null)).kind, 'unknown')
    assert.equal(summarize(await rig.gateway.verify(attempt, null)), 'not_found')
    await assert.rejects(otherAccount.executions(attempt.paymentId))
  })

  it('F-32 rejects malformed requests', async () => {
    for (const body of [undefined, {}, { order: 'x' }]) {
      const answer = await callApi(rig, 'POST', '/charges', body)
      assert(answer.kind === 'answered')
      assert.equal(answer.status, 400)
    }
    const missing = await callApi(rig, 'GET', '/nothing')
    assert(missing.kind === 'answered' && missing.status === 404)
  })
})
