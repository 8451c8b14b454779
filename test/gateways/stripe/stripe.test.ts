import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CURRENCY_CODES, type Currency, decimalsOf } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import type { Attempt, Gateway, Outcome } from '../../../src/gateways/gateway.ts'
import { toAmount } from '../../../src/gateways/stripe/amounts.ts'
import { STRIPE } from '../../../src/gateways/stripe/index.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { HAS_LARGER_FORM, shareOf, sized } from '../../support/scale.ts'
import { type Subject, testConformance } from '../conformance.ts'
import type { FakeRequest, Fault } from '../fake-server.ts'
import { startFakeStripe } from './fake.ts'
import { CARD, CREDENTIALS, makeAttempt, makeCharge, makeRefund, RETURN_URL, startStripe } from './rig.ts'

const DECLINED_CHARGES: readonly Omit<Subject['declines'][number], 'on'>[] = [
  { how: 'insufficient_funds', code: 'insufficient_funds' },
  { how: 'approve_with_id', code: 'do_not_honor' },
  { how: 'call_issuer', code: 'do_not_honor' },
  { how: 'do_not_honor', code: 'do_not_honor' },
  { how: 'generic_decline', code: 'do_not_honor' },
  { how: 'no_action_taken', code: 'do_not_honor' },
  { how: 'not_permitted', code: 'do_not_honor' },
  { how: 'service_not_allowed', code: 'do_not_honor' },
  { how: 'transaction_not_allowed', code: 'do_not_honor' },
  { how: 'expired_card', code: 'card_expired' },
  { how: 'card_not_supported', code: 'invalid_card' },
  { how: 'currency_not_supported', code: 'invalid_card' },
  { how: 'do_not_try_again', code: 'invalid_card' },
  { how: 'incorrect_cvc', code: 'invalid_card' },
  { how: 'incorrect_number', code: 'invalid_card' },
  { how: 'invalid_account', code: 'invalid_card' },
  { how: 'invalid_expiry_year', code: 'invalid_card' },
  { how: 'new_account_information_available', code: 'invalid_card' },
  { how: 'restricted_card', code: 'invalid_card' },
  { how: 'revocation_of_authorization', code: 'invalid_card' },
  { how: 'stop_payment_order', code: 'invalid_card' },
  { how: 'testmode_decline', code: 'invalid_card' },
  { how: 'authentication_required', code: 'authentication_required' },
  { how: 'offline_pin_required', code: 'authentication_required' },
  { how: 'incorrect_pin', code: 'authentication_failed' },
  { how: 'pin_try_exceeded', code: 'authentication_failed' },
  { how: 'card_velocity_exceeded', code: 'limit_exceeded' },
  { how: 'invalid_amount', code: 'limit_exceeded' },
  { how: 'withdrawal_count_limit_exceeded', code: 'limit_exceeded' },
  { how: 'fraudulent', code: 'suspected_fraud' },
  { how: 'lost_card', code: 'suspected_fraud' },
  { how: 'merchant_blacklist', code: 'suspected_fraud' },
  { how: 'pickup_card', code: 'suspected_fraud' },
  { how: 'security_violation', code: 'suspected_fraud' },
  { how: 'stolen_card', code: 'suspected_fraud' },
  { how: 'duplicate_transaction', code: 'duplicate' },
  { how: 'issuer_not_available', code: 'provider_unavailable' },
  { how: 'processing_error', code: 'provider_unavailable' },
  { how: 'reenter_transaction', code: 'provider_unavailable' },
  { how: 'try_again_later', code: 'provider_unavailable' },
  { how: 'a_code_of_next_year', code: 'unknown' },
]

testConformance({
  name: 'stripe',
  credentials: CREDENTIALS,
  otherCredentials: { secretKey: 'sk_test_of0another0account', webhookSecret: 'whsec_of0another0account' },
  amount: money(125_050n, 'KES'),
  country: 'KE',
  declines: [
    ...DECLINED_CHARGES.map((decline) => ({ ...decline, on: 'charge' as const })),
    // A declined card leaves Stripe's page open; these two end it.
    { how: 'expired', code: 'customer_timeout', on: 'checkout' },
    { how: 'insufficient_funds', code: 'insufficient_funds', on: 'checkout' },
  ],
  disputes: true,
  start: (t) => startFakeStripe(t),
  open: (connection) => STRIPE.open(connection),
})

