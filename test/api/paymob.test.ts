// Paymob behind the whole service: signed callbacks at secret paths, cards that are reported by callback, charges in two calls,
// refunds without a key.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Webhook } from '../gateways/conformance.ts'
import { CARD_TOKEN, CREDENTIALS, startFakePaymob } from '../gateways/paymob/fake.ts'
import { CUSTOMER, chargeBody } from '../support/builders.ts'
import {
  attemptOf,
  deliver,
  fileContext,
  postponePolls,
  readPayment,
  startPaying,
} from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const paymob = await startFakePaymob(fileContext({ after }))
const service = await testService({ after }, { env: { GATEWAY_PAYMOB_BASE_URL: paymob.server.url } })
const { db } = service

const TERMS = { amount: 1_250.5, currency: 'EGP', country: 'EG' }
const FORM = 'channel=card&consent=notice&language=en&card_phone=010+1234+5678'
const WAIT_MS = 15_000

/** What these tests read of a payment, a charge or a refund. */
interface Facts {
  status: string
  receiptNumber?: string
  paymentMethod?: { card: { brand: string; last4: string; expiryMonth: null }; recurringToken: string } | null
}

interface CaseFacts {
  kind: string
  providerMessage: string
}

const isSuccessful = ({ status }: Facts) => status === 'successful'

function saveAccount(merchantUuid: string, credentials: object) {
  return service.admin.send('PUT', `/admin/v1/merchants/${merchantUuid}/gateways/paymob`, {
    body: JSON.stringify({ credentials }),
    headers: { 'content-type': 'application/json' },
  })
}

async function newMerchant() {
  const merchant = await service.newMerchant()
  const saved = await saveAccount(merchant.uuid, CREDENTIALS)
  assert.equal(saved.body.data?.probe, 'works', saved.text)
  return merchant
}

type Merchant = Awaited<ReturnType<typeof newMerchant>>

function call({ api }: Merchant, webhook: Webhook | undefined) {
  assert.ok(webhook?.url)
  const { pathname } = new URL(webhook.url)
  return deliver(api, `${pathname}?hmac=${webhook.query?.hmac}`, webhook)
}

/** A checkout that was paid with a card, as a callback says. */
async function payNew() {
  const merchant = await newMerchant()
  const { uuid, gateway } = await startPaying(merchant.api, TERMS, FORM)
  assert.equal(gateway, 'paymob')
  await postponePolls(db, uuid)
  const { key } = await attemptOf(db, uuid)
  await paymob.finish(key, { kind: 'pays' })
  assert.equal((await call(merchant, await paymob.webhook(key))).http, 200)
  const payment = await eventually(() => readPayment(merchant.api, uuid), isSuccessful, WAIT_MS)
  return { merchant, uuid, key, payment }
}

describe('an account at paymob', () => {
  it('is not saved without an integration that collects', async () => {
    const { uuid } = await service.newMerchant()
    const { secretKey, publicKey, apiKey, motoIntegration, kioskIntegration } = CREDENTIALS
    const keys = { secretKey, publicKey, apiKey }
    const rejected = await saveAccount(uuid, { ...keys, motoIntegration })
    assert.equal(rejected.http, 400, rejected.text)
    const [issue, ...others] = rejected.body.error.details
    assert.deepEqual([issue.field, issue.code, others], ['credentials.cardIntegration', 'required', []])
    assert.match(issue.message, /walletIntegration, kioskIntegration/)
    assert.equal((await saveAccount(uuid, { ...keys, kioskIntegration })).body.data?.probe, 'works')
  })
})

