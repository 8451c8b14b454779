import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import { fromShillings, toShillings } from '../../../src/gateways/daraja/amounts.ts'
import { DARAJA } from '../../../src/gateways/daraja/index.ts'
import { accountReferenceOf } from '../../../src/gateways/daraja/push.ts'
import { fromListTime, fromTimestamp, toListTime, toTimestamp } from '../../../src/gateways/daraja/times.ts'
import type { Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { CREDENTIALS, SHORTCODE } from './fake.ts'
import {
  CHOICE,
  callbackUrl,
  makeAttempt,
  PHONE,
  readFixture,
  replay,
  startDaraja,
  toRequest,
} from './rig.ts'

const KEY = '5e2f3a4b-6c7d-4e8f-9a0b-1c2d3e4f5a6b'
const REFERENCE = 'ws_CO_191220191020363925'

const summary = (outcome: StartedCheckout | Outcome) => {
  if (outcome.kind === 'declined') return `${outcome.refused ? 'refused' : 'declined'} ${outcome.code}`
  return outcome.kind === 'unknown' ? outcome.reason : outcome.kind
}

const error = (http: number, errorCode: string, errorMessage: string) => ({
  http,
  body: { requestId: '1-1-1', errorCode, errorMessage },
})

const fault = (http: number, faultstring: string) => ({
  http,
  body: { fault: { faultstring, detail: { errorcode: 'policies.ratelimit' } } },
})

describe('a prompt of Daraja', () => {
  it('is requested with exactly the documented fields, to a paybill', async (t) => {
    const { provider, start } = await startDaraja(t)
    const started = await start(makeAttempt({ key: KEY }))
    assert.ok(started.kind === 'started', inspect(started))
    const { method, path, headers, text } = provider.server.requests.at(-1) ?? assert.fail()
    assert.deepEqual([method, path], ['POST', '/mpesa/stkpush/v1/processrequest'])
    assert.match(headers.authorization ?? '', /^Bearer /)
    const { Password, Timestamp, ...body } = JSON.parse(text)
    assert.equal(Buffer.from(Password, 'base64').toString(), `${SHORTCODE}${CREDENTIALS.passkey}${Timestamp}`)
    assert.deepEqual(body, {
      BusinessShortCode: SHORTCODE,
      TransactionType: 'CustomerPayBillOnline',
      Amount: 1_500,
      PartyA: 254_708_374_149,
      PartyB: SHORTCODE,
      PhoneNumber: 254_708_374_149,
      CallBackURL: callbackUrl({ kind: 'attempt', key: KEY }),
      AccountReference: accountReferenceOf(KEY),
      TransactionDesc: 'Two books Wee',
    })
    const { next } = started
    assert.ok(next.kind === 'prompt')
    assert.deepEqual([next.phone, next.network], [PHONE, 'M-Pesa'])
  })

  it('goes to a till below the shortcode of its store', async (t) => {
    const { provider, start } = await startDaraja(t, { ...CREDENTIALS, till: '5432100' })
    assert.equal((await start(makeAttempt())).kind, 'started')
    const { TransactionType, PartyB, BusinessShortCode } = JSON.parse(
      provider.server.requests.at(-1)?.text ?? '',
    )
    assert.deepEqual(
      [TransactionType, PartyB, BusinessShortCode],
      ['CustomerBuyGoodsOnline', '5432100', SHORTCODE],
    )
  })

  it('is not requested for cents, or without a Kenyan number', async (t) => {
    const { provider, gateway, start } = await startDaraja(t)
    const cents = await start(makeAttempt({ amount: money(150_050n, 'KES') }))
    const abroad = { ...CHOICE, phone: '+256772000001' }
    const foreign = await gateway.startCheckout(makeAttempt(), abroad, 'https://shop.example')
    for (const outcome of [cents, foreign]) assert.equal(summary(outcome), 'refused provider_unavailable')
    assert.deepEqual(provider.server.requests, [])
  })

  it('is refused only by answers that prove that M-Pesa did not process it', async (t) => {
    const cases = [
      [error(400, '400.002.02', 'Bad Request - Invalid CallBackURL'), 'refused provider_unavailable'],
      [
        error(401, '401.002.01', 'Invalid API call as no apiproduct match found'),
        'refused provider_unavailable',
      ],
      [fault(401, 'Invalid API call as no apiproduct match found'), 'refused provider_unavailable'],
      [fault(500, 'Spike arrest violation. Allowed rate : 5ps'), 'refused provider_unavailable'],
      [fault(500, 'Failed to execute the policy'), 'no_answer'],
      [fault(504, 'Gateway Timeout'), 'no_answer'],
      [
        error(500, '500.003.02', 'System is busy. Please try again in few minutes.'),
        'refused provider_unavailable',
      ],
      [error(503, '500.003.03', 'Quota Violation'), 'refused provider_unavailable'],
      [error(500, '500.001.1001', '[MerchantValidate] - Wrong credentials'), 'refused provider_unavailable'],
      [error(500, '500.001.1001', 'Merchant does not exist'), 'refused provider_unavailable'],
      [
        error(500, '500.001.1001', 'Unable to lock subscriber, a transaction is already in process'),
        // No other gateway is tried: the payer has an open prompt.
        'declined provider_unavailable',
      ],
      [error(500, '500.001.1001', 'The transaction is being processed'), 'no_answer'],
      [error(500, '500.001.1001', 'Server error'), 'no_answer'],
      [error(502, '502.000.00', 'Bad gateway'), 'no_answer'],
      [error(409, '409.000.00', 'Conflict'), 'unrecognized'],
      [
        { http: 200, body: { ResponseCode: '1', ResponseDescription: 'Rejected' } },
        'refused provider_unavailable',
      ],
      [{ http: 200, body: { ResponseCode: '1', CheckoutRequestID: REFERENCE } }, 'unrecognized'],
      [{ http: 200, body: {} }, 'unrecognized'],
    ] as const
    for (const [reply, expected] of cases) {
      const { gateway } = await replay(t, reply)
      const outcome = await gateway.startCheckout(makeAttempt(), CHOICE, 'https://shop.example')
      assert.equal(summary(outcome), expected, inspect(reply))
    }
  })
})

describe('the status of a prompt of Daraja', () => {
  const status = (ResultCode: unknown, ResultDesc: string) => ({
    http: 200,
    body: {
      ResponseCode: '0',
      ResponseDescription: 'ok',
      CheckoutRequestID: REFERENCE,
      ResultCode,
      ResultDesc,
    },
  })

  it('is pending while M-Pesa processes it, whichever of its answers says so', async (t) => {
    const replies = [
      status('4999', 'The transaction is still under processing'),
      status(4999, ''),
      status('1', 'The transaction is still under processing'),
      error(500, '500.001.1001', 'The transaction is being processed'),
    ]
    for (const reply of replies) {
      const { gateway } = await replay(t, reply)
      const outcome = await gateway.verify(makeAttempt(), REFERENCE)
      assert.deepEqual(outcome, { kind: 'pending', gatewayReference: REFERENCE }, inspect(reply))
    }
  })

  it('is unknown for a code that we do not know, until the callback says the same', async (t) => {
    const { gateway } = await replay(t, status('E3008', 'Bad debt contract'))
    assert.equal(summary(await gateway.verify(makeAttempt(), REFERENCE)), 'unrecognized')
    const report = (resultCode: string, checkoutRequestId = REFERENCE) =>
      JSON.stringify({ checkoutRequestId, resultCode })
    for (const [given, expected] of [
      [report('E3008'), 'declined unknown'],
      [report('1032'), 'unrecognized'],
      [report('E3008', 'ws_CO_another'), 'unrecognized'],
    ] as const)
      assert.equal(summary(await gateway.verify({ ...makeAttempt(), report: given }, REFERENCE)), expected)
  })

  it('is unknown if the query declines what the callback says was paid', async (t) => {
    const { gateway } = await replay(t, status('1032', 'Request Cancelled by user.'))
    const report = JSON.stringify({ checkoutRequestId: REFERENCE, resultCode: '0', receipt: 'NLJ7RT61SV' })
    assert.equal(summary(await gateway.verify({ ...makeAttempt(), report }, REFERENCE)), 'unrecognized')
  })

  it('is unknown if Daraja is busy, or does not know the merchant', async (t) => {
    for (const reply of [error(500, '500.003.02', 'busy'), error(500, '500.001.1001', 'Wrong credentials')]) {
      const { gateway } = await replay(t, reply)
      assert.equal(summary(await gateway.verify(makeAttempt(), REFERENCE)), 'no_answer')
    }
  })
})

describe('a probe of Daraja', () => {
  it('works by any answer of M-Pesa about a prompt that does not exist, and not by an outage', async (t) => {
    const cases = [
      [error(500, '500.001.1001', 'The transaction does not exist'), 'works'],
      [error(500, '500.001.1001', 'The transaction is being processed'), 'works'],
      [error(400, '400.002.02', 'Bad Request - Invalid CheckoutRequestID'), 'works'],
      [{ http: 200, body: { ResponseCode: '0', ResultCode: '1032' } }, 'works'],
      [error(500, '500.001.1001', 'Internal Server Error'), 'unreachable'],
      [error(500, '500.003.1001', 'Service is currently unreachable'), 'unreachable'],
      [error(500, '500.003.02', 'System is busy'), 'unreachable'],
      [fault(500, 'Spike arrest violation. Allowed rate : 5ps'), 'unreachable'],
      [{ http: 200, body: '<html></html>' }, 'unreachable'],
    ] as const
    for (const [reply, expected] of cases)
      assert.equal(await (await replay(t, reply)).gateway.probe?.(), expected, inspect(reply))
  })

  it('sends no prompt, and is refused with the passkey of another shortcode', async (t) => {
    const { provider, gateway } = await startDaraja(t)
    assert.equal(await gateway.probe?.(), 'works')
    assert.deepEqual(
      provider.server.requests.map(({ path }) => path),
      ['/oauth/v1/generate', '/mpesa/stkpushquery/v1/query'],
    )
    const wrong = await startDaraja(t, { ...CREDENTIALS, passkey: '0'.repeat(64) })
    assert.equal(await wrong.gateway.probe?.(), 'refused')
  })
})

describe('a callback of Daraja', () => {
  const url = callbackUrl({ kind: 'attempt', key: KEY })
  const read = async (name: string, gateway: { parseWebhook: typeof parse }) =>
    gateway.parseWebhook(toRequest({ headers: {}, url, body: readFixture(name) }))
  const { parseWebhook: parse } = DARAJA.open({
    credentials: CREDENTIALS,
  } as unknown as Parameters<typeof DARAJA.open>[0])

  it('brings the amount, the receipt number and the time of a payment that the query confirms', async (t) => {
    const reply = { ResponseCode: '0', CheckoutRequestID: REFERENCE, ResultCode: '0', ResultDesc: 'ok' }
    const { gateway, server } = await replay(t, { http: 200, body: reply })
    const parsed = await read('callback-paid', gateway)
    assert.ok(parsed.kind === 'payment' && parsed.key === KEY, inspect(parsed))
    assert.deepEqual([parsed.referenceHint, parsed.isFinalReport], [REFERENCE, true])
    assert.ok(
      parsed.report && !parsed.report.includes('254708374149'),
      'it does not keep the number of the payer',
    )
    const query = { ...makeAttempt({ key: KEY }), report: parsed.report }
    assert.deepEqual(await gateway.verify(query, REFERENCE), {
      kind: 'succeeded',
      gatewayReference: REFERENCE,
      receiptNumber: 'NLJ7RT61SV',
      paid: money(100n, 'KES'),
      key: KEY,
      savedMethod: null,
      paidAt: new Date('2019-12-19T07:21:15Z'),
    })
    assert.equal(server.requests.filter(({ path }) => path.startsWith('/pull')).length, 0)
  })

  it('has no receipt if the payment was declined, and is not final', async () => {
    const parsed = await read('callback-cancelled', { parseWebhook: parse })
    assert.ok(parsed.kind === 'payment' && parsed.key === KEY, inspect(parsed))
    assert.deepEqual(JSON.parse(parsed.report ?? ''), { checkoutRequestId: REFERENCE, resultCode: '1032' })
    assert.equal(parsed.isFinalReport, undefined)
  })

  it('is ignored at the address of the account', () => {
    const account = callbackUrl({ kind: 'account' })
    const parsed = parse(toRequest({ headers: {}, url: account, body: readFixture('callback-paid') }))
    assert.equal(parsed.kind, 'ignored')
  })

  it('gets the answer that Daraja wants', async (t) => {
    const { gateway } = await startDaraja(t)
    assert.deepEqual(gateway.webhookAnswer, { ResultCode: 0, ResultDesc: 'Accepted' })
  })
})

describe('amounts and times of Daraja', () => {
  it('are whole shillings, exactly', () => {
    for (const [minor, shillings] of [
      [100n, 1],
      [123_400n, 1_234],
      [25_000_000n, 250_000],
      [150n, undefined],
    ] as const)
      assert.equal(toShillings(money(minor, 'KES')), shillings)
    for (const [text, minor] of [
      ['168.00', 16_800n],
      ['1.0', 100n],
      ['1', 100n],
      ['250.5', 25_050n],
      ['1.005', undefined],
      ['-1', undefined],
      ['1e3', undefined],
      ['', undefined],
    ] as const)
      assert.equal(fromShillings(text)?.minor, minor, text)
    assert.equal(toShillings(money(100n, 'USD')), undefined)
  })

  it('are East Africa Time', () => {
    const time = new Date('2026-11-17T22:59:58Z')
    assert.equal(toTimestamp(time), '20261118015958')
    assert.equal(toListTime(time), '2026-11-18 01:59:58')
    assert.deepEqual(fromTimestamp('20261118015958'), time)
    for (const text of ['2026-11-18 01:59:58', '2026-11-17T22:59:58Z', '2026-11-18T01:59:58Z'])
      assert.deepEqual(fromListTime(text, time), time)
    for (const text of ['', 'yesterday', '2026-11-20 01:59:58']) assert.equal(fromListTime(text, time), null)
    assert.equal(fromTimestamp('20261399999999'), null)
  })
})

describe('credentials of Daraja', () => {
  const issueOf = (name: string, text: string, mode: 'test' | 'live' = 'live') =>
    DARAJA.credentials.find((one) => one.name === name)?.validate(text, mode)

  it('are described if they are wrong, and never repeated', () => {
    for (const [name, text] of [
      ['shortcode', '174379'],
      ['shortcode', 'paybill 1'],
      ['passkey', 'two words of the passkey'],
      ['securityCredential', 'ThePasswordItself'],
      ['pullNumber', '174379'],
      ['consumerKey', 'with a\nline break'],
    ] as const) {
      const issue = issueOf(name, text)
      assert.ok(issue?.startsWith('must be'), `${name}: ${issue}`)
      assert.ok(text === '174379' || !issue?.includes(text))
    }
    assert.equal(issueOf('shortcode', '174379', 'test'), undefined)
    for (const [name, text] of Object.entries(CREDENTIALS)) assert.equal(issueOf(name, text), undefined, name)
  })
})
