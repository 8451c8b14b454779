// Providers with their fakes, for tests of the whole service.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Currency } from '../../src/core/currency.ts'
import { serializeMethod } from '../../src/customers/methods.ts'
import type { SavedMethod } from '../../src/gateways/saved-method.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createSigner, createVault } from '../../src/kit/crypto.ts'
import type { Db } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'
import * as chapa from '../gateways/chapa/fake.ts'
import type { FakeProvider, Webhook } from '../gateways/conformance.ts'
import * as flutterwave from '../gateways/flutterwave/fake.ts'
import * as pawapay from '../gateways/pawapay/fake.ts'
import { PAWAPAY_KEYS, signCallback } from '../gateways/pawapay/fake-callbacks.ts'
import * as paystack from '../gateways/paystack/fake.ts'
import * as stripe from '../gateways/stripe/fake.ts'
import * as wave from '../gateways/wave/fake.ts'
import { readPayment, startPaying } from './gateways.ts'
import { saveAnyMethod } from './payments-rig.ts'
import { eventually } from './process.ts'
import type { TestService } from './service.ts'

export interface ProviderFacts {
  credentials: Record<string, string>
  start(t: TestContext): Promise<FakeProvider>
  /** The amount, currency and country of its payments in these tests. */
  paymentTerms: { amount: number; currency: Currency; country: string }
  channel: 'card' | 'mobile_money'
  /** Where the account of these tests collects, if not everywhere where the gateway does. */
  countries?: readonly string[]
  /** The webhook about a success, as it arrives at this URL. */
  buildWebhook(fake: FakeProvider, key: string, url: string): Webhook | Promise<Webhook>
  /** The request that charges a saved method, or starts a checkout where there are none. */
  submission: RegExp
}

const buildSignedWebhook: ProviderFacts['buildWebhook'] = (fake, key) => fake.webhook(key)

export const PROVIDERS = {
  stripe: {
    credentials: { secretKey: stripe.FAKE_SECRET_KEY, webhookSecret: stripe.FAKE_WEBHOOK_SECRET },
    start: (t) => stripe.startFakeStripe(t),
    paymentTerms: { amount: 12.5, currency: 'USD', country: 'US' },
    channel: 'card',
    buildWebhook: buildSignedWebhook,
    submission: /^POST \/v1\/payment_intents$/,
  },
  paystack: {
    credentials: { secretKey: paystack.FAKE_SECRET_KEY },
    start: (t) => paystack.startFakePaystack(t),
    paymentTerms: { amount: 1250.5, currency: 'NGN', country: 'NG' },
    channel: 'card',
    buildWebhook: buildSignedWebhook,
    submission: /^POST \/transaction\/charge_authorization$/,
  },
  flutterwave: {
    credentials: { secretKey: flutterwave.SECRET_KEY, webhookHash: flutterwave.WEBHOOK_HASH },
    start: (t) => flutterwave.startFakeFlutterwave(t),
    paymentTerms: { amount: 1250, currency: 'RWF', country: 'RW' },
    channel: 'card',
    buildWebhook: buildSignedWebhook,
    submission: /^POST \/v3\/tokenized-charges$/,
  },
  pawapay: {
    credentials: { apiToken: pawapay.API_TOKEN, publicKey: PAWAPAY_KEYS.publicKey },
    start: (t) => pawapay.startFakePawapay(t),
    paymentTerms: { amount: 125.5, currency: 'ZMW', country: 'ZM' },
    channel: 'mobile_money',
    buildWebhook: (_fake, key, url) => {
      const { origin: publicUrl, pathname: path } = new URL(url)
      return signCallback(key, 'COMPLETED', { publicUrl, path })
    },
    submission: /^POST \/v2\/deposits$/,
  },
  wave: {
    credentials: { apiKey: wave.FAKE_API_KEY, webhookSecret: wave.FAKE_WEBHOOK_SECRET },
    start: (t) => wave.startFakeWave(t),
    paymentTerms: { amount: 5_000, currency: 'XOF', country: 'SN' },
    countries: ['SN'],
    channel: 'mobile_money',
    buildWebhook: buildSignedWebhook,
    submission: /^POST \/v1\/checkout\/sessions$/,
  },
  chapa: {
    credentials: { secretKey: chapa.FAKE_SECRET_KEY, webhookSecret: chapa.FAKE_WEBHOOK_SECRET },
    start: (t) => chapa.startFakeChapa(t),
    paymentTerms: { amount: 1250.5, currency: 'ETB', country: 'ET' },
    channel: 'mobile_money',
    buildWebhook: buildSignedWebhook,
    submission: /^POST \/v1\/transaction\/initialize$/,
  },
} as const satisfies Record<string, ProviderFacts>

