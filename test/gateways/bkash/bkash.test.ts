// What only bKash has: its requests, its codes, the execution that is made once, its ration of tokens, and refunds without
// a key. The fixtures are examples of its documentation.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import { BKASH } from '../../../src/gateways/bkash/index.ts'
import { readBkashTime } from '../../../src/gateways/bkash/wire.ts'
import type { Outcome, RefundRequest } from '../../../src/gateways/gateway.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import { createMemoryTokenStore, openMemoryTokens } from '../memory-tokens.ts'
import { CREDENTIALS, startFakeBkash } from './fake.ts'
import { makeAttempt, openOn, RETURN_URL, replay, startBkash } from './rig.ts'

const readFixture = (name: string) =>
  JSON.parse(readFileSync(new URL(`fixtures/${name}.json`, import.meta.url), 'utf8'))

const PAYMENT_ID = 'TR0001VK1565072365492'
const KEY = 'Inv0124'

/** A payment that its payer has confirmed. */
async function confirmNew(t: TestContext) {
  const rig = await startBkash(t)
  const { attempt, reference } = await rig.startNew()
  await rig.provider.confirm?.(attempt.key)
  const complete = () => rig.gateway.complete?.(attempt, reference) as Promise<Outcome>
  return { ...rig, attempt, reference, complete }
}

describe('the requests of bKash', () => {
  it('a token is granted for user and app, and stands alone in the header of a payment', async (t) => {
    const { provider, start } = await startBkash(t)
    const attempt = makeAttempt()
    assert.equal((await start(attempt)).kind, 'started')
    const [granted, created] = provider.server.requests
    assert.ok(granted && created)
    assert.equal(`${granted.method} ${granted.path}`, 'POST /v1.2.0-beta/tokenized/checkout/token/grant')
    assert.deepEqual(
      [granted.headers.username, granted.headers.password],
      [CREDENTIALS.username, CREDENTIALS.password],
    )
    assert.deepEqual(JSON.parse(granted.text), {
      app_key: CREDENTIALS.appKey,
      app_secret: CREDENTIALS.appSecret,
    })
    assert.equal(`${created.method} ${created.path}`, 'POST /v1.2.0-beta/tokenized/checkout/create')
    assert.match(created.headers.authorization ?? '', /^token-/)
    assert.equal(created.headers['x-app-key'], CREDENTIALS.appKey)
    assert.deepEqual(JSON.parse(created.text), {
      mode: '0011',
      payerReference: attempt.key,
      callbackURL: RETURN_URL,
      amount: '1250.50',
      currency: 'BDT',
      intent: 'sale',
      merchantInvoiceNumber: attempt.key,
    })
  })

  it('amounts have two decimals in requests, and any number of them in responses', async (t) => {
    for (const [minor, text, sent] of [
      [1n, '0.01', '0.01'],
      [1_234n, '12.34', '12.34'],
      [100n, '1', '1.00'],
      [99_999_999_999n, '999999999.99', '999999999.99'],
    ] as const) {
      const amounts: string[] = []
      const { gateway } = await replay(t, ({ path, text: body }) => {
        if (path.endsWith('/create')) amounts.push(JSON.parse(body).amount)
        return { http: 200, body: { ...readFixture('executed'), amount: text } }
      })
      const amount = money(minor, 'BDT')
      await gateway.startCheckout(makeAttempt({ amount }), { channel: 'mobile_money' }, RETURN_URL)
      const outcome = await gateway.verify(makeAttempt({ amount, key: KEY }), PAYMENT_ID)
      assert.deepEqual(amounts, [sent])
      assert.deepEqual(outcome.kind === 'succeeded' && outcome.paid, amount)
    }
  })

  it('times are those of Bangladesh', () => {
    const expected = '2019-08-06T06:22:41.428Z'
    assert.equal(readBkashTime('2019-08-06T12:22:41:428 GMT+0600')?.toISOString(), expected)
    assert.equal(readBkashTime('2019-08-06T12:22:41 GMT+0600')?.toISOString(), '2019-08-06T06:22:41.000Z')
    for (const text of ['2026-09-20T14:47:02:000', '2019-13-06T12:22:41:428 GMT+0600', 'soon', null])
      assert.equal(readBkashTime(text), undefined)
  })

  it('the keys of another mode and of another form are rejected', () => {
    const issueOf = (name: string, text: string, mode: 'test' | 'live') =>
      BKASH.credentials.find((one) => one.name === name)?.validate(text, mode)
    for (const [name, text] of Object.entries(CREDENTIALS))
      assert.equal(issueOf(name, text, 'test'), undefined)
    assert.match(issueOf('username', CREDENTIALS.username, 'live') ?? '', /sandbox/)
    assert.equal(issueOf('username', '01712345678', 'live'), undefined)
    for (const name of ['appKey', 'appSecret', 'username', 'password'])
      for (const wrong of ['', 'a key\n', 'ключ-ключ-ключ-ключ'])
        assert.ok(issueOf(name, wrong, 'test'), `${name} ${wrong}`)
  })
})

