// Responses with only the fields that Stripe's documentation guarantees.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openMemoryTokens } from '../../../test/gateways/memory-tokens.ts'
import { money } from '../../core/money.ts'
import { systemClock } from '../../kit/clock.ts'
import type { StatusQuery } from '../gateway.ts'
import { STRIPE } from './index.ts'

const now = new Date('2026-11-14T10:00:00Z')
const KEY = '0b0e7a52-7d51-4cc3-98c4-dc0c0c07398f'

function stripeThatAnswers(body: unknown) {
  return STRIPE.open({
    credentials: { secretKey: 'sk_test_x' },
    baseUrl: 'https://stripe.example',
    mode: 'test',
    tokens: openMemoryTokens(),
    clock: { ...systemClock, now: () => now },
    publicUrl: () => 'https://cowry.example',
    callbackUrl: () => 'https://cowry.example/hooks/stripe',
    http: {
      request: async () => ({
        kind: 'answered',
        status: 200,
        headers: {},
        body: Buffer.from(JSON.stringify(body)),
      }),
      close: async () => undefined,
    },
  })
}

const query: StatusQuery = {
  key: KEY,
  operation: 'checkout',
  amount: money(1_000n, 'USD'),
  startedAt: now,
  expiresAt: null,
}

describe('Stripe without a time of payment', () => {
  it('succeeds, and the payment is dated by our own clock', async () => {
    const session = {
      id: 'cs_test_1',
      object: 'checkout.session',
      url: null,
      status: 'complete',
      payment_status: 'paid',
      amount_total: 1000,
      currency: 'usd',
      client_reference_id: KEY,
      payment_intent: 'pi_1',
      customer: null,
      livemode: false,
      metadata: {},
    }
    const outcome = await stripeThatAnswers(session).verify(query, 'cs_test_1')
    assert.ok(outcome.kind === 'succeeded')
    assert.deepEqual(outcome.paid, money(1_000n, 'USD'))
    assert.equal(outcome.paidAt, null)
  })

  it('leaves an open session pending', async () => {
    const session = { id: 'cs_test_1', status: 'open', payment_status: 'unpaid', client_reference_id: KEY }
    const outcome = await stripeThatAnswers(session).verify(query, 'cs_test_1')
    assert.equal(outcome.kind, 'pending')
  })
})
