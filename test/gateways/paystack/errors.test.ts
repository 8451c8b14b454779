import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DECLINES } from './decline-cases.ts'
import { FAKE_SECRET_KEY } from './fake.ts'
import { errorReply, readFixture } from './fake-replies.ts'
import {
  altered,
  CREDENTIAL,
  EMAIL,
  FIXTURE_KEY,
  makeAttempt,
  RETURN_URL,
  startFixedServer,
  startPaystack,
  verifyAnswer,
} from './rig.ts'

const CARD = { channel: 'card' } as const

describe('a decline of Paystack', () => {
  it('is determined by its response code, whatever text the bank wrote', async (t) => {
    const known = [
      ['51', 'insufficient_funds'],
      ['54', 'card_expired'],
      ['05', 'do_not_honor'],
      ['14', 'invalid_card'],
      ['55', 'authentication_failed'],
      ['61', 'limit_exceeded'],
      ['59', 'suspected_fraud'],
      ['17', 'customer_cancelled'],
      ['91', 'provider_unavailable'],
      ['94', 'duplicate'],
      // Not in the table of codes: the message decides.
      ['B7', 'insufficient_funds'],
    ] as const
    for (const [response_code, code] of known) {
      const outcome = await verifyAnswer(t, altered('verify-failed', { response_code }))
      assert.ok(outcome.kind === 'declined')
      assert.equal(outcome.code, code, response_code)
    }
  })

  it('is determined by Paystack’s reason before the bank’s message', async (t) => {
    const named = { gateway_response_code: 'expired_card', gateway_response: 'Declined' }
    const outcome = await verifyAnswer(t, altered('verify-failed', named))
    assert.deepEqual(outcome, {
      kind: 'declined',
      code: 'card_expired',
      message: 'Declined',
      gatewayReference: '4099260516',
    })
  })

  it('has a message even if the bank wrote none', async (t) => {
    const silent = { gateway_response: null, message: null }
    const outcome = await verifyAnswer(t, altered('verify-failed', silent))
    assert.ok(outcome.kind === 'declined')
    assert.deepEqual([outcome.code, outcome.message], ['unknown', 'failed'])
  })

  it('has one meaning for every known bank text', () => {
    assert.ok(new Set(DECLINES.map(([, code]) => code)).size >= 12, 'the cases cover nearly all of our codes')
  })

  it('contains no e-mail address, key, token or card number in its message', async (t) => {
    const reason = `${EMAIL}: card 4084 0840 8408 4081, 4084-0840-8408-4081, AUTH_8dfhjjdt and ${FAKE_SECRET_KEY} failed`
    const outcome = await verifyAnswer(t, altered('verify-failed', { gateway_response: reason }))
    assert.ok(outcome.kind === 'declined')
    assert.equal(outcome.message, '… card …, …, … and … failed')
  })

  it('a decline of Paystack of a charge comes with HTTP 200', async (t) => {
    const { gateway } = await startFixedServer(t, { http: 200, body: readFixture('charge-failed') })
    assert.deepEqual(
      await gateway.chargeSaved(makeAttempt({ key: FIXTURE_KEY, operation: 'charge' }), CREDENTIAL),
      {
        kind: 'declined',
        code: 'do_not_honor',
        message: 'Declined',
        gatewayReference: '4099490251',
      },
    )
  })

  it('a decline of Paystack of a paused charge requires the customer', async (t) => {
    const { gateway } = await startFixedServer(t, { http: 200, body: readFixture('charge-paused') })
    const outcome = await gateway.chargeSaved(
      makeAttempt({ key: FIXTURE_KEY, operation: 'charge' }),
      CREDENTIAL,
    )
    assert.ok(outcome.kind === 'declined')
    assert.equal(outcome.code, 'authentication_required')
    assert.equal(outcome.refused, undefined)
  })
})