describe('a checkout at bKash', () => {
  it('is refused if bKash answers another code, also with HTTP 200, because it cannot be paid', async (t) => {
    const { provider, start } = await startBkash(t)
    for (const code of ['2001', '2006', '2029', '2031', '2049', '2065', '2067', '9999']) {
      provider.refuseCreation(code)
      const outcome = await start(makeAttempt())
      assert.ok(outcome.kind === 'declined' && outcome.refused, code)
      assert.match(outcome.message, new RegExp(`\\(HTTP 200, ${code}\\)`))
    }
    for (const code of ['2003', '2020', '2024', '503']) {
      provider.refuseCreation(code)
      assert.equal((await start(makeAttempt())).kind, 'unknown', code)
    }
  })

  it('is pending in the documented response, until the payer has confirmed by either name of it', async (t) => {
    const record = readFixture('status-initiated')
    const amount = money(1_200n, 'BDT')
    const verify = async (changes: object, query: object = {}) => {
      const { gateway } = await replay(t, { http: 200, body: { ...record, ...changes } })
      return gateway.verify(makeAttempt({ amount, key: KEY, ...query }), PAYMENT_ID)
    }
    const pending = { kind: 'pending', gatewayReference: PAYMENT_ID }
    assert.deepEqual(await verify({}), pending)
    const confirmed = { ...pending, canComplete: true }
    assert.deepEqual(await verify({ userVerificationStatus: 'Complete' }), confirmed)
    const { userVerificationStatus: _, ...older } = { ...record, verificationStatus: 'Complete' }
    assert.deepEqual(await verify({ ...older, userVerificationStatus: null }), confirmed)
    const uncertain = { verificationStatus: null, userVerificationStatus: null }
    for (const changes of [uncertain, { userVerificationStatus: 'Perhaps' }]) {
      const outcome = await verify(changes)
      assert.ok(outcome.kind === 'unknown' && outcome.reason === 'unrecognized')
    }
  })

  it('is never executed if bKash names another amount or another payment', async (t) => {
    const record = { ...readFixture('status-initiated'), userVerificationStatus: 'Complete' }
    for (const changes of [
      { amount: '13' },
      { currency: 'USD' },
      { merchantInvoice: 'x' },
      { paymentID: 'x' },
    ]) {
      const { gateway } = await replay(t, { http: 200, body: { ...record, ...changes } })
      const attempt = makeAttempt({ amount: money(1_200n, 'BDT'), key: KEY })
      assert.equal((await gateway.verify(attempt, PAYMENT_ID)).kind, 'unknown')
    }
  })

  it('has ended if it was not executed within a day, confirmed or not', async (t) => {
    const hours = (count: number) => addMs(systemClock.now(), -count * 3_600_000)
    for (const userVerificationStatus of ['Complete', 'Incomplete']) {
      const body = { ...readFixture('status-initiated'), userVerificationStatus }
      const { gateway } = await replay(t, { http: 200, body })
      const verify = (startedAt: Date) =>
        gateway.verify(makeAttempt({ amount: money(1_200n, 'BDT'), key: KEY, startedAt }), PAYMENT_ID)
      assert.equal((await verify(hours(24))).kind, 'pending')
      const ended = await verify(hours(25))
      assert.equal(ended.kind === 'declined' && ended.code, 'customer_timeout')
    }
  })

  it('is not found without the id of bKash, and no request is made', async (t) => {
    const { gateway, provider } = await startBkash(t)
    const outcome = await gateway.verify(makeAttempt(), null)
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_found')
    assert.deepEqual(provider.server.requests, [])
  })
})

