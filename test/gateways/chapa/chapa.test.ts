import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import { CHAPA } from '../../../src/gateways/chapa/index.ts'
import type { RefundOutcome, RefundRequest } from '../../../src/gateways/gateway.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import { hmacSha256 } from '../../../src/kit/crypto.ts'
import { createPrng } from '../../faults/simulation/prng.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import { requestOf } from '../webhook-request.ts'
import { FAKE_SECRET_KEY, FAKE_WEBHOOK_SECRET, signWebhook } from './fake.ts'
import { ATTEMPT, MOBILE_MONEY, openOn, RETURN_URL, readFixture, replay, startChapa } from './rig.ts'

const REFUND: RefundRequest = {
  key: '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed',
  attemptKey: ATTEMPT.key,
  attemptReference: '6jnheVKQEmy',
  amount: money(5_000n, 'ETB'),
  isFull: false,
}

describe('the requests to Chapa', () => {
  it('ask for a page, with texts that Chapa accepts', async (t) => {
    const { provider, start } = await startChapa(t)
    await start(ATTEMPT)
    const [made] = provider.server.requests
    assert.equal(`${made?.method} ${made?.path}`, 'POST /v1/transaction/initialize')
    assert.equal(made?.headers.authorization, `Bearer ${FAKE_SECRET_KEY}`)
    assert.equal(made?.headers['content-type'], 'application/json')
    assert.deepEqual(JSON.parse(made?.text ?? ''), {
      amount: '125.50',
      currency: 'ETB',
      email: ATTEMPT.customer.email,
      first_name: 'Bilen',
      last_name: 'Gizachew',
      tx_ref: ATTEMPT.key,
      return_url: RETURN_URL,
      customization: { title: 'Tsehay Co. Bole', description: 'Two books 50 off' },
    })
  })

  it('leave out what is empty after that, and an e-mail that is not known', async (t) => {
    const { provider, start, makeAttempt } = await startChapa(t)
    const attempt = makeAttempt({
      merchantName: 'ሱቅ',
      description: 'ሁለት',
      customer: { ...ATTEMPT.customer, email: '' },
    })
    assert.equal((await start(attempt)).kind, 'started')
    const { customization, email } = JSON.parse(provider.server.requests[0]?.text ?? '')
    assert.deepEqual([customization, email], [{ description: 'INV-1042' }, undefined])
  })

  it('refund as a form, always with the amount, and our key for the dashboard', async (t) => {
    const { provider, gateway, start, makeAttempt } = await startChapa(t)
    const attempt = makeAttempt()
    await start(attempt)
    await provider.finish(attempt.key, { kind: 'pays' })
    await gateway.refund?.({ ...REFUND, attemptKey: attempt.key })
    const made = provider.server.requests.at(-1)
    assert.equal(`${made?.method} ${made?.path}`, `POST /v1/refund/${attempt.key}`)
    assert.equal(made?.headers['content-type'], 'application/x-www-form-urlencoded')
    assert.deepEqual(Object.fromEntries(new URLSearchParams(made?.text)), {
      amount: '50.00',
      reason: 'Refund',
      'meta[reference]': REFUND.key,
    })
  })

  for (const [minor, text] of [
    [1n, '0.01'],
    [123_400n, '1234.00'],
    [99_999_999_999_999n, '999999999999.99'],
  ] as const)
    it(`write ${minor} minor units as ${text}, and read them back`, async (t) => {
      const { provider, gateway, start, makeAttempt } = await startChapa(t)
      const attempt = makeAttempt({ amount: money(minor, 'ETB') })
      await start(attempt)
      assert.equal(JSON.parse(provider.server.requests[0]?.text ?? '').amount, text)
      await provider.finish(attempt.key, { kind: 'pays' })
      const outcome = await gateway.verify(attempt, null)
      assert.ok(outcome.kind === 'succeeded', inspect(outcome))
      assert.deepEqual(outcome.paid, attempt.amount)
    })
})