describe('a payment at paymob', () => {
  it('saves the card that a later callback reports, encrypted, and charges it once', async () => {
    const { merchant, uuid, key, payment } = await payNew()
    assert.equal(payment.receiptNumber, String(paymob.orderOf(key).transactions[0]?.id))
    assert.equal(payment.paymentMethod, null)
    assert.equal((await call(merchant, await paymob.savedMethodWebhook?.(key))).http, 200)
    const saved = await eventually(
      () => readPayment(merchant.api, uuid),
      ({ paymentMethod }: Facts) => paymentMethod !== null,
      WAIT_MS,
    )
    assert.ok(saved.paymentMethod)
    const { card, recurringToken } = saved.paymentMethod
    assert.deepEqual([card.brand, card.last4, card.expiryMonth], ['MasterCard', '2346', null])
    assert.ok(!(await storedReport(key)).includes(CARD_TOKEN))

    const { country: _country, ...terms } = TERMS
    const charge = async () => {
      const made = await merchant.api.post('/api/v1/charges/recurring', chargeBody(recurringToken, terms))
      assert.ok(made.body.data?.uuid, made.text)
      const read = async () => (await merchant.api.get(`/api/v1/charges/${made.body.data.uuid}`)).body.data
      await eventually(read, isSuccessful, WAIT_MS)
      return paymob.executions((await attemptOf(db, made.body.data.uuid)).key)
    }
    assert.equal(await charge(), 1)
    paymob.server.injectFault('cut_off_after_acting', { on: /payments\/pay$/, times: 1 })
    assert.equal(await charge(), 1, 'after a lost response it is only queried')
    const phones = paymob.server.requests
      .filter(({ path }) => path === '/v1/intention/')
      .map(({ text }) => JSON.parse(text).billing_data.phone_number)
    assert.deepEqual([...new Set(phones)], ['+201012345678'], 'a charge has the number of the checkout')
  })

  it('asks for the number that Paymob wants, unless the merchant has sent it', async () => {
    const { api } = await newMerchant()
    const asked = await startPaying(api, TERMS, 'channel=mobile_money&mobile_money_phone=010')
    const problem = new URL(asked.pressed.headers.get('location') ?? '', 'https://pay.example').search
    assert.match(problem, /problem=phone&reason=too_short/)
    const page = (await api.get(`${asked.page}${problem}`)).text
    for (const field of ['card_phone', 'mobile_money_phone'])
      assert.match(
        page,
        new RegExp(`<label for="${field}">[^]*<input type="tel" id="${field}" name="${field}"`),
      )
    assert.match(page, /href="#mobile_money_phone"/)
    assert.match(page, /id="mobile_money_phone-problem"/)
    assert.doesNotMatch(page, /id="card_phone-problem"/)

    const known = { ...TERMS, customer: { ...CUSTOMER, phone: '+201112345678' } }
    const { uuid, page: path, pressed } = await startPaying(api, known)
    assert.match(pressed.headers.get('location') ?? '', /continue/)
    assert.doesNotMatch((await api.get(path)).text, /type="tel"/)
    const { key } = await attemptOf(db, uuid)
    const sent = paymob.server.requests.find(({ text }) => text.includes(key))
    assert.equal(JSON.parse(sent?.text ?? '{}').billing_data?.phone_number, '+201112345678')
  })

  it('is refunded in parts, also if the response to one of them is lost', async () => {
    const { merchant, uuid, key } = await payNew()
    const refund = async (refundReference: string) => {
      const body = { paymentUuid: uuid, amount: 100, refundReference }
      const made = await merchant.api.post('/api/v1/refunds', body)
      assert.ok(made.body.data?.uuid, made.text)
      const read = async () => (await merchant.api.get(`/api/v1/refunds/${made.body.data.uuid}`)).body.data
      await eventually(read, isSuccessful, WAIT_MS)
    }
    await refund('part-1')
    paymob.server.injectFault('cut_off_after_acting', { on: /void_refund\/refund$/, times: 1 })
    await refund('part-2')
    await refund('part-3')
    assert.deepEqual(await paymob.refunds?.(key), [10_000n, 10_000n, 10_000n])
    assert.equal((await readPayment(merchant.api, uuid)).status, 'partially_refunded')
  })

  it('has a case if it was refunded in the dashboard, and then a refund here fails', async () => {
    const { merchant, uuid, key } = await payNew()
    assert.equal((await call(merchant, paymob.refundInPaymob(key, 5_000))).http, 200)
    const readCases = async () => (await merchant.api.get('/api/v1/cases')).body.data
    const [found] = await eventually(readCases, (cases: CaseFacts[]) => cases.length > 0, WAIT_MS)
    assert.equal(found?.kind, 'refund_not_booked')
    assert.match(found.providerMessage, /50\.00 EGP/)
    const made = await merchant.api.post('/api/v1/refunds', {
      ...{ paymentUuid: uuid, amount: 50, refundReference: 'same-amount' },
    })
    const read = async () => (await merchant.api.get(`/api/v1/refunds/${made.body.data?.uuid}`)).body.data
    await eventually(read, ({ status }: Facts) => status === 'failed', WAIT_MS)
    assert.deepEqual(await paymob.refunds?.(key), [5_000n])
    assert.equal((await readPayment(merchant.api, uuid)).status, 'successful')
  })
})

const selectReport = sql<{ report: string | null }>`
select report
from attempts
where gateway_key = $1`

async function storedReport(key: string): Promise<string> {
  const [attempt] = await db.query(selectReport, [key])
  assert.ok(attempt?.report)
  return attempt.report
}
