// Mobile money behind the whole service. With prompts on the phone, at providers that sign no callbacks: M-Pesa by Daraja,
// which takes no key, and MTN MoMo, where a payer who agrees is charged again. With a page and a completing call: bKash.
// With a page for the other wallets and cards, from which the payer comes back with a form: SSLCommerz.

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { maskPhone } from '../../src/kit/phone.ts'
import { LOCALES } from '../../src/pages/locales.ts'
import { CREDENTIALS as BKASH, startFakeBkash } from '../gateways/bkash/fake.ts'
import { PUBLIC_URL, type Webhook } from '../gateways/conformance.ts'
import { CREDENTIALS, startFakeDaraja } from '../gateways/daraja/fake.ts'
import { CREDENTIALS as momo, SANDBOX_MARKET, startFakeMomo } from '../gateways/mtn-momo/fake.ts'
import { STORE, startFakeSslcommerz } from '../gateways/sslcommerz/fake.ts'
import type { Api } from '../support/api.ts'
import { chargeBody, initiateBody } from '../support/builders.ts'
import {
  attemptOf,
  deliver,
  fileContext,
  postponePolls,
  readPayment,
  startPaying,
} from '../support/gateways.ts'
import { createPayer, mainTextOf } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const fakeDaraja = await startFakeDaraja(fileContext({ after }))
const fakeBkash = await startFakeBkash(fileContext({ after }))
const fakeSslcommerz = await startFakeSslcommerz(fileContext({ after }))
const fakeMomo = await startFakeMomo(fileContext({ after }), SANDBOX_MARKET)
const MOMO = {
  GATEWAY_MTN_MOMO_TARGET_ENVIRONMENT: SANDBOX_MARKET.environment,
  GATEWAY_MTN_MOMO_SUBSCRIPTION_KEY: momo.subscriptionKey,
  GATEWAY_MTN_MOMO_API_USER: momo.apiUser,
  GATEWAY_MTN_MOMO_API_KEY: momo.apiKey,
  GATEWAY_MTN_MOMO_DISBURSEMENT_SUBSCRIPTION_KEY: momo.disbursementSubscriptionKey,
  GATEWAY_MTN_MOMO_PREAPPROVAL_SECONDS: '31536000',
  GATEWAY_MTN_MOMO_BASE_URL: fakeMomo.server.url,
}
const env = {
  ...MOMO,
  GATEWAY_BKASH_APP_KEY: BKASH.appKey,
  GATEWAY_BKASH_APP_SECRET: BKASH.appSecret,
  GATEWAY_BKASH_USERNAME: BKASH.username,
  GATEWAY_BKASH_PASSWORD: BKASH.password,
  GATEWAY_BKASH_BASE_URL: fakeBkash.server.url,
  GATEWAY_DARAJA_BASE_URL: fakeDaraja.server.url,
  GATEWAY_SSLCOMMERZ_BASE_URL: fakeSslcommerz.server.url,
  // MTN sends callbacks only to such an address.
  COWRY_PUBLIC_URL: PUBLIC_URL,
}
const service = await testService({ after }, { env })
const { db } = service

const isSuccessful = ({ status }: { status: string; receiptNumber?: string }) => status === 'successful'

