// Recorded responses of the provider, and the outcomes that the connector returns for them.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../../../src/core/money.ts'
import type { Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { STRIPE } from '../../../src/gateways/stripe/index.ts'
import type { FakeReply } from '../fake-server.ts'
import { readFixture } from './fake-state.ts'
import {
  CARD,
  FIXTURE_KEY,
  invalid,
  makeAttempt,
  makeCharge,
  QUOTED,
  RETURN_URL,
  startFixedReply,
  startStripe,
} from './rig.ts'

const summarize = (outcome: Outcome | StartedCheckout): string =>
  outcome.kind === 'succeeded'
    ? `paid ${outcome.paid.minor} ${outcome.paid.currency}`
    : outcome.kind === 'declined'
      ? `${outcome.code}${outcome.refused ? ', refused' : ''}`
      : outcome.kind === 'unknown'
        ? outcome.reason
        : outcome.kind

const SAVED = JSON.stringify({ customer: 'cus_1', payment_method: 'pm_1' })
const REFERENCE = 'cs_test_a1session000000000000000001'
const paidSession = readFixture('checkout-session-paid')
const declined402 = readFixture('error-card-declined')
const intent = readFixture('payment-intent')

describe('a session at Stripe', () => {
  it('a session at Stripe that was paid returns amount, key, time and card', async (t) => {
    const gateway = await startFixedReply(t, { http: 200, body: paidSession })
    assert.deepEqual(await gateway.verify(makeAttempt({ key: FIXTURE_KEY }), REFERENCE), {
      kind: 'succeeded',
      gatewayReference: REFERENCE,
      receiptNumber: 'pi_3Nn2intent0000000000000001',
      paid: money(125_050n, 'KES'),
      key: FIXTURE_KEY,
      savedMethod: {
        type: 'card',
        credential: '{"customer":"cus_OaQ1customer0001","payment_method":"pm_1Nn2card00000000000000001"}',
        fingerprint: 'Xt5EWLLDS7FJjR1c',
        card: { brand: 'visa', last4: '4242', expiryMonth: 8, expiryYear: 2030, country: 'US' },
        mobileMoney: null,
        currencies: STRIPE.rails.map(({ currency }) => currency),
      },
      paidAt: new Date(1_694_600_121_000),
    })
  })

  const failed = { ...intent, status: 'requires_payment_method' }
  const refusal = { code: 'card_declined', decline_code: 'insufficient_funds' }
  const states: [changes: object, expected: string][] = [
    [{ status: 'open', payment_status: 'unpaid', payment_intent: null }, 'pending'],
    // A card was declined on the page, and the payer may try another one there.
    [
      {
        status: 'open',
        payment_status: 'unpaid',
        payment_intent: { ...failed, last_payment_error: refusal },
      },
      'pending',
    ],
    [{ status: 'open', payment_status: 'paid' }, 'unrecognized'],
    [{ status: 'complete', payment_status: 'paid' }, 'paid 125050 KES'],
    [{ status: 'complete', payment_status: 'no_payment_required', amount_total: 0 }, 'paid 0 KES'],
    // An amount that is to be paid later.
    [{ status: 'complete', payment_status: 'no_payment_required' }, 'unrecognized'],
    [{ status: 'complete', payment_status: 'unpaid', payment_intent: null }, 'pending'],
    [
      { status: 'complete', payment_status: 'unpaid', payment_intent: { ...intent, status: 'processing' } },
      'pending',
    ],
    [
      {
        status: 'complete',
        payment_status: 'unpaid',
        payment_intent: { ...failed, last_payment_error: refusal },
      },
      'insufficient_funds',
    ],
    [
      { status: 'complete', payment_status: 'unpaid', payment_intent: { ...intent, status: 'canceled' } },
      'customer_cancelled',
    ],
    [
      { status: 'complete', payment_status: 'unpaid', payment_intent: { ...intent, status: 'resting' } },
      'unrecognized',
    ],
    [{ status: 'complete', payment_status: 'half' }, 'unrecognized'],
    [{ status: 'expired', payment_status: 'unpaid' }, 'customer_timeout'],
    [{ status: 'sleeping', payment_status: 'unpaid' }, 'unrecognized'],
    [{ status: null }, 'unrecognized'],
    [{ client_reference_id: null }, 'unrecognized'],
    [{ amount_total: null }, 'unrecognized'],
    [{ amount_total: 1_250.5 }, 'unrecognized'],
    [{ amount_total: 9_007_199_254_740_992 }, 'unrecognized'],
    [{ currency: 'jpy' }, 'unrecognized'],
    [{ currency: 'ugx', amount_total: 500_000 }, 'paid 5000 UGX'],
    // Decimals that the currency does not have are not rounded away.
    [{ currency: 'ugx', amount_total: 500_001 }, 'unrecognized'],
    [{ currency: 'xof', amount_total: 5_000 }, 'paid 5000 XOF'],
    // The payer saw another currency; the session stays in ours.
    [{ presentment_details: { presentment_amount: 900, presentment_currency: 'eur' } }, 'paid 125050 KES'],
  ]
  for (const [changes, expected] of states) {
    it(`a session at Stripe with ${JSON.stringify(changes).slice(0, 120)} is ${expected}`, async (t) => {
      const gateway = await startFixedReply(t, { http: 200, body: { ...paidSession, ...changes } })
      assert.equal(summarize(await gateway.verify(makeAttempt({ key: FIXTURE_KEY }), REFERENCE)), expected)
    })
  }

  const { card } = readFixture('payment-method')
  const withMethod = (method: unknown) => ({
    ...paidSession,
    payment_intent: { ...intent, payment_method: method },
  })
  const methods: [title: string, body: object, fingerprint: string | null][] = [
    [
      'a card without a fingerprint under its own id',
      withMethod({ id: 'pm_2', type: 'card', card: { ...card, fingerprint: null } }),
      'pm_2',
    ],
    [
      'a SEPA debit under its own fingerprint',
      withMethod({ id: 'pm_2', type: 'sepa_debit', sepa_debit: { fingerprint: 'Rw3t', last4: '3000' } }),
      'Rw3t',
    ],
    ['Link without an e-mail under its own id', withMethod({ id: 'pm_2', type: 'link', link: {} }), 'pm_2'],
    ['no transfer', withMethod({ id: 'pm_2', type: 'customer_balance', customer_balance: {} }), null],
    ['no card of Nigeria', withMethod({ id: 'pm_2', type: 'ng_card', ng_card: { last4: '4081' } }), null],
    ['no wallet of Nigeria', withMethod({ id: 'pm_2', type: 'ng_wallet', ng_wallet: {} }), null],
    [
      'no card of an unknown shape',
      withMethod({ id: 'pm_2', type: 'card', card: { ...card, exp_month: 13 } }),
      null,
    ],
    ['no card that is only an id', withMethod('pm_2'), null],
    [
      'no card without a customer',
      { ...paidSession, customer: null, payment_intent: { ...paidSession.payment_intent, customer: null } },
      null,
    ],
    ['no card of a payment that is only an id', { ...paidSession, payment_intent: 'pi_1' }, null],
  ]
  for (const [title, body, fingerprint] of methods) {
    it(`a session at Stripe that was paid saves ${title}`, async (t) => {
      const gateway = await startFixedReply(t, { http: 200, body })
      const outcome = await gateway.verify(makeAttempt({ key: FIXTURE_KEY }), REFERENCE)
      assert.ok(outcome.kind === 'succeeded')
      assert.equal(outcome.savedMethod?.fingerprint ?? null, fingerprint)
    })
  }

  it('is closed by a cancellation, which differs from an expiry', async (t) => {
    const { gateway, provider, clock } = await startStripe(t)
    const [cancelled, late] = [
      makeAttempt({ startedAt: clock.now() }),
      makeAttempt({ startedAt: clock.now() }),
    ]
    const references: string[] = []
    for (const attempt of [cancelled, late]) {
      const started = await gateway.startCheckout(attempt, CARD, RETURN_URL)
      assert.ok(started.kind === 'started')
      references.push(started.gatewayReference)
    }
    const [first = '', second = ''] = references
    assert.equal(
      summarize((await gateway.cancel?.(cancelled, first)) ?? { kind: 'pending', gatewayReference: null }),
      'customer_cancelled',
    )
    clock.move(3_600_000)
    assert.equal(
      summarize((await gateway.cancel?.(late, second)) ?? { kind: 'pending', gatewayReference: null }),
      'customer_timeout',
    )
    assert.equal(provider.executions(late.key), 0)
  })
})

describe('a cancellation at Stripe', () => {
  it('is unknown after a rate limit, in each of its forms', async (t) => {
    for (const http of [400, 429]) {
      const gateway = await startFixedReply(t, { http, body: readFixture('error-rate-limit') })
      assert.equal((await gateway.cancel?.(makeAttempt(), REFERENCE))?.kind, 'unknown')
    }
  })
})

describe('a payment at Stripe', () => {
  it('a debit may be processing for 14 business days, and no other method', async (t) => {
    const in21Days = new Date((intent.created + 21 * 86_400) * 1_000)
    for (const [method, expected] of [
      ['pm_1', in21Days],
      [{ id: 'pm_1', type: 'sepa_debit' }, in21Days],
      [{ id: 'pm_1', type: 'ng_bank_transfer' }, undefined],
    ] as const) {
      const body = { ...intent, status: 'processing', payment_method: method }
      const gateway = await startFixedReply(t, { http: 200, body })
      const outcome = await gateway.chargeSaved?.(makeCharge({ key: FIXTURE_KEY }), SAVED)
      assert.ok(outcome?.kind === 'pending', JSON.stringify(outcome))
      assert.deepEqual(outcome.settlesBy, expected)
    }
  })

  const states: [changes: object, expected: string][] = [
    [{ status: 'succeeded' }, 'paid 125050 KES'],
    [{ status: 'succeeded', amount_received: 125_049 }, 'paid 125049 KES'],
    [{ status: 'succeeded', metadata: {} }, 'unrecognized'],
    [{ status: 'succeeded', amount_received: null }, 'unrecognized'],
    [{ status: 'processing' }, 'pending'],
    [{ status: 'requires_capture' }, 'pending'],
    [{ status: 'requires_action' }, 'authentication_required'],
    [{ status: 'requires_confirmation' }, 'authentication_required'],
    [{ status: 'requires_payment_method', last_payment_error: { code: 'expired_card' } }, 'card_expired'],
    [
      {
        status: 'requires_payment_method',
        last_payment_error: { code: 'payment_intent_authentication_failure' },
      },
      'authentication_failed',
    ],
    [{ status: 'requires_payment_method', last_payment_error: null }, 'unrecognized'],
    [{ status: 'canceled' }, 'customer_cancelled'],
    [{ status: 'dreaming' }, 'unrecognized'],
  ]
  for (const [changes, expected] of states) {
    it(`a payment at Stripe with ${JSON.stringify(changes)} is ${expected}, as the response to a charge and to a status check`, async (t) => {
      const gateway = await startFixedReply(t, { http: 200, body: { ...intent, ...changes } })
      assert.equal(summarize(await gateway.verify(makeCharge({ key: FIXTURE_KEY }), intent.id)), expected)
      const charged = await gateway.chargeSaved?.(makeCharge({ key: FIXTURE_KEY }), SAVED)
      assert.ok(charged)
      assert.equal(summarize(charged), expected)
    })
  }

  it('is not requested with a credential that is not of Stripe', async (t) => {
    const { gateway, provider } = await startStripe(t)
    for (const credential of ['', 'AUTH_x', '{}', '{"customer":"cus_1"}', 'null']) {
      const outcome = await gateway.chargeSaved?.(makeCharge({ key: FIXTURE_KEY }), credential)
      assert.ok(outcome?.kind === 'declined')
      assert.equal(outcome.code, 'invalid_card')
    }
    assert.deepEqual(provider.server.requests, [])
  })
})

describe('a response of Stripe about another payment', () => {
  const otherIntent = { ...intent, metadata: { cowry_key: '7d3f0c8f-6f0e-4f0b-9a55-0d9b1f1c2a77' } }

  it('ends none of ours, alone and in an error', async (t) => {
    for (const [http, body] of [
      [200, { ...otherIntent, status: 'canceled' }],
      [402, { error: { ...declined402.error, payment_intent: { ...otherIntent, status: 'canceled' } } }],
    ] as const) {
      const gateway = await startFixedReply(t, { http, body })
      const charge = await gateway.chargeSaved?.(makeCharge({ key: FIXTURE_KEY }), SAVED)
      assert.ok(charge?.kind === 'unknown' && charge.reason === 'unrecognized')
    }
  })

  it('a response of Stripe about another payment that was paid contains the key of the other one', async (t) => {
    const gateway = await startFixedReply(t, { http: 200, body: otherIntent })
    const outcome = await gateway.verify(makeCharge({ key: FIXTURE_KEY }), 'pi_1')
    assert.ok(outcome.kind === 'succeeded')
    assert.equal(outcome.key, otherIntent.metadata.cowry_key)
  })
})

/** The outcome of an error in response to a charge, and to a status check. */
const ERRORS: [title: string, reply: FakeReply, charged: string, checked: string][] = [
  ['402 of a card', { http: 402, body: declined402 }, 'insufficient_funds', 'unrecognized'],
  [
    '402 that wants the customer',
    { http: 402, body: readFixture('error-authentication-required') },
    'authentication_required',
    'unrecognized',
  ],
  [
    '402 of a card without the payment',
    { http: 402, body: { error: { ...declined402.error, payment_intent: null } } },
    'insufficient_funds',
    'unrecognized',
  ],
  [
    '402 with a payment that succeeded',
    { http: 402, body: { error: { ...declined402.error, payment_intent: intent } } },
    'paid 125050 KES',
    'unrecognized',
  ],
  [
    '402 with an unreadable payment',
    { http: 402, body: { error: { ...declined402.error, payment_intent: 7 } } },
    'unrecognized',
    'unrecognized',
  ],
  ['402 of no card', { http: 402, body: invalid() }, 'unrecognized', 'unrecognized'],
  [
    '400 about a field',
    { http: 400, body: readFixture('error-invalid-email') },
    'provider_unavailable, refused',
    'unrecognized',
  ],
  [
    '400 after the payment began',
    { http: 400, body: invalid({ payment_intent: { ...intent, status: 'processing' } }) },
    'pending',
    'unrecognized',
  ],
  [
    '400 about a card that is gone',
    { http: 400, body: readFixture('error-method-missing') },
    'invalid_card, refused',
    'unrecognized',
  ],
  ['400 of the rate limit', { http: 400, body: readFixture('error-rate-limit') }, 'no_answer', 'no_answer'],
  ['400 of a lock', { http: 400, body: invalid({ code: 'lock_timeout' }) }, 'no_answer', 'no_answer'],
  [
    '400 about a key that another request used',
    { http: 400, body: readFixture('error-idempotency') },
    'unrecognized',
    'unrecognized',
  ],
  ['400 of a proxy', { http: 400, body: '<h1>Bad Request</h1>' }, 'unreadable', 'unreadable'],
  [
    '401',
    { http: 401, body: readFixture('error-invalid-key') },
    'provider_unavailable, refused',
    'no_answer',
  ],
  ['403', { http: 403, body: invalid() }, 'provider_unavailable, refused', 'no_answer'],
  ['403 without a body', { http: 403, body: '' }, 'unreadable', 'unreadable'],
  ['403 of a firewall', { http: 403, body: '<h1>Forbidden</h1>' }, 'unreadable', 'unreadable'],
  [
    '404 of an object',
    { http: 404, body: readFixture('error-session-missing') },
    'provider_unavailable, refused',
    'not_found',
  ],
  ['404 of a proxy', { http: 404, body: '<h1>Not Found</h1>' }, 'unreadable', 'unreadable'],
  ['409', { http: 409, body: invalid() }, 'no_answer', 'no_answer'],
  ['429', { http: 429, body: readFixture('error-rate-limit') }, 'no_answer', 'no_answer'],
  ['429 of a proxy', { http: 429, body: '<h1>Slow down</h1>' }, 'no_answer', 'no_answer'],
  ['418 of an unknown kind', { http: 418, body: invalid() }, 'unrecognized', 'unrecognized'],
  ['302', { http: 302, body: '', headers: { location: 'https://example.com' } }, 'unreadable', 'unreadable'],
  ['500', { http: 500, body: { error: { type: 'api_error' } } }, 'no_answer', 'no_answer'],
  ['200 with an error in it', { http: 200, body: declined402 }, 'unrecognized', 'unrecognized'],
]

describe('an error of Stripe', () => {
  for (const [title, reply, charged, checked] of ERRORS) {
    it(`${title} makes a charge ${charged} and a status check ${checked}, in messages that quote nothing`, async (t) => {
      const gateway = await startFixedReply(t, reply)
      const charge = await gateway.chargeSaved?.(makeCharge({ key: FIXTURE_KEY }), SAVED)
      const answer = await gateway.verify(makeCharge({ key: FIXTURE_KEY }), 'pi_1')
      assert.ok(charge)
      assert.deepEqual([summarize(charge), summarize(answer)], [charged, checked])
      for (const outcome of [charge, answer])
        if ('message' in outcome) {
          assert.notEqual(outcome.message, '')
          assert.doesNotMatch(outcome.message, QUOTED)
        }
    })
  }

  it('about a rate limit lets another gateway open the page, in each of its forms', async (t) => {
    for (const [http, body] of [
      [429, readFixture('error-rate-limit')],
      [429, '<h1>Slow down</h1>'],
      [400, readFixture('error-rate-limit')],
      [400, invalid({ code: 'lock_timeout' })],
    ] as const) {
      const gateway = await startFixedReply(t, { http, body })
      const outcome = await gateway.startCheckout(makeAttempt(), CARD, RETURN_URL)
      assert.equal(summarize(outcome), 'provider_unavailable, refused')
    }
  })

  it('names the credential and the request id for the operator', async (t) => {
    const body = readFixture('error-invalid-key')
    const gateway = await startFixedReply(t, { http: 401, body, headers: { 'request-id': 'req_Abc123' } })
    const outcome = await gateway.startCheckout(makeAttempt(), CARD, RETURN_URL)
    assert.ok(outcome.kind === 'declined')
    assert.equal(
      outcome.message,
      'Stripe did not accept the secret key (secretKey, GATEWAY_STRIPE_SECRET_KEY): HTTP 401, invalid_request_error, req_Abc123',
    )
  })

  it('names the field that Stripe rejected', async (t) => {
    const gateway = await startFixedReply(t, { http: 400, body: readFixture('error-invalid-email') })
    const outcome = await gateway.startCheckout(makeAttempt(), CARD, RETURN_URL)
    assert.ok(outcome.kind === 'declined')
    assert.equal(outcome.message, 'Stripe: HTTP 400, invalid_request_error, email_invalid, customer_email')
  })
})
