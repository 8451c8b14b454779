// What a provider's response says about our payment, read independently of the connector and without any tolerance.

import { type Currency, decimalsOf, isCurrency } from '../../../src/core/currency.ts'
import { money } from '../../../src/core/money.ts'
import type { GatewayDefinition } from '../../../src/gateways/definition.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { STRIPE } from '../../../src/gateways/stripe/index.ts'
import type { Webhook } from '../conformance.ts'
import { signWebhook } from '../paystack/fake.ts'
import { signEvent } from '../stripe/fake.ts'
import type { Hints } from './arbitrary.ts'
import { type Answer, type Called, KEY, makeAttempt, NOW, REFUND_KEY } from './connection.ts'

interface Success {
  key: unknown
  minor: bigint
  currency: Currency
}

export interface Described {
  definition: GatewayDefinition
  credentials: Record<string, string>
  called: Called
  /** Values by the name of the field that come near to a success of this payment. */
  hints: Hints
  /** The successes in a response; a payment that we know as paid may be reversed. */
  successesIn(answer: Answer, isPaid: boolean): Success[]
  /** Whether the response contains our refund, executed. */
  hasRefund(answer: Answer): boolean
  events: readonly string[]
  /** A genuine webhook with this event about this object. */
  webhookOf(event: string, object: unknown): Webhook
}

// biome-ignore lint/suspicious/noExplicitAny: a response of any shape
type Json = any

/** Undefined if the amount is not a whole number of minor units. */
function toMinor(units: unknown, unitsPerMinor: bigint): bigint | undefined {
  if (typeof units !== 'number' || !/^\d+$/.test(String(units))) return undefined
  return BigInt(units) % unitsPerMinor === 0n ? BigInt(units) / unitsPerMinor : undefined
}

function toSuccess(
  key: unknown,
  units: unknown,
  currency: unknown,
  scaleOf: (of: Currency) => bigint,
): Success[] {
  if (!isCurrency(currency)) return []
  const minor = toMinor(units, scaleOf(currency))
  return minor === undefined ? [] : [{ key, minor, currency }]
}

const AMOUNT = 125_050n
const UNITS = Number(AMOUNT)

const STRIPE_SECRET = 'whsec_made0up'

export const STRIPE_ANSWERS: Described = {
  definition: STRIPE,
  credentials: { secretKey: 'rk_test_made0up', webhookSecret: STRIPE_SECRET },
  called: {
    attempt: makeAttempt(),
    payment: 'cs_1',
    refund: 're_1',
    credential: JSON.stringify({ customer: 'cus_1', payment_method: 'pm_1' }),
  },
  hints: {
    client_reference_id: [KEY],
    metadata: [{ cowry_key: KEY, cowry_refund_key: REFUND_KEY }],
    amount: [UNITS],
    amount_total: [UNITS],
    amount_received: [UNITS],
    currency: ['kes', 'kes', 'kes', 'ugx', 'xof', 'KES'],
    status: ['succeeded', 'complete', 'open', 'expired', 'pending', 'failed', 'canceled', 'requires_action'],
    payment_status: ['paid', 'unpaid'],
    id: ['cs_1', 'pi_1', 're_1'],
    created: [1_789_560_000],
    url: ['https://checkout.stripe.com/c/pay/cs_1'],
  },
  successesIn({ status, body }) {
    const isError = status >= 400
    return isError ? ofIntent((body as Json)?.error?.payment_intent) : [...ofSession(body), ...ofIntent(body)]
  },
  hasRefund({ status, body }) {
    const refund = body as Json
    const isOurs = refund.amount === UNITS && refund.currency.toUpperCase() === 'KES'
    return status === 200 && refund.status === 'succeeded' && isOurs
  },
  events: [
    'checkout.session.completed',
    'payment_intent.succeeded',
    'refund.created',
    'charge.dispute.created',
  ],
  webhookOf(type, object) {
    const body = Buffer.from(JSON.stringify({ id: 'evt_1', type, data: { object } }))
    const signature = signEvent(STRIPE_SECRET, Math.floor(NOW.getTime() / 1_000), body)
    return { headers: { 'stripe-signature': signature }, body }
  },
}

const stripeScale = (currency: Currency) => (currency === 'UGX' ? 100n : 1n)

function ofSession(session: Json): Success[] {
  const { status, payment_status: paid, amount_total: amount, currency, client_reference_id: key } = session
  // Without anything to pay the amount is zero, which is not that of any payment.
  const isPaid = paid === 'paid' || (paid === 'no_payment_required' && amount === 0)
  return status === 'complete' && isPaid ? toSuccess(key, amount, currency?.toUpperCase(), stripeScale) : []
}

function ofIntent(intent: Json): Success[] {
  if (intent?.status !== 'succeeded') return []
  const { amount_received: amount, currency, metadata } = intent
  return toSuccess(metadata?.cowry_key, amount, currency?.toUpperCase(), stripeScale)
}

const PAYSTACK_KEY = 'sk_test_made0up'

export const PAYSTACK_ANSWERS: Described = {
  definition: PAYSTACK,
  credentials: { secretKey: PAYSTACK_KEY },
  called: {
    attempt: makeAttempt({ amount: money(AMOUNT, 'NGN'), country: 'NG' }),
    payment: '4099260516',
    refund: '1',
    credential: JSON.stringify({ authorization_code: 'AUTH_1', email: 'amina.otieno@example.com' }),
  },
  hints: {
    id: [4_099_260_516],
    reference: [KEY],
    amount: [UNITS],
    currency: ['NGN', 'NGN', 'NGN', 'XOF', 'KES'],
    status: [
      'success',
      'success',
      'failed',
      'abandoned',
      'reversed',
      'pending',
      'processed',
      'resolved',
      true,
    ],
    merchant_note: [`Refund ${REFUND_KEY}`],
    resolution: ['merchant-accepted', 'declined'],
    authorization_url: ['https://checkout.paystack.com/abc'],
    message: ['Duplicate Transaction Reference', 'Transaction reference not found', 'Invalid key'],
    type: ['validation_error', 'api_error', 'processor_error'],
  },
  successesIn({ status, body }, isPaid) {
    const { status: isAnswered, data } = body as Json
    const wanted = ['success', ...(isPaid ? ['reversed'] : [])]
    if (status !== 200 || isAnswered !== true || !wanted.includes(data?.status)) return []
    return toSuccess(data.reference, data.amount, data.currency, paystackScale)
  },
  hasRefund({ status, body }) {
    const { status: isAnswered, data } = body as Json
    const isOurs = (refund: Json) =>
      refund?.status === 'processed' &&
      [undefined, null, UNITS].includes(refund.amount) &&
      [undefined, null, 'NGN'].includes(refund.currency)
    return status === 200 && isAnswered === true && [data].flat().some(isOurs)
  },
  events: ['charge.success', 'charge.dispute.create', 'refund.processed'],
  webhookOf: (event, object) => signWebhook({ event, ...Object(object) }, PAYSTACK_KEY),
}

/** Hundredths in every currency. */
const paystackScale = (currency: Currency) => (decimalsOf(currency) === 2 ? 1n : 100n)
