// The connector to Stripe: its hosted page (Checkout Sessions), and charges of a saved card without the payer
// (PaymentIntents).

import type { Mode } from '../../core/merchant.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Connection, CredentialField, GatewayDefinition } from '../definition.ts'
import type {
  Attempt,
  CheckoutChoice,
  Gateway,
  GatewayBehavior,
  Outcome,
  ProviderRefund,
  RefundList,
  RefundListQuery,
  StatusQuery,
} from '../gateway.ts'
import { declined, type Succeeded, type Unknown, unknown } from '../reply.ts'
import { checkStripeAccount } from './account-checks.ts'
import { RAILS } from './amounts.ts'
import { disputesPath, fromDisputes, fromKeyQuery } from './disputes.ts'
import {
  encodeForm,
  type Form,
  isBankTransfer,
  readCredential,
  toChargeForm,
  toCheckoutForm,
  toCustomerForm,
  toEnabledMethods,
  toRefundForm,
  toTransferMethod,
} from './forms.ts'
import { fromRefund, fromRefundPage, fromRefundQuery, REFUND_PAGE_SIZE, toProviderRefund } from './refunds.ts'
import { readSignedEvent } from './webhooks.ts'
import {
  fromCharge,
  fromCustomer,
  fromExpiry,
  fromIntentQuery,
  fromProbe,
  fromSessionQuery,
  fromStart,
  readIntentId,
} from './wire.ts'

// Pinned, so that the account's setting does not change the responses; newer versions accept the same requests.
const API_VERSION = '2023-08-16'

const BEHAVIOR: GatewayBehavior = {
  // Stripe may drop a key after 24 hours. Until then the same request returns the first response and executes nothing,
  // or executes if the first one never arrived.
  keyRetentionHours: 24,
  // Stripe also replays a 500 for as long as it keeps the key. A status check by Stripe's reference solves this;
  // without a reference the attempt ends in manual review.
  cachesErrors: true,
  // A session can be read only by Stripe's id. Payments can be searched by metadata, but the search index lags by a
  // minute, so "not found" proves nothing.
  lookupByReference: false,
}

const SECRET_KEY: CredentialField = {
  name: 'secretKey',
  isRequired: true,
  meaning:
    'The secret key of the Stripe account, or a restricted key that may write Checkout Sessions, PaymentIntents, ' +
    'Customers and Refunds and read PaymentMethods, Charges, Disputes and the Balance.',
  validate: validateSecretKey,
}

const WEBHOOK_SECRET: CredentialField = {
  name: 'webhookSecret',
  // Without webhooks everything is still found by polling, only later.
  isRequired: false,
  meaning:
    'The signing secret of the webhook endpoint at Stripe. Without it webhooks are rejected, and payments are found ' +
    'by polling only.',
  validate: (text) =>
    /^whsec_[\x21-\x7e]+$/.test(text)
      ? undefined
      : 'must begin with whsec_: it is shown in the Stripe dashboard as the signing secret of the webhook endpoint',
}

function validateSecretKey(text: string, mode: Mode): string | undefined {
  if (text.startsWith('pk_')) return 'is a publishable key; the secret key begins with sk_ or rk_'
  const keyMode = /^(?:sk|rk)_(test|live)_[\x21-\x7e]+$/.exec(text)?.[1]
  if (keyMode === undefined)
    return `must be a secret key of Stripe, which begins with sk_${mode}_ or rk_${mode}_`
  if (keyMode === mode) return undefined
  return `is a ${keyMode} key, but this is ${mode} mode: it must begin with sk_${mode}_ or rk_${mode}_`
}