const KEY = '0b8e1c4a-51d3-4b6f-9d0e-6d3a5f0c7e21'
const STARTED = new Date('2026-11-15T12:00:00.000Z')

/** The request as bytes, without the headers that HTTP itself needs. */
function requestOf(request: FakeRequest | undefined) {
  assert.ok(request)
  const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers
  const query = request.query.size > 0 ? `?${request.query}` : ''
  return { line: `${request.method} ${request.path}${query}`, headers, text: request.text }
}

const READING = { authorization: `Bearer ${CREDENTIALS.secretKey}`, 'stripe-version': '2023-08-16' }
const WRITING = { ...READING, 'content-type': 'application/x-www-form-urlencoded' }
const EXPANDED = '?expand%5B%5D=payment_intent.payment_method'

describe('a request to Stripe', () => {
  it('a request to Stripe for a checkout has exactly these fields', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const attempt = makeAttempt({ key: KEY, description: 'Tea & “cakes”, 100%', startedAt: STARTED })
    await gateway.startCheckout(attempt, CARD, RETURN_URL)
    const name = 'Tea%20%26%20%E2%80%9Ccakes%E2%80%9D%2C%20100%25'
    assert.deepEqual(requestOf(provider.server.requests[0]), {
      line: 'POST /v1/checkout/sessions',
      headers: { ...WRITING, 'idempotency-key': KEY },
      text: [
        'mode=payment',
        'success_url=https%3A%2F%2Fpay.example.com%2Fpay%2Freturn',
        'cancel_url=https%3A%2F%2Fpay.example.com%2Fpay%2Freturn',
        `client_reference_id=${KEY}`,
        'customer_email=amina%40example.com',
        'customer_creation=always',
        'payment_intent_data[setup_future_usage]=off_session',
        'line_items[0][quantity]=1',
        'line_items[0][price_data][currency]=kes',
        'line_items[0][price_data][unit_amount]=125050',
        `line_items[0][price_data][product_data][name]=${name}`,
        `payment_intent_data[description]=${name}`,
        `payment_intent_data[metadata][cowry_key]=${KEY}`,
        'payment_intent_data[metadata][cowry_reference]=A-1042',
        `metadata[cowry_key]=${KEY}`,
        'metadata[cowry_reference]=A-1042',
        'expires_at=1794747600',
      ].join('&'),
    })
  })

  it('a request to Stripe for a charge has exactly these fields', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const credential = provider.savedCredential('approves')
    const { customer, payment_method: method } = JSON.parse(credential)
    await gateway.chargeSaved?.(makeCharge({ key: KEY, description: null }), credential)
    assert.deepEqual(requestOf(provider.server.requests[0]), {
      line: 'POST /v1/payment_intents',
      headers: { ...WRITING, 'idempotency-key': KEY },
      text: [
        'amount=125050',
        'currency=kes',
        `customer=${customer}`,
        `payment_method=${method}`,
        'off_session=true',
        'confirm=true',
        'automatic_payment_methods[enabled]=true',
        'automatic_payment_methods[allow_redirects]=never',
        'description=A-1042',
        `metadata[cowry_key]=${KEY}`,
        'metadata[cowry_reference]=A-1042',
      ].join('&'),
    })
  })

  it('uses the reference if a description is only white space, which Stripe rejects as a name', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const attempt = makeAttempt({ description: ' \n' })
    assert.equal((await gateway.startCheckout(attempt, CARD, RETURN_URL)).kind, 'started')
    const form = new URLSearchParams(provider.server.requests[0]?.text)
    assert.equal(form.get('line_items[0][price_data][product_data][name]'), 'A-1042')
  })

  it('a request to Stripe for a status check, a cancellation and a refund has these bytes', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const attempt = makeAttempt()
    const started = await gateway.startCheckout(attempt, CARD, RETURN_URL)
    assert.ok(started.kind === 'started')
    provider.server.requests.splice(0)
    const refund = makeRefund({ key: KEY, attemptKey: attempt.key, attemptReference: 'pi_1' })
    await gateway.verify(attempt, started.gatewayReference)
    await gateway.verify(makeCharge(), 'pi_1')
    await gateway.cancel?.(attempt, started.gatewayReference)
    await gateway.refund?.(refund)
    await gateway.verifyRefund?.(refund, 're_1')
    await gateway.probe?.()
    const session = `/v1/checkout/sessions/${started.gatewayReference}`
    assert.deepEqual(provider.server.requests.map(requestOf), [
      { line: `GET ${session}${EXPANDED}`, headers: READING, text: '' },
      { line: 'GET /v1/payment_intents/pi_1', headers: READING, text: '' },
      { line: `POST ${session}/expire`, headers: WRITING, text: '' },
      { line: `GET ${session}${EXPANDED}`, headers: READING, text: '' },
      {
        line: 'POST /v1/refunds',
        headers: { ...WRITING, 'idempotency-key': KEY },
        text: `payment_intent=pi_1&amount=125050&metadata[cowry_key]=${attempt.key}&metadata[cowry_refund_key]=${KEY}`,
      },
      { line: 'GET /v1/refunds/re_1', headers: READING, text: '' },
      { line: 'GET /v1/balance', headers: READING, text: '' },
    ])
  })

  it('escapes a reference of any characters inside its part of the path', async (t) => {
    const { gateway, provider } = await startStripe(t)
    await gateway.verify(makeAttempt(), '../balance?x=/y')
    assert.equal(provider.server.requests[0]?.path, '/v1/checkout/sessions/..%2Fbalance%3Fx%3D%2Fy')
  })

  it('has an expires_at one hour after the start of the attempt, whenever the checkout ends', async (t) => {
    const { gateway, provider, clock } = await startStripe(t)
    const startedAt = clock.now()
    const hour = String(Math.floor(startedAt.getTime() / 1_000) + 3_600)
    for (const openMs of [300_000, 3_600_000, 86_400_000]) {
      const expiresAt = new Date(startedAt.getTime() + openMs)
      await gateway.startCheckout(makeAttempt({ startedAt, expiresAt }), CARD, RETURN_URL)
    }
    await gateway.startCheckout(makeAttempt({ startedAt, expiresAt: null }), CARD, RETURN_URL)
    const sent = provider.server.requests.map(({ text }) => new URLSearchParams(text).get('expires_at'))
    assert.deepEqual(sent, [hour, hour, hour, hour])
  })

  it('a request to Stripe for a checkout is accepted even half an hour after its start', async (t) => {
    const { gateway, provider, clock } = await startStripe(t)
    const attempt = makeAttempt({ startedAt: clock.now() })
    provider.server.injectFault('cut_off', { times: 1 })
    assert.equal((await gateway.startCheckout(attempt, CARD, RETURN_URL)).kind, 'unknown')
    clock.move(29 * 60_000)
    assert.equal((await gateway.startCheckout(attempt, CARD, RETURN_URL)).kind, 'started')
    const [first, second] = provider.server.requests.map(({ text }) => text)
    assert.equal(second, first)
  })
})