describe('the responses of Chapa', () => {
  const verify = async (t: Parameters<typeof replay>[0], http: number, body: unknown) =>
    (await replay(t, { http, body })).verify(ATTEMPT, null)

  it('open a page, as documented', async (t) => {
    const gateway = await replay(t, { http: 200, body: readFixture('page') })
    assert.deepEqual(await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL), {
      kind: 'started',
      gatewayReference: ATTEMPT.key,
      next: { kind: 'redirect', url: readFixture('page').data.checkout_url },
    })
  })

  it('report a payment, with an amount that is a number or text', async (t) => {
    const recorded = readFixture('payment-success')
    for (const amount of [100, '100', '100.00']) {
      const outcome = await verify(t, 200, { ...recorded, data: { ...recorded.data, amount } })
      assert.deepEqual(outcome, {
        kind: 'succeeded',
        gatewayReference: '6jnheVKQEmy',
        receiptNumber: '6jnheVKQEmy',
        paid: money(10_000n, 'ETB'),
        key: ATTEMPT.key,
        savedMethod: null,
        paidAt: new Date('2023-02-02T07:06:23Z'),
      })
    }
  })

  it('leave an unpaid page pending, although Chapa answers 404, until a day after our checkout', async (t) => {
    const now = systemClock.now()
    for (const [hours, kind] of [
      [0, 'pending'],
      [23, 'pending'],
      [25, 'declined'],
    ] as const) {
      const gateway = await replay(t, { http: 404, body: readFixture('not-paid-yet') })
      const outcome = await gateway.verify({ ...ATTEMPT, expiresAt: addMs(now, -hours * 3_600_000) }, null)
      assert.equal(outcome.kind, kind, `${hours} hours`)
      assert.equal(outcome.kind === 'declined' && outcome.code, kind === 'declined' && 'customer_timeout')
    }
  })

  it('distinguish a reference that Chapa does not know, and any other 404', async (t) => {
    const reasons: unknown[] = []
    for (const body of [readFixture('not-found'), { message: 'Moved', status: 'failed' }, '<html></html>']) {
      const outcome = await verify(t, 404, body)
      reasons.push(outcome.kind === 'unknown' && outcome.reason)
    }
    assert.deepEqual(reasons, ['not_found', 'unrecognized', 'unreadable'])
  })

  it('say nothing about a payment of the other mode, or with the key of the other mode', async (t) => {
    const recorded = readFixture('payment-success')
    const live = await verify(t, 200, { ...recorded, data: { ...recorded.data, mode: 'live' } })
    assert.ok(live.kind === 'unknown' && live.reason === 'unrecognized', inspect(live))
    const refused = await verify(t, 401, readFixture('other-mode-key'))
    assert.ok(refused.kind === 'unknown' && refused.reason === 'no_answer', inspect(refused))
  })

  it('keep a refunded payment paid, and leave a reversed one to a person', async (t) => {
    const recorded = readFixture('payment-success')
    const withStatus = (status: string) => ({ ...recorded, data: { ...recorded.data, status } })
    assert.equal((await verify(t, 200, withStatus('refunded'))).kind, 'succeeded')
    const reversed = await verify(t, 200, withStatus('reversed'))
    assert.ok(reversed.kind === 'unknown' && reversed.reason === 'unrecognized', inspect(reversed))
  })

  it('refuse a checkout with the names of the invalid fields, so that the next gateway is tried', async (t) => {
    const gateway = await replay(t, { http: 400, body: readFixture('validation') })
    const outcome = await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL)
    assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
    assert.match(outcome.message, /email, customization\.title/)
  })

  it('never repeat an e-mail of an error', async (t) => {
    const gateway = await replay(t, {
      http: 400,
      body: { message: 'a@b.example is wrong', status: 'failed' },
    })
    const outcome = await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL)
    assert.ok(outcome.kind === 'declined' && !outcome.message.includes('a@b.example'), inspect(outcome))
  })
})

describe('a page of Chapa with a lost response', () => {
  it('is not made twice: the second request is refused, and the status check decides', async (t) => {
    const { provider, start, makeAttempt } = await startChapa(t)
    const attempt = makeAttempt()
    provider.server.injectFault('cut_off_after_acting', { times: 1 })
    assert.equal((await start(attempt)).kind, 'unknown')
    assert.equal((await start(attempt)).kind, 'pending')
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await start(attempt)).kind, 'succeeded')
    assert.equal(provider.executions(attempt.key), 1)
  })

  it('is never "not sent", because its reference is taken', async (t) => {
    const gateway = await replay(t, { http: 400, body: readFixture('used-before') })
    const outcome = await gateway.startCheckout(ATTEMPT, MOBILE_MONEY, RETURN_URL)
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'no_answer', inspect(outcome))
  })
})