export const STRIPE: GatewayDefinition = {
  name: 'stripe',
  title: 'Stripe',
  rails: RAILS,
  behavior: BEHAVIOR,
  credentials: [SECRET_KEY, WEBHOOK_SECRET],
  // The key alone separates test from live.
  manualChecks: [
    {
      about: 'payment methods',
      detail:
        'The payment methods that are enabled in the dashboard (Settings → Payment methods) decide what the payer sees on the page of Stripe, also the local ones of Nigeria (cards, bank transfer, wallets). Bank transfers in EUR, GBP and USD must be enabled there to be collected.',
    },
  ],
  baseUrl: { test: 'https://api.stripe.com', live: 'https://api.stripe.com' },
  open: openStripe,
}

const SESSIONS = '/v1/checkout/sessions'
const CUSTOMERS = '/v1/customers'
const INTENTS = '/v1/payment_intents'
const CHARGES = '/v1/charges'
const REFUNDS = '/v1/refunds'

// Five thousand refunds since the last look.
const MAX_REFUND_PAGES = 50
const toSeconds = (time: Date) => Math.floor(time.getTime() / 1_000)

// Includes the payment and its card, so that one request returns everything.
const WITH_CARD = 'expand[]=payment_intent.payment_method'

// Stripe cannot be queried by our key: a lost request is resolved by sending it again.
const NO_REFERENCE = unknown('not_found', 'Stripe has not returned a reference, and has no lookup by our key')

