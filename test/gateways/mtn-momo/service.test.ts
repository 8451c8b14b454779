// MTN MoMo behind the whole service: our page asks for the number, a prompt appears on the phone, and a payer who agrees is
// charged again.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { LANGUAGES } from '../../../src/pages/locales.ts'
import type { Api } from '../../support/api.ts'
import { chargeBody, initiateBody } from '../../support/builders.ts'
import { attemptOf, fileContext, postponePolls, readPayment } from '../../support/gateways.ts'
import { createPayer, mainTextOf } from '../../support/payer.ts'
import { eventually } from '../../support/process.ts'
import { testService } from '../../support/service.ts'
import { PUBLIC_URL } from '../conformance.ts'
import { CREDENTIALS, SANDBOX_MARKET, startFakeMomo } from './fake.ts'

const fake = await startFakeMomo(fileContext({ after }), SANDBOX_MARKET)
const service = await testService(
  { after },
  {
    env: {
      GATEWAY_MTN_MOMO_TARGET_ENVIRONMENT: SANDBOX_MARKET.environment,
      GATEWAY_MTN_MOMO_SUBSCRIPTION_KEY: CREDENTIALS.subscriptionKey,
      GATEWAY_MTN_MOMO_API_USER: CREDENTIALS.apiUser,
      GATEWAY_MTN_MOMO_API_KEY: CREDENTIALS.apiKey,
      GATEWAY_MTN_MOMO_DISBURSEMENT_SUBSCRIPTION_KEY: CREDENTIALS.disbursementSubscriptionKey,
      GATEWAY_MTN_MOMO_PREAPPROVAL_SECONDS: '31536000',
      GATEWAY_MTN_MOMO_BASE_URL: fake.server.url,
      // MTN sends callbacks only to such an address.
      COWRY_PUBLIC_URL: PUBLIC_URL,
    },
  },
)

const TERMS = { amount: 12.5, currency: 'EUR', country: 'DE' }
const WITHIN_MS = 30_000

let numbers = 46_733_100_000

/** A payer who has entered a number on our page, and sees that the phone asks. */
async function startPrompt(changes: object = {}, fields: Record<string, string> = {}) {
  const { api } = await service.newMerchant()
  const payer = createPayer()
  const made = await api.post('/api/v1/checkout/initiate-payment', initiateBody({ ...TERMS, ...changes }))
  assert.equal(made.http, 201, made.text)
  const { uuid, checkoutUrl } = made.body.data
  const page = await payer.open(checkoutUrl.replace(PUBLIC_URL, service.url))
  numbers += 1
  const phone = `+${numbers}`
  const shown = await payer.submit(page, '/attempts', { channel: 'mobile_money', phone, ...fields })
  assert.ok(mainTextOf(shown).includes(LANGUAGES.en.messages.promptTitle), mainTextOf(shown))
  const { key, gateway } = await attemptOf(service.db, uuid)
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
    await postponePolls(service.db, uuid)
    await fake.finish(key, { kind: 'pays' })
    // Once by PUT to the secret address of the request; a forged one is refused.
    const { url = '', body, headers } = await fake.webhook(key)
    const { pathname } = new URL(url)
    const send = (path: string) => api.send('PUT', path, { headers, body: new Uint8Array(body) })
    assert.equal((await send(pathname.replace(/.{32}$/, '0'.repeat(32)))).http, 401)
    assert.equal((await readPayment(api, uuid)).status, 'processing')
    assert.equal((await send(pathname)).http, 200)
    const paid = await paymentWith(api, uuid, 'successful')
    assert.deepEqual([Number(paid.amountPaid), paid.paymentMethod], [12.5, null])
    const refund = await api.post('/api/v1/refunds', { uuid })
    assert.ok(refund.http < 300, refund.text)
    await paymentWith(api, uuid, 'refunded')
    assert.deepEqual([fake.executions(key), await fake.refunds?.(key)], [1, [1_250n]])
  })

  it('stays open after a decline, which the page explains', async () => {
    const { payer, uuid, key, shown } = await startPrompt()
    await fake.finish(key, { kind: 'declines', how: 'NOT_ENOUGH_FUNDS' })
    const [url = ''] = shown.url.split('?')
    const page = await eventually(
      () => payer.open(url),
      (one) => one.html.includes('action="') && !mainTextOf(one).includes(LANGUAGES.en.messages.promptTitle),
      WITHIN_MS,
    )
    assert.match(mainTextOf(page), /not enough money/i)
    const { status } = await attemptOf(service.db, uuid)
    assert.equal(status, 'declined')
  })
})

describe('a recurring payment through MTN MoMo', { concurrency: true }, () => {
  it('is completed when the payer has approved, and its number is charged again', async () => {
    const { api, page, uuid, key, phone } = await startPrompt({ isRecurring: true })
    assert.match(mainTextOf(page), /asks to charge this number again later/)
    assert.equal(fake.executions(key), 0)
    await fake.confirm?.(key)
    const paid = await paymentWith(api, uuid, 'successful')
    const { recurringToken, type, mobileMoney, consent } = paid.paymentMethod
    assert.deepEqual([type, mobileMoney], ['mobile_money', { network: 'MTN MoMo', phone }])
    assert.deepEqual([consent.form, consent.wordingVersion], ['notice', '2'])
    const { amount, currency } = TERMS
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
    const { key: chargeKey } = await attemptOf(service.db, charged.body.data.uuid)
    assert.deepEqual([fake.executions(key), fake.executions(chargeKey)], [1, 1])
  })

  it('fails if the payer rejects to be charged again, and takes nothing', async () => {
    const { uuid, key } = await startPrompt({ isRecurring: true })
    await fake.finish(key, { kind: 'declines', how: 'REJECTED' })
    await eventually(
      () => attemptOf(service.db, uuid),
      ({ status }) => status === 'declined',
      WITHIN_MS,
    )
    assert.equal(fake.executions(key), 0)
  })
})
