import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { Attempt, Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { addMs } from '../../../src/kit/clock.ts'
import type { FakeReply } from '../fake-server.ts'
import { FLUTTERWAVE_DECLINES, readFixture, SECRET_KEY } from './fake.ts'
import {
  altered,
  CREDENTIAL,
  clockAt,
  EMAIL,
  errorReply,
  FIXTURE_KEY,
  makeAttempt,
  NOW,
  RETURN_URL,
  startFixedServer,
  TOKEN,
  verifyAnswer,
} from './rig.ts'

type Test = Parameters<typeof startFixedServer>[0]

const CHARGE: Partial<Attempt> = { operation: 'charge', amount: money(30_000n, 'NGN'), expiresAt: null }
const NOTHING: FakeReply = { http: 400, body: readFixture('verify-nothing') }

async function startAnswer(t: Test, reply: FakeReply): Promise<StartedCheckout | Outcome> {
  const { gateway } = await startFixedServer(t, reply)
  return gateway.startCheckout(makeAttempt(), { channel: 'card' }, RETURN_URL)
}

async function chargeAnswer(t: Test, reply: FakeReply): Promise<Outcome> {
  const { gateway } = await startFixedServer(t, reply)
  return gateway.chargeSaved(makeAttempt(CHARGE), CREDENTIAL)
}

function assertRejected(outcome: StartedCheckout | Outcome): void {
  assert.ok(outcome.kind === 'declined', inspect(outcome))
  assert.deepEqual([outcome.code, outcome.refused], ['provider_unavailable', true])
}

function assertUnknown(outcome: StartedCheckout | Outcome, reason: string): void {
  assert.ok(outcome.kind === 'unknown', inspect(outcome))
  assert.equal(outcome.reason, reason)
}

describe('the response of Flutterwave to a start', () => {
  it('redirects the payer to its page', async (t) => {
    assert.deepEqual(await startAnswer(t, { http: 200, body: readFixture('payment-link') }), {
      kind: 'started',
      gatewayReference: FIXTURE_KEY,
      next: { kind: 'redirect', url: 'https://checkout.flutterwave.com/v3/hosted/pay/5f2c7a1d9e804b36' },
    })
  })

  it('the response of Flutterwave to a start with a validation error began nothing, even with HTTP 200', async (t) => {
    for (const http of [200, 400, 404, 422])
      assertRejected(await startAnswer(t, errorReply('currency is not enabled for this merchant', http)))
  })

  it('the response of Flutterwave to a start with an error about the key has a message for the operator', async (t) => {
    for (const http of [401, 403]) {
      const outcome = await startAnswer(t, errorReply('Invalid authorization key', http))
      assertRejected(outcome)
      assert.ok(outcome.kind === 'declined')
      assert.match(outcome.message, /secret key/)
      assert.ok(!outcome.message.includes(SECRET_KEY))
    }
  })

  it('the response of Flutterwave to a start that quotes the request is passed on without the quotes', async (t) => {
    const quoting = `${EMAIL} may not use ${SECRET_KEY} or ${TOKEN} with 5531 8866 5214 2950 or 5531886652142950`
    const outcome = await startAnswer(t, errorReply(quoting))
    assert.ok(outcome.kind === 'declined')
    for (const secret of [EMAIL, SECRET_KEY, TOKEN, '5531', '2950'])
      assert.ok(!outcome.message.includes(secret), outcome.message)
    assert.ok((await startAnswer(t, errorReply('no '.repeat(5_000)))).kind === 'declined')
  })

  it('the response of Flutterwave to a start that is not its own JSON leaves the outcome unknown', async (t) => {
    for (const http of [200, 302, 400, 401, 403, 404, 418])
      assertUnknown(await startAnswer(t, { http, body: '<h1>Hello</h1>' }), 'unreadable')
    assertUnknown(
      await startAnswer(t, { http: 200, body: { status: 'success', data: { link: 'x' } } }),
      'unrecognized',
    )
  })
})

describe('the response of Flutterwave to a status check', () => {
  it('the response of Flutterwave to a status check for a payment by card contains amount, key, time and card', async (t) => {
    const outcome = await verifyAnswer(t, { http: 200, body: readFixture('verify-card') })
    assert.ok(outcome.kind === 'succeeded', inspect(outcome))
    const { savedMethod, ...facts } = outcome
    assert.deepEqual(facts, {
      kind: 'succeeded',
      gatewayReference: '4975363',
      receiptNumber: 'FLW-MOCK-5b1c27e08e6b4a0f',
      // Not charged_amount, which includes the fee: the payer bears it.
      paid: money(125_050n, 'NGN'),
      fee: money(0n, 'NGN'),
      key: FIXTURE_KEY,
      paidAt: new Date('2026-11-15T09:34:27.000Z'),
    })
    assert.ok(savedMethod)
    assert.deepEqual(savedMethod.card, {
      brand: 'mastercard',
      last4: '2950',
      expiryMonth: 9,
      expiryYear: 2032,
      country: 'NG',
    })
    assert.deepEqual(JSON.parse(savedMethod.credential), { token: TOKEN, email: EMAIL })
    // A year after the payment, although the card lives longer.
    assert.deepEqual(savedMethod.tokenExpiresAt, new Date('2027-11-15T09:34:27.000Z'))
    assert.ok(savedMethod.currencies.includes('USD'))
    assert.doesNotMatch(savedMethod.fingerprint, /553188|2950/)
  })

  it('has the same fingerprint for a card under another token, and another one for another card', async (t) => {
    const { card } = readFixture('verify-card').data as { card: object }
    const fingerprintOf = async (changes: object) => {
      const outcome = await verifyAnswer(t, altered('verify-card', { card: { ...card, ...changes } }))
      return outcome.kind === 'succeeded' ? outcome.savedMethod?.fingerprint : undefined
    }
    const own = await fingerprintOf({})
    assert.equal(await fingerprintOf({ token: 'flw-t1nf-another' }), own)
    for (const other of [{ last_4digits: '4246' }, { expiry: '10/32' }, { first_6digits: '418742' }])
      assert.notEqual(await fingerprintOf(other), own)
  })

  it('saves no card that cannot be charged again', async (t) => {
    const { card } = readFixture('verify-card').data as { card: Record<string, unknown> }
    const { token: _left, ...tokenless } = card
    for (const changes of [{ card: tokenless }, { card: null }, { card: 'N/A' }, { customer: null }]) {
      const outcome = await verifyAnswer(t, altered('verify-card', changes))
      assert.ok(outcome.kind === 'succeeded', inspect(outcome))
      assert.equal(outcome.savedMethod, null)
    }
  })

  it('reads the country of a card in any notation, or ignores it', async (t) => {
    const { card } = readFixture('verify-card').data as { card: object }
    const countryOf = async (country: unknown) => {
      const outcome = await verifyAnswer(t, altered('verify-card', { card: { ...card, country } }))
      return outcome.kind === 'succeeded' ? outcome.savedMethod?.card?.country : undefined
    }
    assert.equal(await countryOf('NG'), 'NG')
    assert.equal(await countryOf('UNITED KINGDOM GB '), 'GB')
    for (const odd of ['NIGERIA', 'N/A', '', null, 'XX']) assert.equal(await countryOf(odd), null)
  })

  it('the response of Flutterwave to a status check for a payment by mobile money saves nothing', async (t) => {
    const requested = { amount: money(5_000n, 'UGX') }
    const outcome = await verifyAnswer(t, { http: 200, body: readFixture('verify-mobile-money') }, requested)
    assert.ok(outcome.kind === 'succeeded', inspect(outcome))
    assert.deepEqual(outcome.paid, requested.amount)
    assert.equal(outcome.savedMethod, null)
  })

  it('the response of Flutterwave to a status check without a readable time does not date the payment', async (t) => {
    for (const created_at of [null, 'soon', ''])
      assert.deepEqual(
        await verifyAnswer(t, altered('verify-card', { created_at })).then(
          (outcome) => outcome.kind === 'succeeded' && outcome.paidAt,
        ),
        null,
      )
  })

  it('is pending for each of its pending statuses', async (t) => {
    for (const status of ['pending', 'pending auth', 'success-pending-validation'])
      assert.deepEqual(await verifyAnswer(t, altered('verify-card', { status })), {
        kind: 'pending',
        gatewayReference: '4975363',
      })
  })

  for (const { how, code } of FLUTTERWAVE_DECLINES.filter(({ on }) => on === 'charge'))
    it(`the response of Flutterwave to a status check with the failure "${how}" is declined as ${code}, with the provider's message`, async (t) => {
      const reply = altered('verify-card', { status: 'failed', processor_response: how })
      assert.deepEqual(await verifyAnswer(t, reply), {
        kind: 'declined',
        code,
        message: how,
        gatewayReference: '4975363',
      })
    })

  it('the response of Flutterwave to a status check with a failure without a message is declined as unknown', async (t) => {
    for (const processor_response of [null, '']) {
      const outcome = await verifyAnswer(t, altered('verify-card', { status: 'failed', processor_response }))
      assert.ok(outcome.kind === 'declined')
      assert.deepEqual([outcome.code, outcome.message], ['unknown', 'failed'])
    }
  })

  it('the response of Flutterwave to a status check with an unknown status is unknown', async (t) => {
    for (const status of ['reversed', 'refunded', 'success', ''])
      assertUnknown(await verifyAnswer(t, altered('verify-card', { status })), 'unrecognized')
  })

  it('the response of Flutterwave to a status check without a transaction is pending while the payer can pay', async (t) => {
    for (const http of [400, 404])
      assert.deepEqual(await verifyAnswer(t, { ...NOTHING, http }), {
        kind: 'pending',
        gatewayReference: FIXTURE_KEY,
      })
  })

  it('the response of Flutterwave to a status check without a transaction long after the page has expired means that the payer never paid', async (t) => {
    const expiresAt = addMs(NOW, 60 * 60_000)
    const after = async (ms: number) => {
      const { gateway } = await startFixedServer(t, NOTHING, clockAt(addMs(expiresAt, ms)))
      return gateway.verify(makeAttempt({ expiresAt }), FIXTURE_KEY)
    }
    assert.equal((await after(59 * 60_000)).kind, 'pending')
    const over = await after(60 * 60_000)
    assert.ok(over.kind === 'declined')
    assert.equal(over.code, 'customer_timeout')
  })

  it('the response of Flutterwave to a status check without a charge is not found, however late', async (t) => {
    assertUnknown(await verifyAnswer(t, NOTHING, CHARGE), 'not_found')
  })

  it('the response of Flutterwave to a status check that is rejected says nothing about the payment', async (t) => {
    for (const http of [401, 403, 429])
      assertUnknown(await verifyAnswer(t, errorReply('No', http)), 'no_answer')
    assertUnknown(await verifyAnswer(t, errorReply('tx_ref is required')), 'unrecognized')
    for (const http of [401, 403, 404])
      assertUnknown(await verifyAnswer(t, { http, body: '<h1>No</h1>' }), 'unreadable')
    assertUnknown(await verifyAnswer(t, { http: 503, body: readFixture('timeout') }), 'no_answer')
  })
})

describe('the fee in a response of Flutterwave', () => {
  it('the fee in a response of Flutterwave is the part that the merchant bears, exactly, or unknown', async (t) => {
    const cases = [
      [{ app_fee: 17.51, charged_amount: 1250.5 }, 1_751n],
      [{ app_fee: 17.51, charged_amount: 1260 }, 801n],
      [{ app_fee: 17.51, charged_amount: 1268.01 }, 0n],
      [{ app_fee: 17.51, charged_amount: null }, 1_751n],
      [{ app_fee: 0, charged_amount: 1250.5 }, 0n],
      [{ app_fee: 17.515, charged_amount: 1250.5 }, undefined],
      [{ app_fee: null }, undefined],
      [{ app_fee: 'free' }, undefined],
      [{ app_fee: -1 }, undefined],
      [{ app_fee: 1250.51, charged_amount: 1250.5 }, undefined],
    ] as const
    for (const [changes, fee] of cases) {
      const outcome = await verifyAnswer(t, altered('verify-card', changes))
      assert.ok(outcome.kind === 'succeeded', inspect(outcome))
      assert.equal(outcome.fee?.minor, fee, inspect(changes))
    }
  })
})

describe('the response of Flutterwave to a charge', () => {
  it('the response of Flutterwave to a charge with an approval contains amount and key, and saves no card again', async (t) => {
    assert.deepEqual(await chargeAnswer(t, { http: 200, body: readFixture('charge-approved') }), {
      kind: 'succeeded',
      gatewayReference: '4975512',
      receiptNumber: 'FLW-M03K-781621ccfe976c03',
      paid: money(30_000n, 'NGN'),
      fee: money(420n, 'NGN'),
      key: FIXTURE_KEY,
      savedMethod: null,
      paidAt: new Date('2026-11-15T10:00:00.000Z'),
    })
  })

  it('the response of Flutterwave to a charge with a challenge requires the customer, now and in a status check', async (t) => {
    const challenge = { http: 200, body: readFixture('charge-challenged') }
    for (const outcome of [await chargeAnswer(t, challenge), await verifyAnswer(t, challenge, CHARGE)]) {
      assert.ok(outcome.kind === 'declined', inspect(outcome))
      assert.deepEqual([outcome.code, outcome.refused], ['authentication_required', undefined])
    }
    assert.equal((await verifyAnswer(t, challenge)).kind, 'pending')
  })

  it('the response of Flutterwave to a charge that was lost with its challenge requires the customer if still pending after an hour', async (t) => {
    const after = async (ms: number, changes: Partial<Attempt>) => {
      const { gateway } = await startFixedServer(
        t,
        altered('charge-challenged', { meta: null }),
        clockAt(addMs(NOW, ms)),
      )
      return gateway.verify(makeAttempt(changes), null)
    }
    assert.equal((await after(60 * 60_000, CHARGE)).kind, 'pending')
    const late = await after(60 * 60_000 + 1, CHARGE)
    assert.ok(late.kind === 'declined', inspect(late))
    assert.deepEqual([late.code, late.refused], ['authentication_required', undefined])
    // A checkout's payer may still come.
    assert.equal((await after(24 * 60 * 60_000, {})).kind, 'pending')
  })

  it('is decided by the record if an error contains one', async (t) => {
    const failed = altered('charge-approved', { status: 'failed', processor_response: 'Insufficient Funds' })
    const outcome = await chargeAnswer(t, { http: 400, body: { ...Object(failed.body), status: 'error' } })
    assert.ok(outcome.kind === 'declined', inspect(outcome))
    assert.deepEqual([outcome.code, outcome.gatewayReference], ['insufficient_funds', '4975512'])
  })

  it('the response of Flutterwave to a charge with only a message is declined by it', async (t) => {
    for (const [message, code] of [
      ['Insufficient Funds', 'insufficient_funds'],
      ['Wrong token or email passed', 'invalid_card'],
      ['Token not found', 'invalid_card'],
      ['Transaction has been flagged as fraudulent', 'suspected_fraud'],
    ] as const) {
      const outcome = await chargeAnswer(t, errorReply(message))
      assert.ok(outcome.kind === 'declined', inspect(outcome))
      assert.deepEqual([outcome.code, outcome.refused], [code, undefined])
    }
  })

  it('the response of Flutterwave to a charge with a validation error began nothing', async (t) => {
    for (const message of [
      'token is required',
      'Provide a valid redirect url',
      'Merchant is not enabled for USD',
      'Invalid currency',
      'currency GHS not supported for this merchant',
      'Missing parameter (country)',
      'amount must be a number',
    ])
      assertRejected(await chargeAnswer(t, errorReply(message)))
    for (const http of [404, 405, 422]) assertRejected(await chargeAnswer(t, errorReply('No', http)))
  })

  it('the response of Flutterwave to a charge with a decline without a conclusive reason leads to a status check', async (t) => {
    for (const http of [200, 400])
      for (const message of [
        '',
        'Charge failed',
        'Transaction failed',
        'Could not complete the request, please retry',
        'Cancelled',
        'The bank did not respond',
      ])
        assertUnknown(await chargeAnswer(t, errorReply(message, http)), 'no_answer')
  })

  // Reported publicly: the request failed with such messages, and the card was charged nevertheless.
  it('the response of Flutterwave to a charge with an internal error is not a decline, whatever its status', async (t) => {
    for (const message of [
      'An error occured. Please contact support',
      'read ECONNRESET',
      'A server error has occurred. Please try again.',
      'Request timed out',
      'Transaction in progress',
    ])
      assertUnknown(await chargeAnswer(t, errorReply(message)), 'no_answer')
  })

  it('the response of Flutterwave to a charge with a rate limit is unknown for a charge, and a refusal for a page', async (t) => {
    const busy = errorReply('Too many requests', 429)
    assertUnknown(await chargeAnswer(t, busy), 'no_answer')
    assertRejected(await startAnswer(t, busy))
  })

  it('the response of Flutterwave to a charge that arrives after 28 seconds as 503 is unknown', async (t) => {
    assertUnknown(await chargeAnswer(t, { http: 503, body: readFixture('timeout') }), 'no_answer')
  })

  it('the response of Flutterwave to a charge that is unreadable is unknown', async (t) => {
    for (const body of [
      { status: 'success', data: null },
      { status: 'success', data: [] },
    ])
      assertUnknown(await chargeAnswer(t, { http: 200, body }), 'unrecognized')
    for (const body of ['OK', '']) assertUnknown(await chargeAnswer(t, { http: 200, body }), 'unreadable')
  })

  it('the response of Flutterwave to a charge that is the page of a firewall does not end the charge', async (t) => {
    for (const http of [401, 403])
      assertUnknown(await chargeAnswer(t, { http, body: '<h1>Forbidden</h1>' }), 'unreadable')
  })
})
