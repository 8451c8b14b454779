import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Currency } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import { FLUTTERWAVE } from '../../../src/gateways/flutterwave/index.ts'
import type { Attempt, Channel } from '../../../src/gateways/gateway.ts'
import type { FakeRequest } from '../fake-server.ts'
import { SECRET_KEY } from './fake.ts'
import {
  CREDENTIAL,
  CREDENTIALS,
  EMAIL,
  FIXTURE_KEY,
  type Flutterwave,
  makeAttempt,
  NOW,
  openFlutterwave,
  RETURN_URL,
  startFixedServer,
  startFlutterwave,
  TOKEN,
} from './rig.ts'

const REFUND = {
  key: '6f1d7c1e-0a35-4f0e-8f62-9c8f3f1e7b21',
  attemptKey: FIXTURE_KEY,
  attemptReference: '4975363',
  amount: money(50_050n, 'NGN'),
  isFull: false,
}

/** The requests of an operation to a server that knows no record. */
async function record(
  t: Parameters<typeof startFixedServer>[0],
  act: (gateway: Flutterwave) => Promise<unknown>,
): Promise<FakeRequest[]> {
  const { server, gateway } = await startFixedServer(t, {
    http: 404,
    body: { status: 'error', message: 'not found', data: null },
  })
  await act(gateway)
  return server.requests
}

/** Method, URL, the connector's headers, and body. */
function show({ method, path, query, headers, text }: FakeRequest) {
  const { authorization, 'content-type': contentType } = headers
  return { method, url: query.size > 0 ? `${path}?${query}` : path, authorization, contentType, text }
}

const authorization = `Bearer ${SECRET_KEY}`
const getRequest = (url: string) => ({ method: 'GET', url, authorization, contentType: undefined, text: '' })
const sent = (url: string, body: object) => ({
  method: 'POST',
  url,
  authorization,
  contentType: 'application/json',
  text: JSON.stringify(body),
})