describe('an execution at bKash', () => {
  it('succeeds with the documented response: amount, invoice, transaction and time', async (t) => {
    const { gateway, server } = await replay(t, { http: 200, body: readFixture('executed') })
    const outcome = await gateway.complete?.(makeAttempt({ key: KEY }), PAYMENT_ID)
    assert.deepEqual(outcome, {
      kind: 'succeeded',
      gatewayReference: PAYMENT_ID,
      receiptNumber: '6H6201QDIY',
      paid: money(1_200n, 'BDT'),
      key: KEY,
      savedMethod: null,
      paidAt: new Date('2019-08-06T06:22:41.428Z'),
    })
    const sent = server.requests.at(-1)
    assert.equal(sent?.path, '/v1.2.0-beta/tokenized/checkout/execute')
    assert.deepEqual(JSON.parse(sent?.text ?? ''), { paymentID: PAYMENT_ID })
  })

  it('is declined with the documented codes, if the status query agrees', async (t) => {
    for (const [code, reason] of [
      ['2009', 'wallet_not_found'],
      ['2014', 'authentication_failed'],
      ['2015', 'authentication_failed'],
      ['2023', 'insufficient_funds'],
      ['2037', 'do_not_honor'],
      ['2039', 'provider_unavailable'],
      ['2058', 'wallet_not_found'],
    ] as const) {
      const { provider, attempt, complete } = await confirmNew(t)
      provider.failExecution(attempt.key, code)
      const outcome = await complete()
      assert.deepEqual(outcome.kind === 'declined' && [outcome.code, outcome.refused], [reason, undefined])
      assert.equal(provider.executions(attempt.key), 0)
    }
  })

  it('is paid if the status query says so, whatever the code', async (t) => {
    const { provider, attempt, complete } = await confirmNew(t)
    provider.confuseExecution(attempt.key, '2023')
    assert.equal((await complete()).kind, 'succeeded')
    assert.equal(provider.executions(attempt.key), 1)
  })

  it('is unknown if a decline cannot be confirmed, and never as if it was not sent', async (t) => {
    const { provider, attempt, complete } = await confirmNew(t)
    provider.failExecution(attempt.key, '2023')
    provider.server.injectFault('cut_off', { on: /payment\/status$/ })
    const outcome = await complete()
    assert.equal(outcome.kind === 'unknown' && outcome.reason, 'no_answer')
  })

  it('is unknown with every other code and with an empty body: they allow no second execution', async (t) => {
    for (const code of [
      '2003',
      '2020',
      '2024',
      '2029',
      '2056',
      '2060',
      '2062',
      '2068',
      '2117',
      '503',
      '9999',
    ]) {
      const { provider, attempt, complete } = await confirmNew(t)
      provider.failExecution(attempt.key, code)
      const outcome = await complete()
      assert.equal(outcome.kind === 'unknown' && outcome.reason, 'no_answer', code)
    }
    const { gateway } = await replay(t, { http: 200 })
    const outcome = await gateway.complete?.(makeAttempt(), PAYMENT_ID)
    assert.equal(outcome?.kind === 'unknown' && outcome.reason, 'unreadable')
  })

  it('is executed once by two calls, and the second is unknown', async (t) => {
    const { provider, gateway, attempt, reference, complete } = await confirmNew(t)
    assert.equal((await complete()).kind, 'succeeded')
    assert.equal((await complete()).kind, 'unknown')
    assert.equal((await gateway.verify(attempt, reference)).kind, 'succeeded')
    assert.equal(provider.executions(attempt.key), 1)
  })
})

describe('the tokens of bKash', () => {
  it('two are requested within an hour, and no more, however many connections and rejections there are', async (t) => {
    const provider = await startFakeBkash(t)
    let ageMs = 0
    const store = createMemoryTokenStore({ ...systemClock, now: () => addMs(systemClock.now(), ageMs) })
    const rejectTokens = () => {
      ageMs += 20 * 60_000
      provider.rejectTokens?.()
    }
    const open = () => openOn(t, provider.server.url, { tokens: openMemoryTokens({}, store) })
    const start = (gateway = open()) =>
      gateway.startCheckout(makeAttempt(), { channel: 'mobile_money' }, RETURN_URL)
    for (const { kind } of await Promise.all(Array.from({ length: 20 }, () => start())))
      assert.equal(kind, 'started')
    assert.equal(provider.grants(), 1)
    rejectTokens()
    assert.equal((await start()).kind, 'started')
    assert.equal(provider.grants(), 2)
    rejectTokens()
    const outcome = await start()
    assert.equal(outcome.kind === 'unknown' && outcome.reason, 'not_sent')
    assert.equal(provider.grants(), 2)
    ageMs += 21 * 60_000
    assert.equal((await start()).kind, 'started')
    assert.equal(provider.grants(), 3)
  })
})