function openStripe(connection: Connection): Gateway {
  const { credentials, baseUrl, http, clock, webhookPath = `/hooks/${STRIPE.name}` } = connection
  const authorization = `Bearer ${credentials.secretKey}`
  const headers = { authorization, 'stripe-version': API_VERSION }

  const read = (path: string): Promise<HttpResult> =>
    http.request({ method: 'GET', url: `${baseUrl}${path}`, headers })
  const write = (path: string, form: Form, key?: string): Promise<HttpResult> =>
    http.request({
      method: 'POST',
      url: `${baseUrl}${path}`,
      headers: {
        ...headers,
        'content-type': 'application/x-www-form-urlencoded',
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: encodeForm(form),
    })

  const readSession = (id: string) => read(`${SESSIONS}/${encodeURIComponent(id)}?${WITH_CARD}`)

  const readIntent = (id: string) => read(`${INTENTS}/${encodeURIComponent(id)}`)

  async function verify({ operation, key, isPaid }: StatusQuery, reference: string | null): Promise<Outcome> {
    if (reference === null) return NO_REFERENCE
    // A webhook may have named the PaymentIntent of a checkout whose session is not known.
    const isSession = operation === 'checkout' && !reference.startsWith('pi_')
    const result = await (isSession ? readSession(reference) : readIntent(reference))
    const outcome = isSession ? fromSessionQuery(result, key) : fromIntentQuery(result, key)
    if (!isPaid || outcome.kind !== 'succeeded') return outcome
    return withDisputes(outcome, isSession ? readIntentId(result) : reference)
  }

  async function withDisputes(paid: Succeeded, intentId: ReturnType<typeof readIntentId>): Promise<Outcome> {
    if (typeof intentId !== 'string') return intentId
    const found = fromDisputes(await read(disputesPath(intentId)), paid.paid)
    if ('kind' in found) return found
    return found.reports.length > 0 ? { ...paid, disputes: found.reports } : paid
  }

  /**
   * A transfer is asked for alone, and needs a customer first. For all else the account's settings decide which methods
   * Stripe's page offers.
   */
  async function chooseMethods(attempt: Attempt, choice: CheckoutChoice): Promise<Form | Outcome> {
    if (!isBankTransfer(choice, attempt)) return toEnabledMethods(attempt, choice.consent !== null)
    const created = await write(CUSTOMERS, toCustomerForm(attempt), `${attempt.key}-customer`)
    const customer = fromCustomer(created)
    return typeof customer === 'string' ? toTransferMethod(attempt, customer) : customer
  }

  /** Stripe lists refunds by the PaymentIntent, which the success of a session names as its receipt. */
  async function toRefundFilter(query: RefundListQuery): Promise<string | Unknown> {
    if (query.kind === 'period')
      return `created[gte]=${toSeconds(query.from)}&created[lte]=${toSeconds(query.to)}`
    const known = [query.attemptReference, query.receiptNumber].find((name) => name?.startsWith('pi_'))
    const intentId = known ?? readIntentId(await readSession(query.attemptReference))
    return typeof intentId === 'string' ? `payment_intent=${encodeURIComponent(intentId)}` : intentId
  }

  async function readRefunds(filter: string): Promise<RefundList> {
    const refunds: ProviderRefund[] = []
    for (let page = 0; page < MAX_REFUND_PAGES; page += 1) {
      const last = refunds.at(-1)
      const start = last ? `&starting_after=${encodeURIComponent(last.reference)}` : ''
      const found = fromRefundPage(await read(`${REFUNDS}?${filter}&limit=${REFUND_PAGE_SIZE}${start}`))
      if ('kind' in found) return found
      refunds.push(...found.data.map(toProviderRefund))
      if (!found.has_more || found.data.length === 0) break
    }
    return { kind: 'refunds', refunds }
  }

  return {
    name: STRIPE.name,
    rails: STRIPE.rails,
    behavior: STRIPE.behavior,
    verify,

    async startCheckout(attempt, choice, returnUrl) {
      const methods = await chooseMethods(attempt, choice)
      if ('kind' in methods) return methods
      const form = toCheckoutForm(attempt, returnUrl, methods)
      return fromStart(await write(SESSIONS, form, attempt.key), attempt.key)
    },

    async chargeSaved(attempt, credentialText) {
      const credential = readCredential(credentialText)
      if (!credential) return UNUSABLE_CREDENTIAL
      return fromCharge(await write(INTENTS, toChargeForm(attempt, credential), attempt.key), attempt.key)
    },

    async cancel(query, reference) {
      if (reference === null || query.operation !== 'checkout') return verify(query, reference)
      const expiry = fromExpiry(await write(`${SESSIONS}/${encodeURIComponent(reference)}/expire`, []))
      if (expiry !== 'expired' && expiry !== 'not_open') return expiry
      const outcome = await verify(query, reference)
      return expiry === 'expired' && outcome.kind === 'declined' && outcome.code === 'customer_timeout'
        ? { ...outcome, code: 'customer_cancelled', message: 'the checkout session of Stripe was closed' }
        : outcome
    },

    async refund(refund) {
      const { attemptReference } = refund
      const intentId = attemptReference.startsWith('pi_')
        ? attemptReference
        : readIntentId(await readSession(attemptReference))
      if (typeof intentId !== 'string') return intentId
      return fromRefund(await write(REFUNDS, toRefundForm(refund, intentId), refund.key), refund)
    },

    async verifyRefund(refund, reference) {
      if (reference === null) return NO_REFERENCE
      return fromRefundQuery(await read(`${REFUNDS}/${encodeURIComponent(reference)}`), refund)
    },

    async listRefunds(query) {
      const filter = await toRefundFilter(query)
      return typeof filter === 'string' ? readRefunds(filter) : filter
    },

    // A dispute of an older API version names only the charge, which has the metadata of its payment.
    findKey: async (id) =>
      fromKeyQuery(
        await (id.startsWith('pi_') ? readIntent(id) : read(`${CHARGES}/${encodeURIComponent(id)}`)),
      ),

    probe: async () => fromProbe(await read('/v1/balance')),

    checkAccount: () =>
      checkStripeAccount({
        secretKey: credentials.secretKey ?? '',
        webhookSecret: credentials.webhookSecret,
        webhookUrl: `${connection.publicUrl()}${webhookPath}`,
        read,
      }),

    parseWebhook: ({ headers, rawBody }) =>
      readSignedEvent(credentials.webhookSecret, clock.now(), headers, rawBody),
  }
}

// The stored credential is the same at every retry, so no request was ever sent.
const UNUSABLE_CREDENTIAL = declined(
  null,
  'invalid_card',
  'the saved method has no customer and card of Stripe',
)