const PAYMENT = {
  tx_ref: FIXTURE_KEY,
  amount: 1250.5,
  currency: 'NGN',
  redirect_url: RETURN_URL,
  payment_options: 'card, applepay, googlepay',
  customer: { email: EMAIL, name: 'Amina Otieno' },
  customizations: { title: 'Duka La Vitabu', description: 'Two books' },
  meta: { payment: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f', reference: 'A-1042 & more', country: 'NG' },
  session_duration: 60,
  max_retry_attempt: 1,
  configurations: { session_duration: 60, max_retry_attempt: 1 },
}

/** The request for a page of an account that collects on it. */
async function startBody(
  t: Parameters<typeof record>[0],
  changes: Partial<Attempt>,
  channel: Channel = 'card',
) {
  const { server, gateway } = await startFlutterwave(t, { collection: 'page' })
  await gateway.startCheckout(makeAttempt(changes), { channel }, RETURN_URL)
  const [request] = server.requests
  return JSON.parse(request?.text ?? '')
}

describe('a request to Flutterwave', () => {
  it('a request to Flutterwave for a page has these bytes', async (t) => {
    const requests = await record(t, (gateway) =>
      gateway.startCheckout(makeAttempt(), { channel: 'card' }, RETURN_URL),
    )
    assert.deepEqual(requests.map(show), [sent('/v3/payments', PAYMENT)])
  })

  it('a request to Flutterwave for a page omits absent values', async (t) => {
    const body = await startBody(t, { description: null, expiresAt: null, country: null })
    assert.equal('country' in body.meta, false)
    assert.deepEqual(body.customizations, { title: 'Duka La Vitabu' })
    assert.equal('session_duration' in body, false)
    assert.deepEqual(body.configurations, { max_retry_attempt: 1 })
  })

  it("a request to Flutterwave for a page lets it expire with our checkout, within Flutterwave's limits", async (t) => {
    const minutes = async (ms: number) => {
      const body = await startBody(t, { expiresAt: new Date(NOW.getTime() + ms) })
      assert.equal(body.configurations.session_duration, body.session_duration)
      return body.session_duration
    }
    assert.equal(await minutes(5 * 60_000), 5)
    assert.equal(await minutes(5 * 60_000 + 1), 6)
    assert.equal(await minutes(24 * 3_600_000), 1_440)
    assert.equal(await minutes(48 * 3_600_000), 1_440)
    assert.equal(await minutes(-1_000), 1)
  })

  it('a request to Flutterwave for a page names the payment options of the chosen channel', async (t) => {
    const options = async (currency: Attempt['amount']['currency'], channel: Channel) =>
      (await startBody(t, { amount: money(1_000n, currency) }, channel)).payment_options
    assert.equal(await options('NGN', 'bank_transfer'), 'banktransfer, ussd, account')
    assert.equal(await options('GHS', 'mobile_money'), 'mobilemoneyghana, ghanamobilemoney')
    assert.equal(await options('KES', 'mobile_money'), 'mpesa')
    assert.equal(await options('XAF', 'mobile_money'), 'mobilemoneyxaf, mobilemoneyfranco')
    assert.equal(await options('XOF', 'mobile_money'), 'mobilemoneyxof, mobilemoneyfranco')
    assert.equal(await options('ZAR', 'bank_transfer'), 'account')
    assert.equal(await options('KES', 'card'), 'card')
  })

  it('a request to Flutterwave for a page with a card keeps the wallets that have cards in them', async (t) => {
    for (const currency of ['NGN', 'USD', 'EUR', 'GBP', 'ZAR', 'EGP'] as const) {
      const body = await startBody(t, { amount: money(1_000n, currency) })
      assert.equal(body.payment_options, 'card, applepay, googlepay', currency)
    }
  })

  it('a request to Flutterwave for a charge has these bytes', async (t) => {
    const attempt = makeAttempt({ operation: 'charge', description: 'Second month', expiresAt: null })
    const requests = await record(t, (gateway) => gateway.chargeSaved(attempt, CREDENTIAL))
    const body = {
      token: TOKEN,
      email: EMAIL,
      currency: 'NGN',
      country: 'NG',
      amount: 1250.5,
      tx_ref: FIXTURE_KEY,
      narration: 'Second month',
      first_name: 'Amina',
      last_name: 'Otieno',
      redirect_url: 'https://pay.example.com',
    }
    assert.deepEqual(requests.map(show), [sent('/v3/tokenized-charges', body)])
  })

  it('a request to Flutterwave for a charge uses the e-mail of the card, not that of the charge', async (t) => {
    const credential = JSON.stringify({ token: TOKEN, email: 'first@example.com' })
    const [request] = await record(t, (gateway) =>
      gateway.chargeSaved(makeAttempt({ operation: 'charge' }), credential),
    )
    assert.equal(JSON.parse(request?.text ?? '').email, 'first@example.com')
  })

  it('a request to Flutterwave for a charge names the country of the merchant, not that of the card or payer', async (t) => {
    const { server } = await startFixedServer(t, { http: 404, body: '' })
    const gateway = openFlutterwave(t, server.url, { credentials: { ...CREDENTIALS, merchantCountry: 'GH' } })
    const usCard = JSON.stringify({ token: TOKEN, email: EMAIL, country: 'US' })
    await gateway.chargeSaved(makeAttempt({ operation: 'charge', country: 'KE' }), usCard)
    assert.equal(JSON.parse(server.requests[0]?.text ?? '').country, 'GH')
  })

  it('a request to Flutterwave for a charge of a merchant without a country names one of the currency', async (t) => {
    const countryOf = async (country: string | null, currency: Currency) => {
      const amount = money(1_000n, currency)
      const [request] = await record(t, (gateway) =>
        gateway.chargeSaved(makeAttempt({ operation: 'charge', country, amount }), CREDENTIAL),
      )
      return JSON.parse(request?.text ?? '').country
    }
    assert.equal(await countryOf('GH', 'NGN'), 'NG')
    for (const [currency, country] of [
      ['NGN', 'NG'],
      ['USD', 'US'],
      ['XAF', 'CM'],
      ['XOF', 'CI'],
      ['EUR', 'DE'],
    ] as const)
      assert.equal(await countryOf(null, currency), country)
    for (const { currency } of FLUTTERWAVE.rails)
      assert.match(await countryOf(null, currency), /^[A-Z]{2}$/, currency)
  })

  it('is not sent with an unreadable credential', async (t) => {
    const requests = await record(t, async (gateway) => {
      for (const odd of ['', '{}', '{"token":"x"}', 'flw-t1nf-x']) {
        const outcome = await gateway.chargeSaved(makeAttempt({ operation: 'charge' }), odd)
        assert.ok(outcome.kind === 'declined')
        assert.equal(outcome.code, 'invalid_card')
      }
    })
    assert.deepEqual(requests, [])
  })

  it('a request to Flutterwave for a status check has these bytes, with any known reference', async (t) => {
    const requests = await record(t, async (gateway) => {
      await gateway.verify(makeAttempt(), null)
      await gateway.verify(makeAttempt(), '4975363')
      await gateway.verify(makeAttempt({ key: 'a b&c' }), null)
    })
    assert.deepEqual(requests.map(show), [
      getRequest(`/v3/transactions/verify_by_reference?tx_ref=${FIXTURE_KEY}`),
      getRequest(`/v3/transactions/verify_by_reference?tx_ref=${FIXTURE_KEY}`),
      getRequest('/v3/transactions/verify_by_reference?tx_ref=a+b%26c'),
    ])
  })

  it('a request to Flutterwave for a refund is sent after a lookup of an earlier one, and has these bytes', async (t) => {
    const requests = await record(t, (gateway) => gateway.refund(REFUND))
    assert.deepEqual(requests.map(show), [
      getRequest('/v3/refunds?id=4975363'),
      sent('/v3/transactions/4975363/refund', { amount: 500.5, comments: REFUND.key }),
    ])
  })

  it('a request to Flutterwave for the status of a refund uses its id, or lists those of the payment', async (t) => {
    const requests = await record(t, async (gateway) => {
      await gateway.verifyRefund(REFUND, '75923')
      await gateway.verifyRefund(REFUND, null)
    })
    assert.deepEqual(requests.map(show), [
      getRequest('/v3/refunds/75923'),
      getRequest('/v3/refunds?id=4975363'),
    ])
  })

  it('a request to Flutterwave for a credential check has no effect', async (t) => {
    const requests = await record(t, (gateway) => gateway.probe())
    assert.deepEqual(requests.map(show), [getRequest('/v3/balances')])
  })

  it('uses the same URL if the base URL contains the version', async (t) => {
    const { server } = await startFixedServer(t, { http: 404, body: '' })
    await openFlutterwave(t, `${server.url}/v3`).probe()
    assert.deepEqual(server.requests.map(show), [getRequest('/v3/balances')])
  })
})

describe('the definition of Flutterwave', () => {
  const issues = (name: string) => {
    const field = FLUTTERWAVE.credentials.find((one) => one.name === name)
    assert.ok(field)
    return field.validate
  }

  it('accepts test keys in test mode and live keys in live mode, and names the right prefix', () => {
    const validate = issues('secretKey')
    const live = 'FLWSECK-8c1f0d2b6e7a4935b0c8d1e2f3a4b5c6-X'
    assert.equal(validate(SECRET_KEY, 'test'), undefined)
    assert.equal(validate(live, 'live'), undefined)
    assert.match(validate(live, 'test') ?? '', /is a live key.*FLWSECK_TEST-/)
    assert.match(validate(SECRET_KEY, 'live') ?? '', /is a test key/)
    assert.match(validate('FLWPUBK_TEST-8c1f0d2b6e7a4935-X', 'test') ?? '', /is a public key/)
    for (const odd of ['', 'sk_test_123', `${SECRET_KEY} `, 'FLWSECK_TEST-'])
      assert.ok(validate(odd, 'test'), odd)
  })

  it('accepts any hash that the dashboard takes and a header carries unchanged', () => {
    const validate = issues('webhookHash')
    for (const hash of ['my-secret-hash', 'short', 'has a space', 'x'])
      assert.equal(validate(hash, 'test'), undefined, hash)
    for (const odd of ['', ' ', ' leading', 'trailing ', 'déjà-vu-hash', 'a\nb'])
      assert.ok(validate(odd, 'live'), odd)
  })

  it('accepts the country of the merchant as two capital letters', () => {
    const validate = issues('merchantCountry')
    assert.equal(validate('NG', 'live'), undefined)
    for (const odd of ['', 'ng', 'NGA', 'Nigeria', 'ZZ', ' NG']) assert.ok(validate(odd, 'live'), odd)
  })

  it('repeats no credential in an issue', () => {
    const validate = issues('secretKey')
    for (const mode of ['test', 'live'] as const)
      for (const odd of ['FLWPUBK-0a1b2c3d4e', 'FLWSECK-0a1b2c3d4e', 'FLWSECK_TEST-0a1b2c3d4e', '0a1b2c3d4e'])
        assert.doesNotMatch(validate(odd, mode) ?? '', /0a1b2c3d4e/)
  })

  it('supports only the countries that its default routes name', () => {
    const served = (currency: string) =>
      FLUTTERWAVE.rails.find((rail) => rail.currency === currency)?.countries
    assert.deepEqual(served('XAF'), ['CM'])
    assert.deepEqual(served('XOF'), ['CI', 'SN', 'BF'])
    assert.deepEqual(served('ZAR'), ['ZA'])
    assert.ok(served('USD')?.includes('NG'))
    assert.ok(served('USD')?.includes('US'))
    assert.equal(served('USD')?.includes('KE'), false)
    assert.equal(served('USD')?.includes('CD'), false)
    assert.equal(served('EUR'), undefined)
    assert.equal(
      FLUTTERWAVE.rails.some(({ currency }) => currency === 'CAD'),
      false,
    )
  })
})