describe('a refund at bKash', () => {
  const request: RefundRequest = {
    key: '0d7e6f0a-2f6c-4a0e-9a63-5b8a9c1c2d3e',
    attemptKey: KEY,
    attemptReference: PAYMENT_ID,
    amount: money(20_000n, 'BDT'),
    isFull: false,
    receiptNumber: '6H6201QDIY',
  }

  it('names payment, transaction, amount and our key', async (t) => {
    const body = { refundTrxId: 'DIK60PG0ZZ', refundTransactionStatus: 'Completed', refundAmount: '200.00' }
    const { gateway, server } = await replay(t, { http: 200, body })
    assert.deepEqual(await gateway.refund?.(request), { kind: 'succeeded', gatewayReference: 'DIK60PG0ZZ' })
    const sent = server.requests.at(-1)
    assert.equal(sent?.path, '/v2/tokenized-checkout/refund/payment/transaction')
    assert.deepEqual(JSON.parse(sent?.text ?? ''), {
      paymentId: PAYMENT_ID,
      trxId: '6H6201QDIY',
      refundAmount: '200.00',
      sku: request.key,
      reason: 'Refund',
    })
  })

  it('is found in the documented list: by its id, or as the one that is none of the others', async (t) => {
    const { gateway, server } = await replay(t, { http: 200, body: readFixture('refund-list') })
    const verify = async (changes: Partial<RefundRequest>, reference: string | null = null) =>
      (await gateway.verifyRefund?.({ ...request, ...changes }, reference))?.kind
    assert.equal(await verify({}, 'DIK60PG0ZZ'), 'succeeded')
    assert.deepEqual(JSON.parse(server.requests.at(-1)?.text ?? ''), {
      paymentId: PAYMENT_ID,
      trxId: '6H6201QDIY',
    })
    assert.equal(await verify({ otherReferences: ['DIK50PG0VX'] }), 'succeeded')
    assert.equal(await verify({ otherReferences: ['DIK60PG0ZZ'] }), 'unknown')
    assert.equal(await verify({ amount: money(100_050n, 'BDT') }), 'succeeded')
    assert.equal(await verify({ amount: money(100_051n, 'BDT') }), 'unknown')
    assert.equal(await verify({}, 'DIK50PG0VX'), 'unknown')
  })

  it('is recognized by our key where the list has it', async (t) => {
    const list = readFixture('refund-list')
    const skus = [request.key, 'another']
    for (const [index, kind] of [
      [1, 'succeeded'],
      [0, 'unknown'],
    ] as const) {
      const refundTransactions = list.refundTransactions.map((one: object, at: number) => ({
        ...one,
        sku: skus[at === index ? 0 : 1],
      }))
      const { gateway } = await replay(t, { http: 200, body: { ...list, refundTransactions } })
      assert.equal((await gateway.verifyRefund?.(request, null))?.kind, kind)
    }
  })

  it('fails with the documented codes, and is unknown with any other', async (t) => {
    for (const [externalCode, kind] of [
      ['2071', 'failed'],
      ['2072', 'failed'],
      ['2074', 'failed'],
      ['2127', 'failed'],
      ['2023', 'failed'],
      ['2029', 'unknown'],
      ['2020', 'unknown'],
    ] as const) {
      const body = { internalCode: 'x', externalCode, errorMessageEn: 'No.', errorMessageBn: null }
      const { gateway } = await replay(t, { http: 400, body })
      assert.equal((await gateway.refund?.(request))?.kind, kind, externalCode)
    }
  })

  it('is listed with those that were made in the portal', async (t) => {
    const list = readFixture('refund-list')
    const [first, ...others] = list.refundTransactions
    const refundTransactions = [{ ...first, sku: request.key }, ...others]
    const { gateway, server } = await replay(t, { http: 200, body: { ...list, refundTransactions } })
    const listed = await gateway.listRefunds?.({
      ...{ kind: 'payment', attemptKey: KEY, attemptReference: PAYMENT_ID, receiptNumber: '6H6201QDIY' },
      ...{ currency: 'BDT', refunded: money(0n, 'BDT') },
    })
    assert.deepEqual(JSON.parse(server.requests.at(-1)?.text ?? ''), {
      paymentId: PAYMENT_ID,
      trxId: '6H6201QDIY',
    })
    assert.ok(listed?.kind === 'refunds', inspect(listed))
    assert.deepEqual(
      listed.refunds.map(({ reference, key, amount, status }) => [reference, key, amount?.minor, status]),
      [
        ['DIK50PG0VX', request.key, 100_050n, 'succeeded'],
        ['DIK60PG0ZZ', null, 20_000n, 'succeeded'],
      ],
    )
  })

  it('is not sent without the transaction of the payment', async (t) => {
    const { gateway, provider } = await startBkash(t)
    const { receiptNumber: _, ...unnamed } = request
    const outcomes = [await gateway.refund?.(unnamed), await gateway.verifyRefund?.(unnamed, null)]
    for (const outcome of outcomes) assert.equal(outcome?.kind === 'unknown' && outcome.reason, 'not_sent')
    assert.deepEqual(provider.server.requests, [])
  })
})