// Stripe's minor unit is the major unit for these four; for all others, including UGX, it is the hundredth.
const WHOLE_UNITS: readonly Currency[] = ['BIF', 'RWF', 'XAF', 'XOF']
const LARGEST_MAJOR = 999_999_999_999n

function amountTable(currency: Currency): { minor: bigint; encoded: string }[] {
  const scale = decimalsOf(currency) === 0 ? 1n : 100n
  const tail = WHOLE_UNITS.includes(currency) ? '' : '00'
  const isUganda = currency === 'UGX'
  return [
    { minor: 1n, encoded: isUganda ? '100' : '1' },
    { minor: scale, encoded: `1${tail}` },
    { minor: 1_234n * scale, encoded: `1234${tail}` },
    scale === 1n
      ? { minor: LARGEST_MAJOR, encoded: `999999999999${tail}` }
      : { minor: LARGEST_MAJOR * 100n + 99n, encoded: '99999999999999' },
  ]
}

describe('an amount at Stripe', () => {
  for (const [index, { currency }] of STRIPE.rails.entries()) {
    it(
      `an amount at Stripe in ${currency} survives a round trip without loss`,
      HAS_LARGER_FORM,
      async (t) => {
        const { gateway, provider } = await startStripe(t)
        const credential = provider.savedCredential('approves')
        for (const { minor, encoded } of shareOf(amountTable(currency), index)) {
          const amount = money(minor, currency)
          const checkout = makeAttempt({ amount })
          const started = await gateway.startCheckout(checkout, CARD, RETURN_URL)
          assert.ok(started.kind === 'started')
          assert.match(lastText(provider), new RegExp(`\\[currency]=${currency.toLowerCase()}&`))
          assert.match(lastText(provider), new RegExp(`\\[unit_amount]=${encoded}&`))
          provider.finish(checkout.key, { kind: 'pays' })
          assertPaid(await gateway.verify(checkout, started.gatewayReference), checkout)
          const charge = makeCharge({ amount })
          assertPaid(await submit(gateway, charge, credential), charge)
          assert.match(
            lastText(provider),
            new RegExp(`^amount=${encoded}&currency=${currency.toLowerCase()}&`),
          )
        }
      },
    )
  }

  it('an amount at Stripe in cedis or South Sudanese pounds has no rail, and a request is refused', async (t) => {
    const taken = STRIPE.rails.map(({ currency }) => currency)
    const others = CURRENCY_CODES.filter((currency) => !taken.includes(currency))
    assert.deepEqual(others, ['GHS', 'SSP'])
    const { gateway } = await startStripe(t)
    for (const currency of others) {
      const answer = await gateway.startCheckout(
        makeAttempt({ amount: money(100n, currency) }),
        CARD,
        RETURN_URL,
      )
      assert.ok(answer.kind === 'declined')
      assert.deepEqual([answer.code, answer.refused], ['provider_unavailable', true])
    }
  })

  it('can be paid by card in every currency, by bank in three, and in dollars from fifty cents', () => {
    const withBanks = STRIPE.rails.filter(({ channels }) => channels.includes('bank_transfer'))
    assert.deepEqual(
      withBanks.map(({ currency }) => currency),
      ['EUR', 'GBP', 'USD'],
    )
    assert.ok(STRIPE.rails.every(({ channels, countries }) => channels[0] === 'card' && !countries))
    const minimums = STRIPE.rails.filter(({ minimumMinor }) => minimumMinor !== undefined)
    assert.deepEqual(
      minimums.map(({ currency, minimumMinor }) => [currency, minimumMinor]),
      [['USD', 50n]],
    )
  })

  it('takes amounts of at most eight digits in its own minor units', () => {
    for (const { currency, maximumMinor = 0n } of STRIPE.rails) {
      assert.equal(toAmount(money(maximumMinor, currency)).length, 8, currency)
      assert.ok(toAmount(money(maximumMinor + 1n, currency)).length > 8, currency)
    }
  })
})

