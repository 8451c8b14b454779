import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { CURRENCIES } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import { findAccountDefinition } from '../../../src/gateways/account-definition.ts'
import type { Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { MTN_MOMO } from '../../../src/gateways/mtn-momo/index.ts'
import { readPaid, toAmount } from '../../../src/gateways/mtn-momo/response.ts'
import { requestOf } from '../webhook-request.ts'
import { CREDENTIALS } from './fake.ts'
import { CHOICE, callbackUrl, makeAttempt, openOn, replay, startMomo } from './rig.ts'

type Momo = Awaited<ReturnType<typeof startMomo>>

/** The last request, without the headers that the client always adds, and without the token. */
function lastRequest({ provider }: Momo) {
  const request = provider.server.requests.at(-1)
  assert.ok(request)
  const { host, connection, 'content-length': length, authorization, ...headers } = request.headers
  assert.match(authorization ?? '', /^Bearer (collection|disbursement)-/)
  return { line: `${request.method} ${request.path}?${request.query}`, headers, text: request.text }
}

const HEADERS = {
  'ocp-apim-subscription-key': CREDENTIALS.subscriptionKey,
  'x-target-environment': 'mtnghana',
}
const DISBURSEMENT = {
  ...HEADERS,
  'ocp-apim-subscription-key': CREDENTIALS.disbursementSubscriptionKey,
}

describe('a request to MTN MoMo', () => {
  it('asks the payer with exactly the documented fields, and our key as its id', async (t) => {
    const momo = await startMomo(t)
    const attempt = makeAttempt()
    const { key } = attempt
    await momo.start(attempt)
    assert.deepEqual(lastRequest(momo), {
      line: 'POST /collection/v1_0/requesttopay?',
      headers: {
        ...HEADERS,
        'content-type': 'application/json',
        'x-reference-id': key,
        'x-callback-url': callbackUrl({ kind: 'attempt', key }),
      },
      text:
        `{"amount":"1250.50","currency":"GHS","externalId":"${key}",` +
        '"payer":{"partyIdType":"MSISDN","partyId":"233241234567"},"payerMessage":"Two books","payeeNote":"A-1042"}',
    })
  })

  it('gets the token with basic authentication and without a body', async (t) => {
    const { provider, gateway } = await startMomo(t)
    assert.equal(await gateway.probe?.(), 'works')
    const [request] = provider.server.requests
    const basic = Buffer.from(`${CREDENTIALS.apiUser}:${CREDENTIALS.apiKey}`).toString('base64')
    assert.equal(request?.path, '/collection/token/')
    assert.equal(request?.headers.authorization, `Basic ${basic}`)
    assert.equal(request?.headers['content-length'], '0')
  })

  it('asks about a payment by our key', async (t) => {
    const momo = await startMomo(t)
    const attempt = makeAttempt()
    await momo.gateway.verify(attempt, null)
    const line = `GET /collection/v1_0/requesttopay/${attempt.key}?`
    assert.deepEqual(lastRequest(momo), { line, headers: HEADERS, text: '' })
  })

  it('refunds with the keys of Disbursement and the id of the payment', async (t) => {
    const momo = await startMomo(t)
    const [key, attemptKey] = [randomUUID(), randomUUID()]
    const amount = money(500n, 'GHS')
    await momo.gateway.refund?.({ key, attemptKey, attemptReference: attemptKey, amount, isFull: false })
    const text =
      `{"amount":"5","currency":"GHS","externalId":"${key}","payerMessage":"Refund",` +
      `"payeeNote":"Refund ${key}","referenceIdToRefund":"${attemptKey}"}`
    const headers = { ...DISBURSEMENT, 'content-type': 'application/json', 'x-reference-id': key }
    assert.deepEqual(lastRequest(momo), { line: 'POST /disbursement/v1_0/refund?', headers, text })
  })

  it('has no apostrophes, which MTN rejects, and texts of at most 160 characters', async (t) => {
    const momo = await startMomo(t)
    const description = `Ama's “Épicerie” d’Abidjan & Fils ${'x'.repeat(200)}`
    const started = await momo.start(makeAttempt({ description, reference: "O'Brien-7" }))
    assert.equal(started.kind, 'started', inspect(started))
    const { payerMessage, payeeNote } = JSON.parse(lastRequest(momo).text)
    assert.match(payerMessage, /^Amas Epicerie dAbidjan Fils x+$/)
    assert.equal(payerMessage.length, 160)
    assert.equal(payeeNote, 'OBrien-7')
  })

  it('names the payment where the texts have no letters that MTN is certain to take', async (t) => {
    const momo = await startMomo(t)
    await momo.start(makeAttempt({ description: 'ጤና', merchantName: 'ይስጥልኝ', reference: '“”' }))
    const { payerMessage, payeeNote } = JSON.parse(lastRequest(momo).text)
    assert.deepEqual([payerMessage, payeeNote], Array(2).fill('0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'))
  })

  it('asks for callbacks only at an address that MTN can call', async (t) => {
    for (const publicUrl of ['http://pay.example.com', 'https://pay.example.com:8443', 'https://127.0.0.1']) {
      const callbackAt = (): string => `${publicUrl}/hooks/mtn_momo/instance/account/0a`
      const momo = await startMomo(t, { callbackUrl: callbackAt })
      assert.equal((await momo.start(makeAttempt())).kind, 'started')
      assert.equal(lastRequest(momo).headers['x-callback-url'], undefined)
    }
  })
})

describe('an amount at MTN MoMo', () => {
  it('is text in major units, without decimals if it is whole', () => {
    const texts: [bigint, 'GHS' | 'UGX', string][] = [
      [1n, 'GHS', '0.01'],
      [1234n, 'GHS', '12.34'],
      [1200n, 'GHS', '12'],
      [1250n, 'GHS', '12.50'],
      [99_999_999_999_999n, 'GHS', '999999999999.99'],
      [1n, 'UGX', '1'],
      [1234n, 'UGX', '1234'],
      [999_999_999_999n, 'UGX', '999999999999'],
    ]
    for (const [minor, currency, text] of texts) {
      assert.equal(toAmount(money(minor, currency)), text)
      assert.deepEqual(readPaid({ amount: text, currency }), money(minor, currency))
    }
  })

  it('is the same in both directions for every currency of the rails', () => {
    for (const { currency } of MTN_MOMO.rails)
      for (const minor of [1n, 1234n, 99_999_999n])
        assert.deepEqual(
          readPaid({ amount: toAmount(money(minor, currency)), currency }),
          money(minor, currency),
        )
  })

  it('is not read with decimals that the currency does not have, or in a currency that we do not know', () => {
    assert.equal(readPaid({ amount: '12.345', currency: 'GHS' }), undefined)
    assert.equal(readPaid({ amount: '12.5', currency: 'UGX' }), undefined)
    assert.equal(readPaid({ amount: '12', currency: 'SZL' }), undefined)
    assert.deepEqual(readPaid({ amount: '12.00', currency: 'UGX' }), money(12n, 'UGX'))
  })
})

describe('a request to pay that MTN MoMo answers with HTTP 500 and a code', () => {
  const denied = [
    'NOT_ALLOWED',
    'NOT_ALLOWED_TARGET_ENVIRONMENT',
    'INVALID_CURRENCY',
    'INVALID_CALLBACK_URL_HOST',
  ]

  for (const code of denied)
    it(`is refused with ${code} if MTN does not know it`, async (t) => {
      const { provider, start } = await startMomo(t)
      provider.failNext(code, false)
      const outcome = await start(makeAttempt())
      assert.ok(outcome.kind === 'declined' && outcome.refused, inspect(outcome))
      assert.ok(outcome.message.includes(code) && !outcome.message.includes('233'), outcome.message)
      assert.equal(provider.server.requests.at(-1)?.method, 'GET')
    })

  it('is declined with PAYER_NOT_FOUND, because no other gateway reaches that number', async (t) => {
    const { provider, start } = await startMomo(t)
    provider.failNext('PAYER_NOT_FOUND', false)
    const outcome = await start(makeAttempt())
    assert.ok(outcome.kind === 'declined', inspect(outcome))
    assert.deepEqual([outcome.code, outcome.refused], ['wallet_not_found', undefined])
  })

  it('is started if MTN has accepted it all the same', async (t) => {
    for (const code of [...denied, 'PAYER_NOT_FOUND']) {
      const { provider, start } = await startMomo(t)
      provider.failNext(code, true)
      assert.equal((await start(makeAttempt())).kind, 'started')
    }
  })

  it('is unknown with any other code, or if the status check fails too', async (t) => {
    const { provider, start } = await startMomo(t)
    for (const code of ['INTERNAL_PROCESSING_ERROR', 'SERVICE_UNAVAILABLE', 'A_CODE_FROM_TOMORROW'])
      for (const isAccepted of [true, false]) {
        provider.failNext(code, isAccepted)
        assertUnknown(await start(makeAttempt()), 'no_answer')
      }
    provider.failNext('NOT_ALLOWED', false)
    provider.server.injectFault('cut_off', { on: /^GET/ })
    assertUnknown(await start(makeAttempt()), 'no_answer')
  })
})

function assertUnknown(outcome: Outcome | StartedCheckout, reason: string): void {
  assert.ok(outcome.kind === 'unknown' && outcome.reason === reason, inspect(outcome))
}

describe('a request to pay with an id that MTN MoMo has', () => {
  it('is the prompt that the payer sees already', async (t) => {
    const { start } = await startMomo(t)
    const attempt = makeAttempt()
    await start(attempt)
    const again = await start(attempt)
    assert.ok(again.kind === 'started' && again.next.kind === 'prompt', inspect(again))
    assert.deepEqual([again.next.phone, again.next.network], ['+233241234567', 'MTN MoMo'])
  })

  it('has the outcome of the first request if the payer was faster', async (t) => {
    const { provider, start } = await startMomo(t)
    const attempt = makeAttempt()
    await start(attempt)
    await provider.finish(attempt.key, { kind: 'pays' })
    assert.equal((await start(attempt)).kind, 'succeeded')
    assert.equal(provider.executions(attempt.key), 1)
  })

  it('is unknown if MTN has it and does not return it', async (t) => {
    const http = (method: string) => (method === 'POST' ? 409 : 404)
    const code = (method: string) => (method === 'POST' ? 'RESOURCE_ALREADY_EXIST' : 'RESOURCE_NOT_FOUND')
    const { gateway } = await replay(t, ({ method }) => ({
      http: http(method),
      body: { code: code(method) },
    }))
    assertUnknown(await gateway.startCheckout(makeAttempt(), CHOICE, 'https://pay.example.com'), 'no_answer')
  })
})

describe('the state of a payment at MTN MoMo', () => {
  // The example of the documentation has numbers.
  const example = (key: string) => ({
    amount: 100,
    currency: 'GHS',
    financialTransactionId: 23_503_452,
    externalId: key,
    payer: { partyIdType: 'MSISDN', partyId: 4_656_473_839 },
    status: 'SUCCESSFUL',
  })

  it('is read with numbers as in the documentation, with the number of the receipt and without a time', async (t) => {
    const attempt = makeAttempt()
    const { gateway } = await replay(t, { http: 200, body: example(attempt.key) })
    assert.deepEqual(await gateway.verify(attempt, null), {
      kind: 'succeeded',
      gatewayReference: attempt.key,
      receiptNumber: '23503452',
      paid: money(10_000n, 'GHS'),
      key: attempt.key,
      savedMethod: null,
      paidAt: null,
    })
  })

  it('is pending while it is created, and unknown without our id', async (t) => {
    const attempt = makeAttempt()
    const created = await replay(t, { http: 200, body: { ...example(attempt.key), status: 'CREATED' } })
    assert.equal((await created.gateway.verify(attempt, null)).kind, 'pending')
    const { externalId, ...unnamed } = example(attempt.key)
    const { gateway } = await replay(t, { http: 200, body: unnamed })
    assertUnknown(await gateway.verify(attempt, null), 'unrecognized')
  })

  it('is not found only by the word of MTN itself', async (t) => {
    const { gateway } = await replay(t, {
      http: 404,
      body: { statusCode: 404, message: 'Resource not found' },
    })
    assertUnknown(await gateway.verify(makeAttempt(), null), 'unrecognized')
  })

  it('says nothing in a failed query, whatever the code', async (t) => {
    for (const code of ['NOT_ALLOWED', 'INTERNAL_PROCESSING_ERROR']) {
      const { gateway } = await replay(t, { http: 500, body: { code } })
      assertUnknown(await gateway.verify(makeAttempt(), null), 'no_answer')
    }
  })
})

describe('a refund that MTN MoMo does not accept', () => {
  const refund = (gateway: Momo['gateway']) => {
    const ids = { key: randomUUID(), attemptKey: randomUUID(), attemptReference: 'a' }
    return gateway.refund?.({ ...ids, amount: money(100n, 'GHS'), isFull: true })
  }

  it('fails if the request is invalid, or is denied and MTN does not have it', async (t) => {
    const invalid = await replay(t, { http: 400, body: { code: 'BAD_REQUEST' } })
    assert.equal((await refund(invalid.gateway))?.kind, 'failed')
    const { gateway } = await replay(t, ({ method }) =>
      method === 'POST'
        ? { http: 500, body: { code: 'NOT_ALLOWED' } }
        : { http: 404, body: { code: 'RESOURCE_NOT_FOUND' } },
    )
    assert.equal((await refund(gateway))?.kind, 'failed')
  })

  it('stays open if MTN does not accept our address', async (t) => {
    const { gateway } = await replay(t, { http: 403, body: { code: 'FORBIDDEN_IP' } })
    const outcome = await refund(gateway)
    assert.ok(outcome?.kind === 'unknown' && /registered addresses/.test(outcome.message), inspect(outcome))
  })

  it('is absent without the subscription key of Disbursement', async (t) => {
    const { disbursementSubscriptionKey, ...credentials } = CREDENTIALS
    const { gateway } = await startMomo(t, { credentials })
    assert.deepEqual([gateway.refund, gateway.verifyRefund], [undefined, undefined])
  })
})

describe('an account of MTN MoMo', () => {
  it('collects in the country and currency of its target environment alone', (t) => {
    const railsOf = (targetEnvironment: string) =>
      openOn(t, 'http://127.0.0.1:1', { credentials: { ...CREDENTIALS, targetEnvironment } }).rails
    assert.deepEqual(railsOf('mtnsouthsudan'), [
      { currency: 'SSP', countries: ['SS'], channels: ['mobile_money'], prompts: true, networks: ['mtn_ss'] },
    ])
    assert.deepEqual(railsOf('mtncongo')[0]?.countries, ['CG'])
    // MTN's sandbox has one currency, and payers of no country.
    assert.deepEqual(railsOf('sandbox'), [{ currency: 'EUR', channels: ['mobile_money'], prompts: true }])
  })

  it('has a label for each country, so that one service collects in several', (t) => {
    const account = findAccountDefinition([MTN_MOMO], 'mtn_momo_ss')
    assert.equal(account?.title, 'MTN MoMo (SS)')
    const credentials = { ...CREDENTIALS, targetEnvironment: 'mtnsouthsudan', amounts: 'SSP:100-500000' }
    const gateway = openOn(t, 'http://127.0.0.1:1', { credentials }, account)
    const [rail] = gateway.rails
    assert.deepEqual([gateway.name, rail?.currency, rail?.maximumMinor], ['mtn_momo_ss', 'SSP', 50_000_000n])
  })

  it('exists for every country of the rails, whose currency it has', () => {
    const places = MTN_MOMO.rails.map(({ currency, countries = [] }) => `${currency} ${countries.join()}`)
    assert.equal(
      places.toSorted().join(', '),
      'GHS GH, LRD LR, NGN NG, RWF RW, SSP SS, UGX UG, XAF CG, XAF CM, XOF BJ, XOF CI, ZAR ZA, ZMW ZM',
    )
    for (const { currency, countries = [] } of MTN_MOMO.rails)
      for (const country of countries)
        assert.ok((CURRENCIES[currency].countries as readonly string[]).includes(country))
  })

  it('has credentials that are checked', () => {
    const issue = (name: string, text: string, mode: 'test' | 'live') =>
      MTN_MOMO.credentials.find((one) => one.name === name)?.validate(text, mode)
    assert.equal(issue('targetEnvironment', 'mtnuganda', 'live'), undefined)
    assert.match(issue('targetEnvironment', 'sandbox', 'live') ?? '', /^must be one of mtnbenin, /)
    assert.match(issue('targetEnvironment', 'mtnuganda', 'test') ?? '', /^must be sandbox/)
    assert.equal(issue('apiUser', CREDENTIALS.apiUser.toUpperCase(), 'live'), undefined)
    assert.match(issue('apiUser', 'amina', 'live') ?? '', /UUID/)
    assert.equal(issue('apiKey', CREDENTIALS.apiKey, 'live'), undefined)
    for (const wrong of [`${CREDENTIALS.apiKey}\n`, 'short', 'Basic 4f6b1d2a9c8e4b7fa1c3d5e7f9021436'])
      assert.match(issue('apiKey', wrong, 'live') ?? '', /letters and digits/)
  })

  it('is checked for its currency, its callbacks and its refunds', async (t) => {
    const { gateway, provider } = await startMomo(t)
    const checks = (await gateway.checkAccount?.()) ?? []
    const results = () => checks.map(({ name, result }) => `${name} ${result}`)
    assert.deepEqual(results(), ['currency ok', 'callbacks by_hand', 'refunds ok'])
    assert.match(checks[1]?.detail ?? '', /is pay\.example\.com:/)
    const byHand = MTN_MOMO.manualChecks?.map(({ about }) => about)
    assert.deepEqual(byHand, ['addresses'], 'nothing is listed twice')
    provider.server.alter((value) => ({ ...Object(value), currency: 'UGX' }))
    const [currency] = (await gateway.checkAccount?.()) ?? []
    assert.deepEqual([currency?.result, /is in UGX/.test(currency?.detail ?? '')], ['failed', true])
  })
})

describe('a callback of MTN MoMo', () => {
  it('is read by POST and PUT, and only at the path of an attempt', async (t) => {
    const { gateway } = await startMomo(t)
    const key = randomUUID()
    const body = Buffer.from('{"status":"FAILED","reason":{"code":"PAYER_NOT_FOUND"},"externalId":"other"}')
    for (const method of ['POST', 'PUT'] as const) {
      const parsed = gateway.parseWebhook(requestOf({}, body, { method, callback: { kind: 'attempt', key } }))
      assert.ok(parsed.kind === 'payment' && parsed.key === key, inspect(parsed))
    }
    for (const callback of [null, { kind: 'account' }, { kind: 'refund', key }] as const)
      assert.equal(gateway.parseWebhook(requestOf({}, body, { callback })).kind, 'forged')
  })
})
