// Every provider behind the whole service: the merchant has its own account there, and no other gateway is configured.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import type { ChargeBehavior, FakeProvider } from '../gateways/conformance.ts'
import { chargeBody } from '../support/builders.ts'
import {
  attemptOf,
  deliver,
  fileContext,
  postponePolls,
  readPayment,
  startPaying,
} from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import {
  addressOf,
  newMerchantAt,
  PROVIDER_NAMES,
  PROVIDERS,
  type ProviderName,
  saveCard,
  VAULT_ENV,
} from '../support/providers.ts'
import { testService } from '../support/service.ts'

const fakes = new Map<ProviderName, FakeProvider>()
for (const name of PROVIDER_NAMES) fakes.set(name, await PROVIDERS[name].start(fileContext({ after })))
const addresses = [...fakes].map(([name, fake]) => addressOf(name, fake))
const service = await testService({ after }, { env: Object.assign({}, VAULT_ENV, ...addresses) })
const { db } = service

function fakeOf(name: ProviderName): FakeProvider {
  const fake = fakes.get(name)
  assert.ok(fake)
  return fake
}

for (const name of PROVIDER_NAMES) {
  const { paymentTerms, channel, buildWebhook } = PROVIDERS[name]
  const fake = fakeOf(name)

  describe(`a merchant with an account at ${name}`, () => {
    const paid = async () => {
      const merchant = await newMerchantAt(service, name)
      const started = await startPaying(merchant.api, paymentTerms, channel)
      await postponePolls(db, started.uuid)
      const attempt = await attemptOf(db, started.uuid)
      return { merchant, started, attempt }
    }

    it(`collects on the page of ${name}, and a webhook completes the payment`, async () => {
      const { merchant, started, attempt } = await paid()
      assert.equal(started.gateway, name)
      assert.deepEqual([attempt.gateway, attempt.accountId], [name, merchant.accountId])
      assert.equal(started.pressed.headers.get('location'), `${started.page}/continue`)
      await fake.finish(attempt.key, { kind: 'pays' })
      const webhookPath = `/hooks/${name}/${merchant.uuid}`
      const webhook = await buildWebhook(fake, attempt.key, `${service.publicUrl}${webhookPath}`)
      // Neither the instance nor another merchant uses this account.
      assert.equal((await deliver(merchant.api, `/hooks/${name}`, webhook)).http, 404)
      assert.equal((await deliver(merchant.api, `/hooks/${name}/${randomUUID()}`, webhook)).http, 404)
      assert.equal((await deliver(merchant.api, webhookPath, webhook)).http, 200)
      const payment = await eventually(
        () => readPayment(merchant.api, started.uuid),
        ({ status }) => status === 'successful',
        15_000,
      )
      assert.equal(Number(payment.amountPaid), paymentTerms.amount)
      assert.equal(await fake.executions(attempt.key), 1)
    })

    it(`reopens the checkout when the payer leaves the page of ${name} unpaid`, async () => {
      const { merchant, started } = await paid()
      const back = await service.apiWith(undefined).get(`${started.page}/return`)
      assert.equal(back.http, 303)
      const { status } = await readPayment(merchant.api, started.uuid)
      assert.equal(status, 'processing')
    })

    if (!fake.savedCredential) return

    const savedBy = async (behavior: ChargeBehavior) => {
      const merchant = await newMerchantAt(service, name)
      const credential = await fake.savedCredential?.(behavior)
      assert.ok(credential)
      const token = await saveCard(db, name, merchant, credential)
      const { amount, currency } = paymentTerms
      const charge = () =>
        merchant.api.post('/api/v1/charges/recurring', chargeBody(token, { amount, currency }))
      return { merchant, charge }
    }

    it(`charges a saved card again at ${name}`, async () => {
      const { merchant, charge } = await savedBy('approves')
      const { body } = await charge()
      assert.equal(body.data.status, 'successful', JSON.stringify(body))
      const attempt = await attemptOf(db, body.data.uuid)
      assert.deepEqual([attempt.gateway, attempt.accountId], [name, merchant.accountId])
      assert.equal(await fake.executions(attempt.key), 1)
    })

    it(`returns a checkout for the customer when the bank at ${name} requires authentication`, async () => {
      const { merchant, charge } = await savedBy('wants_customer')
      const { body } = await charge()
      assert.equal(body.data.status, 'failed', JSON.stringify(body))
      assert.equal(body.data.failure.code, 'authentication_required')
      const { recovery } = body.data
      const checkout = await readPayment(merchant.api, recovery.uuid)
      assert.deepEqual([checkout.status, checkout.paymentGateway], ['pending', name])
      assert.equal((await service.apiWith(undefined).get(new URL(recovery.checkoutUrl).pathname)).http, 200)
    })
  })
}