describe('a payment by M-Pesa at daraja', () => {
  const PUSH = /stkpush\/v1/
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

  /** A prompt was sent, and the answer of Daraja was lost. */
  const losePrompt = async () => {
    const merchant = await service.newMerchant()
    const saved = await service.admin.send('PUT', `/admin/v1/merchants/${merchant.uuid}/gateways/daraja`, {
      body: JSON.stringify({ credentials: CREDENTIALS }),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(saved.body.data?.probe, 'works', saved.text)
    const terms = initiateBody({ amount: 1_500, currency: 'KES', country: 'KE' })
    const made = await merchant.api.post('/api/v1/checkout/initiate-payment', terms)
    const { uuid, checkoutUrl, paymentGateway } = made.body.data
    assert.equal(paymentGateway, 'daraja')
    fakeDaraja.server.injectFault('cut_off_after_acting', { on: PUSH, times: 1 })
    const form = `channel=mobile_money&phone=%2B2547${randomInt(10_000_000, 99_999_999)}&network=mpesa_ke`
    const page = new URL(checkoutUrl).pathname
    await merchant.api.postText(`${page}/attempts`, form, FORM)
    const { key } = await attemptOf(db, uuid)
    assert.equal((await readPayment(merchant.api, uuid)).status, 'processing')
    return { merchant, uuid: String(uuid), key }
  }

  const call = (api: Parameters<typeof deliver>[0], webhook: Webhook | null) => {
    assert.ok(webhook?.url)
    return deliver(api, new URL(webhook.url).pathname, webhook)
  }

  it('is found by its callback if the answer was lost, and reversed by its receipt number', async () => {
    const { merchant, uuid, key } = await losePrompt()
    await postponePolls(db, uuid)
    await fakeDaraja.finish(key, { kind: 'pays' })
    const answer = await call(merchant.api, await fakeDaraja.webhook(key))
    assert.deepEqual([answer.http, answer.body], [200, { ResultCode: 0, ResultDesc: 'Accepted' }])
    const payment = await eventually(() => readPayment(merchant.api, uuid), isSuccessful, 15_000)
    const [prompt, ...others] = fakeDaraja.prompts(key)
    assert.deepEqual([payment.receiptNumber, others.length], [prompt?.receipt, 0])

    const refund = await merchant.api.post('/api/v1/refunds', {
      paymentUuid: uuid,
      amount: 500,
      refundReference: 'part-1',
    })
    assert.equal(refund.body.data?.status, 'pending', refund.text)
    const result = fakeDaraja.refundWebhook(refund.body.data.gatewayKey)
    assert.equal((await call(merchant.api, result)).http, 200)
    const read = async () => (await merchant.api.get(`/api/v1/refunds/${refund.body.data.uuid}`)).body.data
    await eventually(read, isSuccessful, 15_000)
    assert.deepEqual(await fakeDaraja.refunds?.(key), [50_000n])
  })

  it('is found in the list of payments if the answer and the callback were lost, and prompted once', async () => {
    const { merchant, uuid, key } = await losePrompt()
    await fakeDaraja.finish(key, { kind: 'pays' })
    const payment = await eventually(() => readPayment(merchant.api, uuid), isSuccessful, 30_000)
    const prompts = fakeDaraja.prompts(key)
    assert.deepEqual([prompts.length, prompts[0]?.receipt], [1, payment.receiptNumber])
  })
})

const MOMO_TERMS = { amount: 12.5, currency: 'EUR', country: 'DE' }
const WITHIN_MS = 30_000

let numbers = 46_733_100_000

/** A payer who has entered a number on our page, and sees that the phone asks. */
async function startPrompt(changes: object = {}, fields: Record<string, string> = {}) {
  const { api } = await service.newMerchant()
  const payer = createPayer()
  const made = await api.post(
    '/api/v1/checkout/initiate-payment',
    initiateBody({ ...MOMO_TERMS, ...changes }),
  )
  assert.equal(made.http, 201, made.text)
  const { uuid, checkoutUrl } = made.body.data
  const page = await payer.open(checkoutUrl.replace(PUBLIC_URL, service.url))
  numbers += 1
  const phone = `+${numbers}`
  const shown = await payer.submit(page, '/attempts', { channel: 'mobile_money', phone, ...fields })
  assert.ok(mainTextOf(shown).includes(LOCALES.en.messages.promptTitle), mainTextOf(shown))
  const { key, gateway } = await attemptOf(db, uuid)
  assert.equal(gateway, 'mtn_momo')
  return { api, payer, page, shown, uuid, key, phone }
}

const paymentWith = (api: Api, uuid: string, status: string) =>
  eventually(
    () => readPayment(api, uuid),
    (payment) => payment.status === status,
    WITHIN_MS,
  )

describe('a payment through MTN MoMo', { concurrency: true }, () => {
  it('is asked for on our page, approved on the phone, and refunded', async () => {
    const { api, page, uuid, key } = await startPrompt()
    assert.ok(!/numberConsent/.test(page.html), 'a number is saved only if it is needed')
    // A status check that runs already may still find that it is paid.
    await postponePolls(db, uuid)
    await fakeMomo.finish(key, { kind: 'pays' })
    // Once by PUT to the secret address of the request; a forged one is refused.
    const { url = '', body, headers } = await fakeMomo.webhook(key)
    const { pathname } = new URL(url)
    const send = (path: string) => api.send('PUT', path, { headers, body: new Uint8Array(body) })
    assert.equal((await send(pathname.replace(/.{32}$/, '0'.repeat(32)))).http, 401)
    assert.equal((await send(pathname)).http, 200)
    const paid = await paymentWith(api, uuid, 'successful')
    assert.deepEqual([Number(paid.amountPaid), paid.paymentMethod], [12.5, null])
    const refund = await api.post('/api/v1/refunds', { uuid })
    assert.ok(refund.http < 300, refund.text)
    await paymentWith(api, uuid, 'refunded')
    assert.deepEqual([fakeMomo.executions(key), await fakeMomo.refunds?.(key)], [1, [1_250n]])
  })

  it('stays open after a decline, which the page explains', async () => {
    const { payer, uuid, key, shown } = await startPrompt()
    await fakeMomo.finish(key, { kind: 'declines', how: 'NOT_ENOUGH_FUNDS' })
    const [url = ''] = shown.url.split('?')
    const page = await eventually(
      () => payer.open(url),
      (one) => one.html.includes('action="') && !mainTextOf(one).includes(LOCALES.en.messages.promptTitle),
      WITHIN_MS,
    )
    assert.match(mainTextOf(page), /not enough money/i)
    const { status } = await attemptOf(db, uuid)
    assert.equal(status, 'declined')
  })
})

describe('a recurring payment through MTN MoMo', { concurrency: true }, () => {
  it('is completed when the payer has approved, and its number is charged again', async () => {
    const { api, page, uuid, key, phone } = await startPrompt({ isRecurring: true })
    assert.match(mainTextOf(page), /asks to charge this number again later/)
    assert.equal(fakeMomo.executions(key), 0)
    await fakeMomo.confirm?.(key)
    const paid = await paymentWith(api, uuid, 'successful')
    const { recurringToken, type, mobileMoney, consent } = paid.paymentMethod
    assert.deepEqual([type, mobileMoney], ['mobile_money', { network: 'MTN MoMo', phone: maskPhone(phone) }])
    assert.deepEqual([consent.form, consent.wordingVersion], ['notice', '2'])
    const { amount, currency } = MOMO_TERMS
    const charged = await api.post(
      '/api/v1/charges/recurring',
      chargeBody(recurringToken, { amount, currency }),
    )
    assert.ok(['processing', 'successful'].includes(charged.body.data?.status), charged.text)
    await eventually(
      () => api.get(`/api/v1/charges/${charged.body.data.uuid}`),
      ({ body }) => body.data?.status === 'successful',
      WITHIN_MS,
    )
    const { key: chargeKey } = await attemptOf(db, charged.body.data.uuid)
    assert.deepEqual([fakeMomo.executions(key), fakeMomo.executions(chargeKey)], [1, 1])
  })

  it('fails if the payer rejects to be charged again, and takes nothing', async () => {
    const { uuid, key } = await startPrompt({ isRecurring: true })
    await fakeMomo.finish(key, { kind: 'declines', how: 'REJECTED' })
    await eventually(
      () => attemptOf(db, uuid),
      ({ status }) => status === 'declined',
      WITHIN_MS,
    )
    assert.equal(fakeMomo.executions(key), 0)
  })
})

describe('a payment at bkash', () => {
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  const EXECUTE = /^POST .*\/execute$/
  const REFUND = /^POST .*\/refund\/payment\/transaction$/
  const TERMS = { amount: 1_250.5, currency: 'BDT', country: 'BD' }

  /** A payer who was sent to the page of bKash. */
  const start = async () => {
    const { api } = await service.newMerchant()
    const { uuid, page, gateway } = await startPaying(api, TERMS, 'channel=mobile_money')
    const { key } = await attemptOf(db, uuid)
    assert.equal(gateway, 'bkash')
    const comeBack = () =>
      service.apiWith(undefined).get(`${page}/return?paymentID=TR0011&status=success&signature=cm8H`)
    return { api, uuid, key, page, comeBack }
  }
  /** A payer who has confirmed there. */
  const confirm = async () => {
    const started = await start()
    await fakeBkash.confirm?.(started.key)
    return started
  }
  const executions = (key: string) => fakeBkash.executions(key)
  /** How often we called. */
  const executeCalls = () => fakeBkash.server.requests.filter(({ path }) => path.endsWith('/execute')).length

  it('is executed once when the payer returns, in several tabs at the same time', async () => {
    const { api, uuid, key, comeBack } = await confirm()
    await Promise.all([comeBack(), comeBack(), comeBack()])
    const payment = await paymentWith(api, uuid, 'successful')
    assert.deepEqual([payment.amountPaid, executions(key)], ['1250.50', 1])
    assert.match(payment.receiptNumber, /^[0-9A-F]{10}$/)
  })

  it('can be started again at once if the address of its page was lost', async () => {
    fakeBkash.server.injectFault('cut_off_after_acting', { on: /^POST .*\/create$/, times: 1 })
    const { api, uuid, key, page, comeBack } = await start()
    assert.equal((await attemptOf(db, uuid)).status, 'declined')
    await service.apiWith(undefined).postText(`${page}/attempts`, 'channel=mobile_money', FORM)
    const second = await attemptOf(db, uuid)
    await fakeBkash.confirm?.(second.key)
    await comeBack()
    await paymentWith(api, uuid, 'successful')
    assert.deepEqual([executions(key), executions(second.key)], [0, 1])
  })

  it('is executed once if the payer never returns', async () => {
    const { api, uuid, key } = await confirm()
    await paymentWith(api, uuid, 'successful')
    assert.equal(executions(key), 1)
  })

  it('is not executed again if the response was lost, before or after bKash acted', async () => {
    for (const fault of ['cut_off', 'cut_off_after_acting'] as const) {
      fakeBkash.server.injectFault(fault, { on: EXECUTE })
      const { api, uuid, key, comeBack } = await confirm()
      await postponePolls(db, uuid)
      const before = executeCalls()
      await comeBack()
      fakeBkash.server.clearFaults()
      await comeBack()
      const ask = async () => (await api.get(`/api/v1/checkout/verify-payment?uuid=${uuid}`)).body.data
      if (fault === 'cut_off_after_acting') await eventually(ask, isSuccessful, WITHIN_MS)
      assert.deepEqual([executions(key), executeCalls() - before], [fault === 'cut_off' ? 0 : 1, 1])
    }
  })

  it('is not executed after the payer has cancelled our checkout', async () => {
    const { api, uuid, key, page, comeBack } = await start()
    const payer = service.apiWith(undefined)
    await payer.postText(`${page}/cancel`, '', FORM)
    await fakeBkash.confirm?.(key)
    await comeBack()
    assert.notEqual((await readPayment(api, uuid)).status, 'successful')
    assert.equal(executions(key), 0)
  })

  it('can be paid again after the wallet had too little money', async () => {
    const { api, uuid, key, page, comeBack } = await confirm()
    await postponePolls(db, uuid)
    fakeBkash.failExecution(key, '2023')
    await comeBack()
    const { status } = await attemptOf(db, uuid)
    assert.equal(status, 'declined')
    await service.apiWith(undefined).postText(`${page}/attempts`, 'channel=mobile_money', FORM)
    const second = await attemptOf(db, uuid)
    assert.notEqual(second.key, key)
    await fakeBkash.confirm?.(second.key)
    await comeBack()
    await paymentWith(api, uuid, 'successful')
    assert.deepEqual([executions(key), executions(second.key)], [0, 1])
  })

  it('two refunds of the same amount are both executed once, although both responses are lost', async () => {
    const { api, uuid, key, comeBack } = await confirm()
    await comeBack()
    await paymentWith(api, uuid, 'successful')
    fakeBkash.server.injectFault('cut_off_after_acting', { on: REFUND, times: 2 })
    for (const refundReference of ['one', 'two']) {
      const made = await api.post('/api/v1/refunds', { paymentUuid: uuid, amount: 100, refundReference })
      assert.equal(made.http, 201, made.text)
      const read = async () => (await api.get(`/api/v1/refunds/${made.body.data.uuid}`)).body.data
      await eventually(read, isSuccessful, WITHIN_MS)
    }
    assert.deepEqual(await fakeBkash.refunds?.(key), [10_000n, 10_000n])
  })
})

describe('a payment at sslcommerz', () => {
  const TERMS = { amount: 1_250.5, currency: 'BDT', country: 'BD' }

  /** A merchant with an account there, beside bKash of the instance. */
  const newMerchant = async () => {
    const merchant = await service.newMerchant()
    const saved = await service.admin.send(
      'PUT',
      `/admin/v1/merchants/${merchant.uuid}/gateways/sslcommerz`,
      { body: JSON.stringify({ credentials: STORE }), headers: { 'content-type': 'application/json' } },
    )
    assert.equal(saved.body.data?.probe, 'works', saved.text)
    return merchant
  }
  /** A payer who has paid on the page, and whose payment is not polled now. */
  const pay = async (form = 'channel=card') => {
    const { api } = await newMerchant()
    const { uuid, page } = await startPaying(api, TERMS, form)
    await postponePolls(db, uuid)
    const { key, gateway } = await attemptOf(db, uuid)
    assert.equal(gateway, 'sslcommerz')
    await fakeSslcommerz.finish(key, { kind: 'pays' })
    return { api, uuid, page, key }
  }

  it('is not one of bKash, whose payers go to bKash itself', async () => {
    const { api } = await newMerchant()
    const { uuid } = await startPaying(api, TERMS, 'channel=mobile_money&network=bkash_bd')
    assert.equal((await attemptOf(db, uuid)).gateway, 'bkash')
  })

  it('is successful when a payer of Nagad comes back with a form, of which nothing is read', async () => {
    const { api, uuid, page } = await pay('channel=mobile_money&network=nagad_bd')
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'null' }
    const back = await service
      .apiWith(undefined)
      .postText(`${page}/return`, 'status=FAILED&tran_id=another', headers)
    assert.equal(back.http, 303, back.text)
    const payment = await paymentWith(api, uuid, 'successful')
    assert.deepEqual([payment.amountPaid, payment.fee], ['1250.50', '31.26'])
  })

  it('is successful after the notification to its secret address, and is refunded in part', async () => {
    const { api, uuid, key } = await pay()
    const webhook = await fakeSslcommerz.webhook(key)
    const { pathname } = new URL(webhook.url ?? '')
    assert.equal((await deliver(api, pathname, webhook)).http, 200)
    await paymentWith(api, uuid, 'successful')
    const refund = { paymentUuid: uuid, amount: 100, refundReference: 'part-1' }
    const made = await api.post('/api/v1/refunds', refund)
    assert.ok(made.body.data?.uuid, made.text)
    const read = async () => (await api.get(`/api/v1/refunds/${made.body.data.uuid}`)).body.data
    await eventually(read, isSuccessful, WITHIN_MS)
    assert.deepEqual(await fakeSslcommerz.refunds?.(key), [10_000n])
  })
})
