// M-Pesa by Daraja behind the whole service: prompts without a key, callbacks without a signature.

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, describe, it } from 'node:test'
import type { Webhook } from '../gateways/conformance.ts'
import { CREDENTIALS, startFakeDaraja } from '../gateways/daraja/fake.ts'
import { initiateBody } from '../support/builders.ts'
import { attemptOf, deliver, fileContext, postponePolls, readPayment } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const fakeDaraja = await startFakeDaraja(fileContext({ after }))
const service = await testService({ after }, { env: { GATEWAY_DARAJA_BASE_URL: fakeDaraja.server.url } })
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
