// What cowry doctor asks the providers about the settings of an account, with the answers of the providers.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { checkGateways } from '../../src/gateways/checks.ts'
import type { GatewayDefinition } from '../../src/gateways/definition.ts'
import { FLUTTERWAVE } from '../../src/gateways/flutterwave/index.ts'
import type { Gateway } from '../../src/gateways/gateway.ts'
import { PAWAPAY } from '../../src/gateways/pawapay/index.ts'
import { PAYSTACK } from '../../src/gateways/paystack/index.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import { STRIPE } from '../../src/gateways/stripe/index.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { Db } from '../../src/kit/db/db.ts'
import { createHttpClient } from '../../src/kit/http/http-client.ts'
import { cleanUp } from '../support/cleanups.ts'
import { type FakeReply, startFakeServer } from './fake-server.ts'
import { openMemoryTokens } from './memory-tokens.ts'
import { requestIssues } from './schemas/requests.ts'
import { callbackUrlAt } from './webhook-request.ts'

const PUBLIC_URL = 'https://pay.example.com'

type Answers = Record<string, unknown>

/** Opens the gateway at a provider that answers these paths; 403 where it has no answer. */
async function open(
  t: TestContext,
  definition: GatewayDefinition,
  credentials: Record<string, string>,
  answers: Answers,
): Promise<Gateway> {
  const answer = ({ path }: { path: string }): FakeReply =>
    path in answers
      ? { http: 200, body: answers[path] }
      : { http: 403, body: { status: false, message: 'Forbidden', error: { type: 'forbidden' } } }
  const issuesOf = requestIssues(definition.name)
  const server = await startFakeServer(t, async (request) => answer(request), { issuesOf })
  const http = createHttpClient()
  cleanUp(t, () => http.close())
  return definition.open({
    credentials,
    baseUrl: server.url,
    mode: 'test',
    http,
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, 'checked'),
  })
}

/** The results by name, with the details. */
async function checksOf(gateway: Gateway): Promise<Record<string, [result: string, detail: string]>> {
  const checks = (await gateway.checkAccount?.()) ?? []
  return Object.fromEntries(checks.map(({ name, result, detail }) => [name, [result, detail]]))
}

const STRIPE_LISTS = ['checkout/sessions', 'payment_intents', 'customers', 'refunds', 'disputes'] as const
const LISTS = Object.fromEntries(STRIPE_LISTS.map((name) => [`/v1/${name}`, { object: 'list', data: [] }]))
const ENDPOINT = {
  url: `${PUBLIC_URL}/hooks/stripe`,
  status: 'enabled',
  enabled_events: [
    'checkout.session.completed',
    'payment_intent.succeeded',
    'refund.created',
    'charge.dispute.created',
  ],
}
const STRIPE_ANSWERS = {
  ...LISTS,
  '/v1/account': { charges_enabled: true },
  '/v1/webhook_endpoints': { data: [ENDPOINT] },
}
const RESTRICTED = { secretKey: 'rk_test_1', webhookSecret: 'whsec_1' }

