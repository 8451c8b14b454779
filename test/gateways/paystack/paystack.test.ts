import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import type { FakeRequest } from '../fake-server.ts'
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
const HOUR_MS = 3_600_000

/** The request on the wire, without the headers that the HTTP client adds. */
function wire({ method, path, query, headers, text }: FakeRequest) {
  const { host: _host, connection: _connection, 'content-length': _length, ...own } = headers
  return { method, path: query.size > 0 ? `${path}?${query}` : path, headers: own, text }
}

const AUTHORIZATION = { authorization: `Bearer ${FAKE_SECRET_KEY}` }
const JSON_HEADERS = { ...AUTHORIZATION, 'content-type': 'application/json' }
const CUSTOM_FIELDS = {
  custom_fields: [
    { display_name: 'Reference', variable_name: 'reference', value: 'A-1042 & more' },
    { display_name: 'Payment', variable_name: 'payment', value: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f' },
  ],
}

describe('a request to Paystack', () => {
  it('starts a checkout that returns to us after paying and after cancelling', async (t) => {
    const { server, gateway } = await startFixedServer(t, { http: 200, body: readFixture('initialize') })
    const started = await gateway.startCheckout(makeAttempt({ key: FIXTURE_KEY }), CARD, RETURN_URL)
    assert.deepEqual(started, {
      kind: 'started',
      gatewayReference: FIXTURE_KEY,
      next: { kind: 'redirect', url: 'https://checkout.paystack.com/nkdks46nymizns7' },
    })
    assert.deepEqual(server.requests.map(wire), [
      {
        method: 'POST',
        path: '/transaction/initialize',
        headers: JSON_HEADERS,
        text: JSON.stringify({
          email: EMAIL,
          amount: 125_050,
          currency: 'NGN',
          reference: FIXTURE_KEY,
          callback_url: RETURN_URL,
          channels: ['card', 'apple_pay'],
          metadata: { cancel_action: RETURN_URL, ...CUSTOM_FIELDS },
        }),
      },
    ])
  })

  it('does not redirect a payer to the page of another payment', async (t) => {
    const { gateway } = await startFixedServer(t, { http: 200, body: readFixture('initialize') })
    const outcome = await gateway.startCheckout(makeAttempt(), CARD, RETURN_URL)
    assert.ok(outcome.kind === 'unknown')
    assert.equal(outcome.reason, 'unrecognized')
  })

  it('charges a saved card with the e-mail of its first payment and metadata as text', async (t) => {
    const { server, gateway } = await startFixedServer(t, { http: 200, body: readFixture('charge-success') })
    const customer = { email: 'new.address@example.com', firstname: 'Amina', lastname: 'Otieno' }
    const attempt = makeAttempt({ key: FIXTURE_KEY, operation: 'charge', customer })
    assert.deepEqual(await gateway.chargeSaved(attempt, CREDENTIAL), {
      kind: 'succeeded',
      gatewayReference: '4099490251',
      paid: money(125_050n, 'NGN'),
      fee: money(1_876n, 'NGN'),
      key: FIXTURE_KEY,
      savedMethod: null,
      paidAt: new Date('2026-11-15T09:45:03.000Z'),
    })
    assert.deepEqual(server.requests.map(wire), [
      {
        method: 'POST',
        path: '/transaction/charge_authorization',
        headers: JSON_HEADERS,
        text: JSON.stringify({
          email: EMAIL,
          amount: 125_050,
          currency: 'NGN',
          reference: FIXTURE_KEY,
          authorization_code: 'AUTH_8dfhjjdt',
          metadata: JSON.stringify(CUSTOM_FIELDS),
        }),
      },
    ])
  })

  it('checks a payment by its reference, and the key by reading the balance', async (t) => {
    const { server, gateway } = await startFixedServer(t, { http: 200, body: readFixture('verify-success') })
    await gateway.verify(makeAttempt({ key: FIXTURE_KEY }), '4099260516')
    await gateway.probe()
    assert.deepEqual(server.requests.map(wire), [
      { method: 'GET', path: `/transaction/verify/${FIXTURE_KEY}`, headers: AUTHORIZATION, text: '' },
      { method: 'GET', path: '/balance', headers: AUTHORIZATION, text: '' },
    ])
  })

  const channels = [
    ['NGN', 'NG', 'bank_transfer', ['bank_transfer', 'bank', 'ussd']],
    ['GHS', 'GH', 'mobile_money', ['mobile_money']],
    ['KES', 'KE', 'mobile_money', ['mobile_money']],
    ['KES', 'KE', 'bank_transfer', ['bank_transfer']],
    ['ZAR', 'ZA', 'bank_transfer', ['eft', 'capitec_pay', 'qr']],
    ['USD', 'NG', 'card', ['card', 'apple_pay']],
    ['XOF', 'CI', 'mobile_money', ['mobile_money']],
  ] as const
  for (const [currency, country, channel, expected] of channels) {
    it(`offers ${expected.join(', ')} for ${currency} by ${channel} on its page`, async (t) => {
      const { server, gateway } = await startPaystack(t, { collection: 'page' })
      const attempt = makeAttempt({ amount: money(100_000n, currency), country })
      assert.equal((await gateway.startCheckout(attempt, { channel }, RETURN_URL)).kind, 'started')
      assert.deepEqual(JSON.parse(server.requests[0]?.text ?? '').channels, expected)
    })
  }
})

describe('a payment at Paystack', () => {
  it('a payment at Paystack that is paid saves its card and the e-mail that may charge it', async (t) => {
    assert.deepEqual(await verifyAnswer(t, readFixture('verify-success')), {
      kind: 'succeeded',
      gatewayReference: '4099260516',
      paid: money(125_050n, 'NGN'),
      fee: money(1_876n, 'NGN'),
      key: FIXTURE_KEY,
      savedMethod: {
        type: 'card',
        credential: CREDENTIAL,
        fingerprint: 'SIG_2Gvc6pNuzJmj4TCchXfp',
        card: { brand: 'visa', last4: '4081', expiryMonth: 12, expiryYear: 2030, country: 'NG' },
        mobileMoney: null,
        currencies: ['NGN'],
      },
      paidAt: new Date('2026-11-15T09:30:56.000Z'),
    })
  })

  it('saves nothing that cannot be charged again', async (t) => {
    const { authorization } = Object(readFixture('verify-success').data)
    const useless = [
      { reusable: false },
      { reusable: 1 },
      { reusable: 'true' },
      { channel: 'bank' },
      { channel: 'mobile_money' },
      { signature: null },
      { exp_month: '13' },
      { last4: 'X081' },
    ]
    for (const change of useless) {
      const body = altered('verify-success', { authorization: { ...authorization, ...change } })
      const outcome = await verifyAnswer(t, body)
      assert.ok(outcome.kind === 'succeeded', JSON.stringify(change))
      assert.equal(outcome.savedMethod, null, JSON.stringify(change))
    }
    const withoutCustomer = await verifyAnswer(t, altered('verify-success', { customer: null }))
    assert.ok(withoutCustomer.kind === 'succeeded' && withoutCustomer.savedMethod === null)
  })

  it('reads a card in other notations', async (t) => {
    const { authorization } = Object(readFixture('verify-success').data)
    const change = {
      brand: ' ',
      card_type: 'mastercard DEBIT',
      exp_month: '7',
      exp_year: '31',
      country_code: 'Nigeria',
    }
    const outcome = await verifyAnswer(
      t,
      altered('verify-success', { authorization: { ...authorization, ...change } }),
    )
    assert.ok(outcome.kind === 'succeeded')
    assert.deepEqual(outcome.savedMethod?.card, {
      brand: 'mastercard',
      last4: '4081',
      expiryMonth: 7,
      expiryYear: 2031,
      country: null,
    })
  })

  it('keeps an id beyond the safe integers, and ignores any metadata', async (t) => {
    for (const metadata of ['""', '0', 'null', '{"cancel_action":"x"}', '[]']) {
      const text = JSON.stringify(altered('verify-success', { id: 'ID', metadata: 'METADATA' }))
      const body = text.replace('"ID"', '90071992547409931').replace('"METADATA"', metadata)
      const outcome = await verifyAnswer(t, body)
      assert.ok(outcome.kind === 'succeeded', metadata)
      assert.equal(outcome.gatewayReference, '90071992547409931')
    }
  })

  it('is dated by its start, or not at all, if Paystack does not report the time', async (t) => {
    const begun = await verifyAnswer(t, altered('verify-success', { paid_at: null }))
    assert.ok(begun.kind === 'succeeded')
    assert.equal(begun.paidAt?.toISOString(), '2026-11-15T09:26:44.000Z')
    const undated = await verifyAnswer(
      t,
      altered('verify-success', { paid_at: null, transaction_date: 'then' }),
    )
    assert.ok(undated.kind === 'succeeded')
    assert.equal(undated.paidAt, null)
  })

  for (const status of ['pending', 'processing', 'queued', 'ongoing', 'abandoned']) {
    it(`a payment at Paystack with the status ${status} is pending`, async (t) => {
      const outcome = await verifyAnswer(t, altered('verify-abandoned', { status }))
      assert.deepEqual(outcome, { kind: 'pending', gatewayReference: '4099260516' })
    })
  }

  const left = (hours: number) => ({
    startedAt: addMs(systemClock.now(), -8 * 24 * HOUR_MS),
    expiresAt: addMs(systemClock.now(), -hours * HOUR_MS),
  })

  it('a payment at Paystack that its payer has left stays pending for some hours, because the payer may return', async (t) => {
    for (const hours of [0, 1, 5.9])
      assert.equal((await verifyAnswer(t, readFixture('verify-abandoned'), 200, left(hours))).kind, 'pending')
  })

  it('a payment at Paystack that its payer has left ends some hours after our checkout', async (t) => {
    const outcome = await verifyAnswer(t, readFixture('verify-abandoned'), 200, left(6.1))
    assert.deepEqual(outcome, {
      kind: 'declined',
      code: 'customer_timeout',
      message: 'the page of Paystack was left unpaid',
      gatewayReference: '4099260516',
    })
  })

  it('a payment at Paystack that a payer is making is pending, however late it is', async (t) => {
    for (const status of ['ongoing', 'pending', 'processing', 'queued']) {
      const outcome = await verifyAnswer(t, altered('verify-abandoned', { status }), 200, left(48))
      assert.equal(outcome.kind, 'pending', status)
    }
  })

  it('a prompt of Paystack that its payer did not answer has timed out', async (t) => {
    const outcome = await verifyAnswer(t, altered('verify-abandoned', { status: 'timeout' }))
    assert.ok(outcome.kind === 'declined' && outcome.code === 'customer_timeout', inspect(outcome))
  })

  it('a payment at Paystack that wants a code ends if the payer is on our page, which cannot ask for it', async (t) => {
    for (const status of ['send_otp', 'send_pin', 'send_phone', 'send_birthday', 'send_address']) {
      const body = altered('verify-abandoned', { status })
      const outcome = await verifyAnswer(t, body, 200, { phone: '+233551234987' })
      assert.ok(outcome.kind === 'declined' && outcome.code === 'provider_unavailable', inspect(outcome))
      assert.equal((await verifyAnswer(t, body)).kind, 'pending', 'it may be entered on the page of Paystack')
    }
  })

  it('a payment at Paystack that was reversed is not credited', async (t) => {
    const outcome = await verifyAnswer(t, altered('verify-success', { status: 'reversed' }))
    assert.ok(outcome.kind === 'declined')
    assert.equal(outcome.code, 'unknown')
  })

  it('a payment at Paystack with an unknown status is unknown, never pending', async (t) => {
    for (const status of ['SUCCESS', 'successful', 'send_money', '']) {
      const outcome = await verifyAnswer(t, altered('verify-success', { status }))
      assert.ok(outcome.kind === 'unknown', status)
      assert.equal(outcome.reason, 'unrecognized')
    }
  })

  it('is not declined by the record of another one', async (t) => {
    for (const fixture of ['verify-failed', 'verify-abandoned']) {
      const outcome = await verifyAnswer(t, altered(fixture, { reference: 'another' }))
      assert.ok(outcome.kind === 'unknown', fixture)
    }
  })

  it('is not found by 404 and by 400, and by nothing else', async (t) => {
    const answers = [
      [404, errorReply(404, 'Entity not found').body, 'not_found'],
      [404, readFixture('not-found'), 'not_found'],
      [400, readFixture('not-found'), 'not_found'],
      [400, readFixture('invalid-key'), 'no_answer'],
      [400, errorReply(400, 'Please wait a few minutes and try again.').body, 'unrecognized'],
      [404, '<h1>404 Not Found</h1>', 'unreadable'],
      [401, readFixture('invalid-key'), 'no_answer'],
      [403, errorReply(403, 'Not allowed').body, 'no_answer'],
      [401, '<h1>Unauthorized</h1>', 'unreadable'],
      [403, '<h1>Forbidden</h1>', 'unreadable'],
      [302, '', 'no_answer'],
      [200, { status: false, message: 'Transaction reference not found' }, 'unrecognized'],
    ] as const
    for (const [http, body, reason] of answers) {
      const outcome = await verifyAnswer(t, body, http)
      assert.ok(outcome.kind === 'unknown', JSON.stringify(body))
      assert.equal(outcome.reason, reason, `${http} ${JSON.stringify(body)}`)
    }
  })
})

describe('the definition of Paystack', () => {
  const validate = (text: string, mode: 'test' | 'live') => PAYSTACK.credentials[0]?.validate(text, mode)

  it('accepts test keys in test mode and live keys in live mode, and does not repeat the key in an issue', () => {
    assert.equal(validate(FAKE_SECRET_KEY, 'test'), undefined)
    assert.equal(validate('sk_live_abc123', 'live'), undefined)
    const issues = [
      [FAKE_SECRET_KEY, 'live', /begins with sk_test_, but this service runs in live mode/],
      ['sk_live_abc123', 'test', /begins with sk_live_, but this service runs in test mode/],
      ['pk_test_abc123', 'test', /is a public key; the secret key begins with sk_test_/],
      ['secretword', 'test', /must begin with sk_test_/],
      ['', 'live', /must begin with sk_live_/],
      ['sk_test_abc123 ', 'test', /only letters and digits/],
    ] as const
    for (const [text, mode, expected] of issues) {
      const issue = validate(text, mode) ?? ''
      assert.match(issue, expected)
      assert.ok(!/abc123|secretword|0a1b2c/.test(issue), issue)
    }
  })

  it('collects in the countries of its accounts, each from its minimum on', () => {
    const rails = PAYSTACK.rails.map(({ currency, countries, channels, minimumMinor }) => [
      currency,
      countries?.join(' ') ?? 'its own',
      [...channels].join(' '),
      minimumMinor,
    ])
    assert.deepEqual(rails, [
      ['NGN', 'its own', 'card bank_transfer', 5_000n],
      ['GHS', 'its own', 'card mobile_money', 10n],
      ['KES', 'its own', 'card mobile_money bank_transfer', 300n],
      ['ZAR', 'ZA', 'card bank_transfer', 100n],
      ['USD', 'NG KE', 'card', 200n],
      ['XOF', 'CI', 'card mobile_money', 1n],
    ])
  })

  it('has one URL for both modes', () => {
    assert.deepEqual(PAYSTACK.baseUrl, { test: 'https://api.paystack.co', live: 'https://api.paystack.co' })
  })
})