describe('Stripe with a lost response', () => {
  const faults: readonly Fault[] = [
    'cut_off',
    'cut_off_after_acting',
    'http_500',
    'http_500_after_acting',
    'html_503',
    'garbage',
    'truncated',
    'http_409',
  ]

  const CHARGES = sized({ quick: 6 * faults.length, rest: 250, long: 250 })

  it(`executes ${CHARGES} charges ${CHARGES} times`, HAS_LARGER_FORM, async (t) => {
    const { gateway, provider } = await startStripe(t)
    const credential = provider.savedCredential('approves')
    const charges = Array.from({ length: CHARGES }, () => makeCharge())
    for (const [index, charge] of charges.entries()) {
      provider.server.injectFault(faults[index % faults.length] ?? 'cut_off', { times: 1 })
      assert.equal((await submit(gateway, charge, credential)).kind, 'unknown')
      // Stripe cannot be queried by our key, so the resolver sends the same request again.
      const checked = await gateway.verify(charge, null)
      assert.ok(checked.kind === 'unknown' && checked.reason === 'not_found')
      assertPaid(await submit(gateway, charge, credential), charge)
    }
    assert.deepEqual(
      charges.map(({ key }) => provider.executions(key)),
      charges.map(() => 1),
    )
  })

  it('gets the same bytes even if the merchant was renamed in the meantime', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const attempt = makeAttempt()
    await gateway.startCheckout(attempt, CARD, RETURN_URL)
    await gateway.startCheckout({ ...attempt, merchantName: 'Duka Jipya' }, CARD, RETURN_URL)
    const [first, second] = provider.server.requests
    assert.equal(first?.text, second?.text)
  })

  it('finds the session of a checkout that was extended in the meantime, and creates no second one', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const attempt = makeAttempt()
    provider.server.injectFault('cut_off_after_acting', { times: 1 })
    assert.equal((await gateway.startCheckout(attempt, CARD, RETURN_URL)).kind, 'unknown')
    const longer = { ...attempt, expiresAt: new Date(attempt.startedAt.getTime() + 7_200_000) }
    const again = await gateway.startCheckout(longer, CARD, RETURN_URL)
    assert.ok(again.kind === 'started')
    assert.deepEqual(await gateway.startCheckout(attempt, CARD, RETURN_URL), again)
  })

  it('stays unknown after a 500 that Stripe replays, and executes once', async (t) => {
    const { gateway, provider, clock } = await startStripe(t)
    const credential = provider.savedCredential('approves')
    const charge = makeCharge()
    provider.failAfterExecuting()
    for (let round = 0; round < 3; round += 1) {
      const outcome = await submit(gateway, charge, credential)
      assert.ok(outcome.kind === 'unknown' && outcome.reason === 'no_answer')
      clock.move(3_600_000)
    }
    assert.equal(provider.executions(charge.key), 1)
    assert.equal(gateway.behavior.cachesErrors, true)
  })

  it('replays within the key retention, and not after it', async (t) => {
    const { gateway, provider, clock } = await startStripe(t)
    const credential = provider.savedCredential('approves')
    const charge = makeCharge({ startedAt: clock.now() })
    assertPaid(await submit(gateway, charge, credential), charge)
    clock.move(gateway.behavior.keyRetentionHours * 3_600_000 - 1)
    assertPaid(await submit(gateway, charge, credential), charge)
    assert.equal(provider.executions(charge.key), 1)
    // Why no retry may follow: the key is dropped.
    clock.move(1)
    await submit(gateway, charge, credential)
    assert.equal(provider.executions(charge.key), 2)
  })

  it('F-48 executes nothing under a key that was used for another request', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const credential = provider.savedCredential('approves')
    const charge = makeCharge()
    await submit(gateway, charge, credential)
    const other = await submit(gateway, { ...charge, amount: money(1n, 'KES') }, credential)
    assert.ok(other.kind === 'unknown' && other.reason === 'unrecognized')
    assert.equal(provider.executions(charge.key), 1)
  })

  it('cancels nothing without a reference', async (t) => {
    const { gateway, provider } = await startStripe(t)
    const outcome = await gateway.cancel?.(makeAttempt(), null)
    assert.ok(outcome?.kind === 'unknown' && outcome.reason === 'not_found')
    assert.deepEqual(provider.server.requests, [])
  })
})

function lastText(provider: Awaited<ReturnType<typeof startStripe>>['provider']): string {
  return provider.server.requests.at(-1)?.text ?? ''
}

async function submit(gateway: Gateway, attempt: Attempt, credential: string): Promise<Outcome> {
  assert.ok(gateway.chargeSaved)
  return gateway.chargeSaved(attempt, credential)
}

function assertPaid(outcome: Outcome, { amount, key }: Attempt): void {
  assert.ok(outcome.kind === 'succeeded', JSON.stringify({ outcome: outcome.kind }))
  assert.deepEqual({ paid: outcome.paid, key: outcome.key }, { paid: amount, key })
  assert.ok(Math.abs(Number(outcome.paidAt) - systemClock.now().getTime()) < 60_000)
}