describe('the checks of a Stripe account', () => {
  const stripe = async (t: TestContext, credentials: Record<string, string>, answers: Answers) =>
    checksOf(await open(t, STRIPE, credentials, answers))

  it('pass for a secret key with a complete webhook endpoint', async (t) => {
    const checks = await stripe(t, { secretKey: 'sk_test_1', webhookSecret: 'whsec_1' }, STRIPE_ANSWERS)
    assert.deepEqual(
      Object.values(checks).map(([result]) => result),
      ['ok', 'ok', 'ok'],
    )
  })

  it('name the rights that a restricted key lacks', async (t) => {
    const { '/v1/refunds': _refunds, '/v1/disputes': _disputes, ...answers } = STRIPE_ANSWERS as Answers
    const { rights } = await stripe(t, RESTRICTED, answers)
    assert.deepEqual(rights?.[0], 'failed')
    assert.match(rights?.[1] ?? '', /allow Refunds, Disputes in the dashboard/)
    const { rights: readable } = await stripe(t, RESTRICTED, STRIPE_ANSWERS)
    assert.equal(readable?.[0], 'by_hand', 'reading does not prove that it may write')
  })

  it('name a missing webhook endpoint, a disabled one and its missing events', async (t) => {
    const webhooks = async (...data: object[]) =>
      (await stripe(t, RESTRICTED, { ...STRIPE_ANSWERS, '/v1/webhook_endpoints': { data } })).webhooks
    assert.match(String(await webhooks()), /^failed,.*Add https:\/\/pay\.example\.com\/hooks\/stripe with/)
    assert.match(String(await webhooks({ ...ENDPOINT, status: 'disabled' })), /^failed,.*no enabled/)
    const some = { ...ENDPOINT, enabled_events: ['checkout.session.completed', 'refund.created'] }
    assert.match(String(await webhooks(some)), /^failed,.*add payment_intent\.\*, charge\.dispute\.\* in/)
    assert.match(String(await webhooks({ ...ENDPOINT, enabled_events: ['*'] })), /^ok/)
  })

  it('leave to a person what the key cannot read, and fail for an account that may not charge', async (t) => {
    const { charges, webhooks } = await stripe(t, RESTRICTED, LISTS)
    assert.deepEqual([charges?.[0], webhooks?.[0]], ['by_hand', 'by_hand'])
    const inactive = await stripe(
      t,
      { secretKey: 'sk_test_1' },
      { '/v1/account': { charges_enabled: false } },
    )
    assert.match(String(inactive.charges), /^failed,.*complete its activation/)
    assert.match(String(inactive.webhooks), /^by_hand,.*GATEWAY_STRIPE_WEBHOOK_SECRET/)
  })
})

const newKey = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString()
const KEY = newKey()

const pawapayAnswers = (callbackUrl: string | undefined, signed = {}): Answers => ({
  '/v2/active-conf': {
    signatureConfiguration: { signedRequestsOnly: false, signedCallbacks: true, ...signed },
    countries: [
      {
        providers: [
          { provider: 'MTN_MOMO_ZMB', currencies: [{ operationTypes: { DEPOSIT: { callbackUrl } } }] },
        ],
      },
    ],
  },
  '/v2/public-key/http': [{ id: 'HTTP_EC_P256_KEY:1', key: KEY }],
})

describe('the checks of a pawaPay account', () => {
  const OWN_URL = `${PUBLIC_URL}/hooks/pawapay`
  const pawapay = async (t: TestContext, publicKey: string, answers: Answers) =>
    checksOf(await open(t, PAWAPAY, { apiToken: 'token', publicKey }, answers))

  it('pass with our callback URL, signed callbacks and the current key', async (t) => {
    const checks = await pawapay(t, KEY, pawapayAnswers(OWN_URL))
    assert.deepEqual(Object.keys(checks), ['providers', 'signatures', 'callback URL', 'public key'])
    assert.deepEqual([...new Set(Object.values(checks).map(([result]) => result))], ['ok'])
  })

  it('say which setting of the dashboard is wrong', async (t) => {
    const wrong = await pawapay(
      t,
      newKey(),
      pawapayAnswers('https://old.example/cb', { signedCallbacks: false }),
    )
    assert.match(
      String(wrong['callback URL']),
      /^failed,.*old\.example\/cb: set https:\/\/pay\.example\.com\/hooks/,
    )
    assert.match(String(wrong.signatures), /^failed,Switch on signed callbacks/)
    assert.match(String(wrong['public key']), /^failed,.*not a current key/)
    const signedOnly = await pawapay(t, KEY, pawapayAnswers(undefined, { signedRequestsOnly: true }))
    assert.match(String(signedOnly.signatures), /^failed,.*GATEWAY_PAWAPAY_SIGNING_KEY/)
    assert.match(
      String(signedOnly['callback URL']),
      /^by_hand,.*is https:\/\/pay\.example\.com\/hooks\/pawapay\.$/,
    )
    const none = await pawapay(t, KEY, { '/v2/active-conf': { countries: [] } })
    assert.match(String(none.providers), /^failed,No provider/)
  })

  it('leave everything to a person if pawaPay does not answer', async (t) => {
    assert.deepEqual(
      Object.values(await pawapay(t, KEY, {})).map(([result]) => result),
      ['by_hand'],
    )
  })
})