export type ProviderName = keyof typeof PROVIDERS

// The keys of a constant object are exactly its type's keys, which the type of Object.keys does not express.
export const PROVIDER_NAMES = Object.keys(PROVIDERS) as ProviderName[]

/** The variable that points the service to a fake. */
export function addressOf(name: ProviderName, provider: FakeProvider): Record<string, string> {
  return { [`GATEWAY_${name.toUpperCase()}_BASE_URL`]: provider.server.url }
}

export type MerchantAt = Awaited<ReturnType<typeof newMerchantAt>>

/** A merchant with its own account at one provider only. */
export async function newMerchantAt(service: TestService, name: ProviderName) {
  const merchant = await service.newMerchant()
  return { ...merchant, accountId: await addAccount(service, merchant.uuid, name) }
}

/** Returns the id of the account. On a busy machine the first probe may take longer than the timeout of the service. */
export async function addAccount(service: TestService, merchantId: string, name: ProviderName) {
  const { credentials } = PROVIDERS[name]
  const save = () =>
    service.admin.send('PUT', `/admin/v1/merchants/${merchantId}/gateways/${name}`, {
      body: JSON.stringify({ credentials }),
      headers: { 'content-type': 'application/json' },
    })
  const answer = await eventually(save, ({ body }) => body.data?.probe !== 'unreachable', 15_000)
  assert.equal(answer.body.data?.probe, 'works', answer.text)
  return String(answer.body.data.uuid)
}

/** For services whose keyring is this key only, so that a test can store a saved method. */
export const VAULT_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7))
export const VAULT_ENV = { COWRY_ENCRYPTION_KEYS: `k1:${VAULT_KEY.toString('base64')}` }

/** The recurring token of a card of this merchant, saved with the provider's credential. */
export async function saveCard(
  db: Db,
  name: ProviderName,
  merchant: MerchantAt,
  credential: string,
): Promise<string> {
  const { paymentTerms, channel } = PROVIDERS[name]
  const { uuid } = await startPaying(merchant.api, paymentTerms, channel)
  const { customer } = await readPayment(merchant.api, uuid)
  const random = systemRandom(systemClock)
  const vault = createVault([{ id: 'k1', key: VAULT_KEY }], random)
  const app = {
    db,
    clock: systemClock,
    random,
    vault,
    cursors: createSigner(VAULT_KEY),
    mode: 'test' as const,
  }
  const owner = {
    merchantId: merchant.uuid,
    customerId: customer.uuid,
    gateway: name,
    accountId: merchant.accountId,
    isRecurring: true,
  }
  const card: SavedMethod = {
    type: 'card',
    credential,
    fingerprint: randomUUID(),
    card: { brand: 'visa', last4: '4242', expiryMonth: 12, expiryYear: 2099, country: null },
    mobileMoney: null,
    currencies: [paymentTerms.currency],
  }
  const method = await saveAnyMethod(app, owner, card)
  const { recurringToken } = serializeMethod(app, method)
  assert.ok(recurringToken)
  return recurringToken
}