describe('a refusal of Paystack', () => {
  const start = async (t: Parameters<typeof startFixedServer>[0], http: number, body: unknown) => {
    const { gateway } = await startFixedServer(t, { http, body })
    return gateway.startCheckout(makeAttempt(), CARD, RETURN_URL)
  }
  const charge = async (t: Parameters<typeof startFixedServer>[0], http: number, body: unknown) => {
    const { gateway } = await startFixedServer(t, { http, body })
    return gateway.chargeSaved(makeAttempt({ operation: 'charge' }), CREDENTIAL)
  }
  const typed = (type: string, message = 'Something') => ({ status: false, message, type, code: 'some_code' })

  it('a refusal of Paystack of a request lets another gateway be tried, and gives the reason', async (t) => {
    const rejections = [
      [400, readFixture('currency-not-supported'), 'Paystack refuses: Currency not supported by merchant'],
      [400, typed('validation_error', 'No active channel'), 'Paystack refuses: No active channel'],
      [422, typed('validation_error', ''), 'Paystack refuses: no reason given'],
    ] as const
    for (const [http, body, message] of rejections)
      for (const outcome of [await start(t, http, body), await charge(t, http, body)])
        assert.deepEqual(outcome, {
          kind: 'declined',
          code: 'provider_unavailable',
          message,
          gatewayReference: null,
          refused: true,
        })
  })

  it('a refusal of Paystack after too many requests lets another gateway open the page, and a charge wait', async (t) => {
    const message = 'Paystack reports too many requests'
    const page = await start(t, 429, '<h1>Slow down</h1>')
    assert.ok(page.kind === 'declined' && page.refused)
    assert.deepEqual([page.code, page.message], ['provider_unavailable', message])
    assert.deepEqual(await charge(t, 429, '<h1>Slow down</h1>'), {
      kind: 'unknown',
      reason: 'no_answer',
      message,
    })
  })

  it('a refusal of Paystack of the key names the credential for the operator', async (t) => {
    for (const [http, body] of [
      [401, readFixture('invalid-key')],
      [400, readFixture('invalid-key')],
      [403, { status: false, message: 'Forbidden' }],
    ] as const) {
      const outcome = await start(t, http, body)
      assert.ok(outcome.kind === 'declined' && outcome.refused, String(http))
      assert.match(outcome.message, /secret key \(secretKey, GATEWAY_PAYSTACK_SECRET_KEY\)/)
    }
  })

  it('a refusal of Paystack by the processor is a decline like any other', async (t) => {
    const outcome = await charge(t, 400, typed('processor_error', 'Insufficient Funds'))
    assert.ok(outcome.kind === 'declined')
    assert.equal(outcome.code, 'insufficient_funds')
    assert.equal(outcome.refused, undefined)
    const swapped = { status: false, message: 'Do Not Honor', code: 'processor_error' }
    const other = await charge(t, 400, swapped)
    assert.ok(other.kind === 'declined')
    assert.equal(other.code, 'do_not_honor')
  })

  it('a refusal of Paystack with an internal error proves nothing', async (t) => {
    for (const [http, body] of [
      [400, typed('api_error')],
      [400, '<h1>Bad Request</h1>'],
      [401, '<h1>Unauthorized</h1>'],
      [403, '<h1>Forbidden</h1>'],
      [404, '<h1>Not Found</h1>'],
      [400, { message: 'no status' }],
      [408, typed('validation_error')],
      [409, typed('validation_error')],
    ] as const)
      assert.equal((await charge(t, http, body)).kind, 'unknown', JSON.stringify(body))
  })

  it('a refusal of Paystack of a saved card is final for that card', async (t) => {
    for (const message of [
      'Invalid Authorization Code',
      'Email does not match Authorization code. Authorization may be inactive or belong to a different email.',
    ]) {
      const outcome = await charge(t, 400, errorReply(400, message).body)
      assert.ok(outcome.kind === 'declined')
      assert.equal(outcome.code, 'invalid_card')
    }
  })

  it('is final if the saved credential is not a card of Paystack', async (t) => {
    const { server, gateway } = await startPaystack(t)
    for (const odd of ['', 'AUTH_1', '{}', '{"authorization_code":"AUTH_1"}', 'null']) {
      const outcome = await gateway.chargeSaved(makeAttempt({ operation: 'charge' }), odd)
      assert.ok(outcome.kind === 'declined' && outcome.code === 'invalid_card', odd)
      assert.equal(outcome.refused, undefined)
    }
    assert.equal(server.requests.length, 0)
  })
})
