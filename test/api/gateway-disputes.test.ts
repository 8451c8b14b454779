// Chargebacks with real connectors: a webhook triggers a status check at the gateway, which updates the payment.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import * as paystack from '../gateways/paystack/fake.ts'
import * as stripe from '../gateways/stripe/fake.ts'
import { attemptOf, deliver, fileContext, readPayment, startPaying } from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const fakes = {
  stripe: await stripe.startFakeStripe(fileContext({ after })),
  paystack: await paystack.startFakePaystack(fileContext({ after })),
}
const service = await testService(
  { after },
  {
    env: {
      GATEWAY_STRIPE_SECRET_KEY: stripe.FAKE_SECRET_KEY,
      GATEWAY_STRIPE_WEBHOOK_SECRET: stripe.FAKE_WEBHOOK_SECRET,
      GATEWAY_STRIPE_BASE_URL: fakes.stripe.server.url,
      GATEWAY_PAYSTACK_SECRET_KEY: paystack.FAKE_SECRET_KEY,
      GATEWAY_PAYSTACK_BASE_URL: fakes.paystack.server.url,
    },
  },
)
const { api, db } = service

const PAYMENT_TERMS = {
  stripe: { amount: 12.5, currency: 'USD', country: 'US' },
  paystack: { amount: 1250.5, currency: 'NGN', country: 'NG' },
}

const statusOf = (uuid: string, wanted: string) =>
  eventually(
    () => readPayment(api, uuid),
    ({ status }) => status === wanted,
    15_000,
  )

async function paidAt(name: keyof typeof fakes) {
  const { uuid } = await startPaying(api, PAYMENT_TERMS[name])
  const { key, gateway } = await attemptOf(db, uuid)
  assert.equal(gateway, name)
  await fakes[name].finish(key, { kind: 'pays' })
  await deliver(api, `/hooks/${name}`, await fakes[name].webhook(key))
  assert.equal((await statusOf(uuid, 'successful')).status, 'successful')
  return { uuid, key }
}

for (const name of ['stripe', 'paystack'] as const) {
  describe(`a chargeback at ${name}`, () => {
    it(`follows a chargeback from its opening to its end at ${name}`, async () => {
      for (const [end, status] of [
        ['won', 'successful'],
        ['lost', 'reversed'],
      ] as const) {
        const { uuid, key } = await paidAt(name)
        assert.equal((await deliver(api, `/hooks/${name}`, await fakes[name].dispute(key, 'open'))).http, 200)
        assert.equal((await statusOf(uuid, 'disputed')).status, 'disputed')
        assert.equal((await deliver(api, `/hooks/${name}`, await fakes[name].dispute(key, end))).http, 200)
        assert.equal((await statusOf(uuid, status)).status, status)
      }
    })
  })
}

describe('a Stripe dispute that names its payment by Stripe’s own id', () => {
  it('answers 503 to a dispute webhook while its payment cannot be looked up, and stores it once it can', async () => {
    const { uuid, key } = await paidAt('stripe')
    const webhook = fakes.stripe.dispute(key, 'open')
    fakes.stripe.server.injectFault('http_500', { on: /^GET \/v1\/payment_intents\// })
    assert.equal((await deliver(api, '/hooks/stripe', webhook)).http, 503)
    assert.equal((await readPayment(api, uuid)).status, 'successful')
    fakes.stripe.server.clearFaults()
    assert.equal((await deliver(api, '/hooks/stripe', webhook)).http, 200)
    assert.equal((await statusOf(uuid, 'disputed')).status, 'disputed')
  })

  it('ignores the disputes of other software on the same account with a success', async () => {
    const { key } = await paidAt('stripe')
    const { body } = fakes.stripe.dispute(key, 'open')
    const event = JSON.parse(body.toString())
    event.data.object.payment_intent = 'pi_of_somebody_else'
    const other = Buffer.from(JSON.stringify(event))
    const seconds = Math.floor(Date.now() / 1_000)
    const headers = { 'stripe-signature': stripe.signEvent(stripe.FAKE_WEBHOOK_SECRET, seconds, other) }
    assert.equal((await deliver(api, '/hooks/stripe', { headers, body: other })).http, 200)
  })
})