describe('the checks of the other accounts', () => {
  it('show the currencies of a Paystack account', async (t) => {
    const answers = { '/balance': { status: true, message: 'ok', data: [{ currency: 'KES', balance: 1 }] } }
    const { currencies } = await checksOf(await open(t, PAYSTACK, { secretKey: 'sk_test_1' }, answers))
    assert.match(String(currencies), /^ok,KES; an account is of one country/)
  })

  it('say that a page of Paystack can be paid without a time limit', async (t) => {
    const timeout = async (seconds: number) => {
      const data = { payment_session_timeout: seconds }
      const answers = { '/integration/payment_session_timeout': { status: true, message: 'ok', data } }
      const checks = await checksOf(await open(t, PAYSTACK, { secretKey: 'sk_test_1' }, answers))
      return String(checks['page timeout'])
    }
    assert.equal(await timeout(3_600), 'ok,3600 s')
    assert.match(await timeout(0), /^by_hand,Set how long/)
  })

  it('ask for the webhook hash of Flutterwave', async (t) => {
    const secretKey = 'FLWSECK_TEST-1'
    const without = await checksOf(await open(t, FLUTTERWAVE, { secretKey }, {}))
    assert.match(String(without.webhooks), /^by_hand,.*GATEWAY_FLUTTERWAVE_WEBHOOK_HASH/)
    const withHash = await checksOf(await open(t, FLUTTERWAVE, { secretKey, webhookHash: 'a-hash-1' }, {}))
    assert.equal(withHash.webhooks?.[0], 'ok')
    const short = await checksOf(await open(t, FLUTTERWAVE, { secretKey, webhookHash: 'short' }, {}))
    assert.match(String(short.webhooks), /^failed,.*guessed/)
  })

  it('ask for the country of the merchant of Flutterwave', async (t) => {
    const secretKey = 'FLWSECK_TEST-1'
    const without = await checksOf(await open(t, FLUTTERWAVE, { secretKey }, {}))
    assert.match(String(without['merchant country']), /^by_hand,.*GATEWAY_FLUTTERWAVE_MERCHANT_COUNTRY/)
    const withCountry = await checksOf(await open(t, FLUTTERWAVE, { secretKey, merchantCountry: 'NG' }, {}))
    assert.deepEqual(withCountry['merchant country'], ['ok', 'NG'])
  })
})

/** As cowry doctor sees one configured gateway, without a database: no merchant has an account. */
async function doctorChecks(definition: GatewayDefinition, gateway: Gateway) {
  const gateways = {
    ...fixedGateways([gateway]),
    supported: [{ definition: { ...definition, gateway: definition.name }, isConfigured: true, baseUrl: '' }],
  }
  const db: Db = { ...NO_DB, query: async () => [] }
  return checkGateways({ db, gateways, mode: 'live' })
}

const NO_DB: Db = {
  query: () => assert.fail('no other statement'),
  transaction: () => assert.fail('no transaction'),
  script: () => assert.fail('no script'),
  close: async () => undefined,
}

describe('the checks of a configured gateway', () => {
  it('include the lines to check by hand', async (t) => {
    const answers = { '/v3/balances': { status: 'success', message: 'ok', data: [] } }
    const gateway = await open(
      t,
      FLUTTERWAVE,
      { secretKey: 'FLWSECK_TEST-1', webhookHash: 'a-hash-1', merchantCountry: 'NG' },
      answers,
    )
    const checks = await doctorChecks(FLUTTERWAVE, gateway)
    assert.deepEqual(
      checks.map(({ name, result }) => `${name} ${result}`),
      [
        'configured ok',
        'credentials ok',
        'webhooks ok',
        'merchant country ok',
        ...BY_HAND.map((name) => `${name} by_hand`),
      ],
    )
  })

  it('fail with the variable to set if the provider refuses the credentials, and ask nothing else', async (t) => {
    const checks = await doctorChecks(PAYSTACK, await open(t, PAYSTACK, { secretKey: 'sk_test_1' }, {}))
    const [, credentials, ...others] = checks
    assert.equal(credentials?.result, 'failed')
    assert.match(
      credentials?.detail ?? '',
      /^Paystack refuses .* set GATEWAY_PAYSTACK_SECRET_KEY, and restart\.$/,
    )
    assert.ok(others.every(({ result }) => result === 'by_hand'))
  })
})

const BY_HAND = ['NOAUTH', 'payment options', 'webhook URL']