describe('a refund at Chapa', () => {
  const paid = async (t: Parameters<typeof startChapa>[0]) => {
    const rig = await startChapa(t)
    const attempt = rig.makeAttempt()
    await rig.start(attempt)
    await rig.provider.finish(attempt.key, { kind: 'pays' })
    return { ...rig, attempt, request: { ...REFUND, attemptKey: attempt.key } }
  }

  it('fails in test mode, with the words of Chapa', async (t) => {
    const gateway = await replay(t, { http: 400, body: readFixture('refund-live-only') })
    const outcome = await gateway.refund?.(REFUND)
    assert.ok(outcome?.kind === 'failed', inspect(outcome))
    assert.match(outcome.message, /live mode/)
  })

  it('is sent again after a refused key or a rate limit, which had no effect', async (t) => {
    for (const http of [401, 429]) {
      const gateway = await replay(t, { http, body: { message: 'Wait', status: 'failed' } })
      const outcome = await gateway.refund?.(REFUND)
      assert.ok(outcome?.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
    }
  })

  it('ends when the payment is refunded, if it was accepted without an id', async (t) => {
    const { provider, gateway, attempt, request: partial } = await paid(t)
    const request = { ...partial, amount: attempt.amount, isFull: true }
    provider.omitRefundIds()
    const made = await gateway.refund?.(request)
    assert.deepEqual(made, { kind: 'pending', gatewayReference: attempt.key })
    const before = await gateway.verifyRefund?.(request, attempt.key)
    assert.ok(before?.kind === 'unknown' && before.reason === 'not_found', inspect(before))
    provider.setStatus(attempt.key, 'refunded')
    assert.equal((await gateway.verifyRefund?.(request, attempt.key))?.kind, 'succeeded')
    // The status of the payment does not say which of several partial refunds has ended.
    const part = await gateway.verifyRefund?.(partial, attempt.key)
    assert.ok(part?.kind === 'unknown' && part.reason === 'not_found', inspect(part))
  })

  it('is looked up without its amount if it was made in the dashboard and none of ours explains it', async (t) => {
    const { provider, gateway, attempt } = await paid(t)
    const list = (refundedMinor: bigint) =>
      gateway.listRefunds?.({
        ...{ kind: 'payment', attemptKey: attempt.key, attemptReference: 'AP1', receiptNumber: 'AP1' },
        ...{ currency: 'ETB', refunded: money(refundedMinor, 'ETB') },
      })
    assert.deepEqual(await list(0n), { kind: 'refunds', refunds: [] })
    provider.setStatus(attempt.key, 'refunded')
    assert.deepEqual(await list(5_000n), { kind: 'refunds', refunds: [] })
    const found = await list(0n)
    assert.ok(found?.kind === 'refunds', inspect(found))
    assert.deepEqual(
      found.refunds.map(({ reference, key, amount, status }) => [reference, key, amount, status]),
      [[attempt.key, null, null, 'succeeded']],
    )
  })

  it('is not taken for done because the payment is refunded, if its response was lost', async (t) => {
    const { provider, gateway, attempt, request } = await paid(t)
    provider.setStatus(attempt.key, 'refunded')
    const outcome = await gateway.verifyRefund?.(request, null)
    assert.ok(outcome?.kind === 'unknown' && outcome.reason === 'not_found', inspect(outcome))
  })

  it('is unknown if Chapa answers another amount', async (t) => {
    const { gateway, request } = await paid(t)
    const made = await gateway.refund?.(request)
    assert.ok(made?.kind === 'pending')
    const other = { ...request, amount: money(5_001n, 'ETB') }
    assert.equal((await gateway.verifyRefund?.(other, made.gatewayReference))?.kind, 'unknown')
  })
})

const REFUND_SCHEDULES = sized({ quick: 20, rest: 1_000, long: 1_000 })

describe('refunds at Chapa with lost responses', () => {
  // Those that take no time.
  const faults = [
    'cut_off',
    'cut_off_after_acting',
    'http_500_after_acting',
    'garbage',
    'http_429',
    'html_503',
  ] as const

  it(
    'refunds at Chapa are executed once at most, and end only as they do there',
    HAS_LARGER_FORM,
    async (t) => {
      const { provider, gateway, start, makeAttempt } = await startChapa(t)
      const firstSeed = Math.floor(Math.random() * 1e9)
      for (let seed = firstSeed; seed < firstSeed + REFUND_SCHEDULES; seed += 1) {
        const prng = createPrng(seed)
        const attempt = makeAttempt()
        await start(attempt)
        await provider.finish(attempt.key, { kind: 'pays' })
        provider.setRefundBehavior?.(prng.pick(['succeeds', 'waits', 'fails'] as const))
        const request = { ...REFUND, attemptKey: attempt.key }
        const withFault = async (act: () => Promise<RefundOutcome | undefined>) => {
          if (prng.nextBool(0.6)) provider.server.injectFault(prng.pick(faults), { times: 1 })
          const outcome = await act()
          provider.server.clearFaults()
          return outcome
        }
        let made: RefundOutcome | undefined
        // As the service does: it is sent again only if the request had no effect.
        do made = await withFault(async () => gateway.refund?.(request))
        while (made?.kind === 'unknown' && made.reason === 'not_sent')
        const reference = made && 'gatewayReference' in made ? made.gatewayReference : null
        const outcomes = [made]
        for (let polls = 0; polls < 3; polls += 1)
          outcomes.push(await withFault(async () => gateway.verifyRefund?.(request, reference)))
        const executed = (await provider.refunds?.(attempt.key)) ?? []
        assert.ok(executed.length <= 1, `with the seed ${seed}`)
        for (const outcome of outcomes) {
          if (outcome?.kind === 'succeeded') assert.equal(executed.length, 1, `with the seed ${seed}`)
          if (outcome?.kind === 'failed') assert.equal(executed.length, 0, `with the seed ${seed}`)
        }
      }
    },
  )
})

describe('webhooks of Chapa', () => {
  const gatewayOf = (t: Parameters<typeof replay>[0]) => openOn(t, 'http://127.0.0.1:1')
  const event = readFixture('webhook-success')

  it('name the payment, as documented', (t) => {
    const { headers, body } = signWebhook(event)
    assert.deepEqual(gatewayOf(t).parseWebhook(requestOf(headers, body)), {
      kind: 'payment',
      key: ATTEMPT.key,
      eventId: `charge.success:${ATTEMPT.key}:2023-08-27T19:21:27.000000Z`,
    })
  })

  it('are signed with the secret hash or the secret key, over the raw or the rewritten body', (t) => {
    const { body } = signWebhook(event)
    const rewritten = JSON.stringify(JSON.parse(body.toString()))
    for (const secret of [FAKE_WEBHOOK_SECRET, FAKE_SECRET_KEY])
      for (const signed of [body, rewritten]) {
        const headers = { 'x-chapa-signature': hmacSha256(secret, signed).toString('hex') }
        assert.equal(gatewayOf(t).parseWebhook(requestOf(headers, body)).kind, 'payment')
      }
  })

  it('are forged with the constant signature alone, which proves nothing about the body', (t) => {
    const { body } = signWebhook(event)
    const constant = hmacSha256(FAKE_WEBHOOK_SECRET, FAKE_WEBHOOK_SECRET).toString('hex')
    for (const name of ['chapa-signature', 'x-chapa-signature'])
      assert.equal(gatewayOf(t).parseWebhook(requestOf({ [name]: constant }, body)).kind, 'forged')
  })

  it('about a reversal ask about a paid payment too; payouts and foreign payments are ignored', (t) => {
    const parse = (changed: object) => {
      const { headers, body } = signWebhook(changed)
      return gatewayOf(t).parseWebhook(requestOf(headers, body))
    }
    const reversed = parse({ ...event, event: 'charge.reversed' })
    assert.ok(reversed.kind === 'payment' && reversed.isDispute === true, inspect(reversed))
    const failed = parse({ ...event, event: 'charge.failed/cancelled' })
    assert.ok(failed.kind === 'payment' && !failed.isDispute && !failed.isRefund, inspect(failed))
    for (const name of ['charge.refunded', 'refund.success']) {
      const refunded = parse({ ...event, event: name })
      assert.ok(refunded.kind === 'payment' && refunded.isRefund === true, inspect(refunded))
    }
    assert.equal(parse(readFixture('webhook-payout')).kind, 'ignored')
    assert.equal(parse({ ...event, tx_ref: '4FGFF4FFGD3' }).kind, 'ignored')
  })
})

describe('the account at Chapa', () => {
  const issueOf = (text: string, mode: 'test' | 'live') =>
    CHAPA.credentials.find(({ name }) => name === 'secretKey')?.validate(text, mode)

  it('has the secret key of the mode', () => {
    const live = 'CHASECK-RUwJBcglJUtks3uEyM5mRQHYLqtb'
    assert.equal(issueOf(FAKE_SECRET_KEY, 'test'), undefined)
    assert.equal(issueOf(live, 'live'), undefined)
    assert.match(issueOf(FAKE_SECRET_KEY, 'live') ?? '', /is a test key/)
    assert.match(issueOf(live, 'test') ?? '', /is a live key/)
    assert.match(issueOf('CHAPUBK_TEST-RUwJBcglJUtks3uE', 'test') ?? '', /public key/)
    assert.match(issueOf('CHASECK_TEST-a\nb', 'test') ?? '', /not a whole key/)
  })

  it('is checked by doctor', async (t) => {
    const gateway = openOn(t, 'http://127.0.0.1:1', { credentials: { secretKey: FAKE_SECRET_KEY } })
    assert.deepEqual(
      (await gateway.checkAccount?.())?.map(({ result }) => result),
      ['by_hand'],
    )
    const [full] = (await openOn(t, 'http://127.0.0.1:1').checkAccount?.()) ?? []
    assert.equal(full?.result, 'ok')
  })
})
