// Pages and transactions of SSLCommerz, and the pure translations between them and the gateway contract. A page that no payer
// has tried to pay has no transaction, and one with several tries has several.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../../core/currency.ts'
import type { FailureCode } from '../../core/failures.ts'
import { uuidFromBase36, uuidToBase36 } from '../../core/ids.ts'
import { formatAmount, type Money, readDecimal, subtract } from '../../core/money.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, Outcome, StartedCheckout } from '../gateway.ts'
import {
  declined,
  findByMessage,
  fromUnexpectedBody,
  Maybe,
  type MessagePatterns,
  readTime,
  receipt,
  refused,
  reportedFee,
  type Unknown,
  unknown,
  unrecognized,
  withoutResponse,
} from '../reply.ts'
import { describeRejection, exactReader, readReply } from './client.ts'

const MAX_NAME = 50
const MAX_PRODUCT = 100

// SSLCommerz requires an address of the payer, which we do not have.
const PLACEHOLDERS = {
  cus_add1: 'Not given',
  cus_city: 'Dhaka',
  cus_country: 'Bangladesh',
} as const
// Its page works with any number, so payers whose number we do not know are not asked for one.
const NO_PHONE = '01700000000'

export function toSessionFields(
  { key, amount, customer, description, reference }: Attempt,
  { returnUrl, ipnUrl }: { returnUrl: string; ipnUrl: string },
): Record<string, string> {
  const name = `${customer.firstname} ${customer.lastname}`.trim()
  return {
    total_amount: formatAmount(amount),
    currency: amount.currency,
    tran_id: uuidToBase36(key),
    // How the payer left says nothing about the payment: the status check does.
    success_url: returnUrl,
    fail_url: returnUrl,
    cancel_url: returnUrl,
    ipn_url: ipnUrl,
    emi_option: '0',
    cus_name: name.slice(0, MAX_NAME) || 'Customer',
    cus_email: customer.email,
    cus_phone: customer.phone ?? NO_PHONE,
    ...PLACEHOLDERS,
    shipping_method: 'NO',
    num_of_item: '1',
    product_name: (description ?? reference).slice(0, MAX_PRODUCT),
    product_category: 'General',
    product_profile: 'general',
  }
}

const readSession = jsonReader(
  Type.Object({
    status: Type.Literal('SUCCESS'),
    sessionkey: Type.String({ minLength: 1, maxLength: 200 }),
    GatewayPageURL: Type.String({ maxLength: 2_048, pattern: '^https?://' }),
  }),
)
const readFailure = jsonReader(
  Type.Object({ status: Type.Literal('FAILED'), failedreason: Maybe(Type.String()) }),
)

export function fromSession(result: HttpResult): StartedCheckout | Outcome {
  if (result.kind !== 'answered') return withoutResponse(result)
  const { status: http, body } = result
  if (http >= 500) return unknown('no_answer', `SSLCommerz answered HTTP ${http}`)
  if (http === 429) return refused('provider_unavailable', 'SSLCommerz received too many requests')
  const failure = http === 200 ? readFailure(body) : undefined
  if (failure) return fromFailure(failure.failedreason ?? '')
  const session = http === 200 ? readSession(body) : undefined
  if (!session || !URL.canParse(session.GatewayPageURL))
    return fromUnexpectedBody(body, `SSLCommerz answered HTTP ${http} without a page`)
  const { sessionkey: gatewayReference, GatewayPageURL: url } = session
  return { kind: 'started', gatewayReference, next: { kind: 'redirect', url } }
}

/** No page was made. But what is said about a tran_id that has one already is not documented. */
function fromFailure(reason: string): Outcome {
  if (/tran_?id|transaction|duplicate|already/i.test(reason))
    return unknown('no_answer', 'SSLCommerz has no page for this tran_id')
  const isStore = /store|credential/i.test(reason)
  return refused(
    'provider_unavailable',
    isStore
      ? 'SSLCommerz does not accept the store id and password'
      : 'SSLCommerz does not accept the request',
  )
}

const Text = Maybe(Type.String())
const Decimal = Type.String({ pattern: '^[0-9]{1,15}(\\.[0-9]{1,10})?$' })

const Transaction = Type.Object({
  status: Type.String(),
  tran_id: Type.String(),
  val_id: Text,
  bank_tran_id: Text,
  amount: Maybe(Decimal),
  store_amount: Text,
  currency_type: Text,
  currency_amount: Maybe(Decimal),
  tran_date: Text,
  error: Text,
})
export type Transaction = Static<typeof Transaction>

const readTransaction = exactReader(Transaction)
const readTransactions = exactReader(
  Type.Object({
    no_of_trans_found: Type.String({ pattern: '^[0-9]{1,6}$' }),
    element: Maybe(Type.Array(Transaction)),
  }),
)

/** The transactions of a tran_id, or why they are not known. */
export function fromQuery(result: HttpResult): Transaction[] | Unknown {
  const reply = readReply(result, readTransactions)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'rejected') return unknown('no_answer', describeRejection(reply))
  const { no_of_trans_found: count, element } = reply.body
  const found = element ?? []
  return Number(count) === found.length
    ? found
    : unrecognized('SSLCommerz answered another number of transactions than it has found')
}

export const isPaid = ({ status }: Transaction) => status === 'VALID' || status === 'VALIDATED'

/** What the transactions say that were not paid. */
export function fromUnpaid(found: readonly Transaction[], key: string, reference: string | null): Outcome {
  const [first] = found
  if (!first)
    // We have its page, so SSLCommerz knows it: the payer has not tried to pay yet.
    return reference === null
      ? unknown('not_found', 'SSLCommerz has no transaction with this tran_id')
      : { kind: 'pending', gatewayReference: reference }
  const tranId = uuidToBase36(key)
  if (found.some(({ tran_id: given }) => given !== tranId))
    return unrecognized('SSLCommerz answered about another payment')
  const outcomes = found.map((one) => fromTry(one, reference))
  // Several tries: one that is open may still be paid, and an unknown one may have been.
  const byKind = (kind: Outcome['kind']) => outcomes.find((one) => one.kind === kind)
  return byKind('unknown') ?? byKind('pending') ?? outcomes[0] ?? fromTry(first, reference)
}

const REASONS: MessagePatterns = [
  [/insufficient|not enough/, 'insufficient_funds'],
  [/expired card|card expired/, 'card_expired'],
  [/otp|3d|authentication/, 'authentication_failed'],
  [/limit/, 'limit_exceeded'],
  [/invalid card/, 'invalid_card'],
]

const DECLINES: Readonly<Record<string, FailureCode>> = {
  FAILED: 'do_not_honor',
  CANCELLED: 'customer_cancelled',
  UNATTEMPTED: 'customer_timeout',
  EXPIRED: 'customer_timeout',
}

function fromTry({ status, val_id, error }: Transaction, reference: string | null): Outcome {
  if (status === 'PENDING') return { kind: 'pending', gatewayReference: reference ?? (val_id || null) }
  const code = Object.hasOwn(DECLINES, status) ? DECLINES[status] : undefined
  if (!code) return unrecognized('SSLCommerz answered a status that we do not know')
  const reason = status === 'FAILED' ? findByMessage(REASONS, error) : undefined
  return declined(reference, reason ?? code, `the transaction at SSLCommerz is ${status}`)
}

/** What the validator says about a paid transaction. A risk score (`risk_level`) is advice: the money was taken. */
export function fromValidation(result: HttpResult, valId: string): Outcome {
  const reply = readReply(result, readTransaction)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'rejected') return unknown('no_answer', describeRejection(reply))
  if (!isPaid(reply.body)) return unrecognized('SSLCommerz does not validate the transaction')
  return reply.body.val_id === valId
    ? fromPaid(reply.body, valId)
    : unrecognized('SSLCommerz validated another transaction')
}

function fromPaid(transaction: Transaction, valId: string): Outcome {
  const paid = amountOf(transaction)
  if (!paid || paid.minor <= 0n) return unrecognized('SSLCommerz answered an amount that cannot be read')
  const received = readDecimal(transaction.store_amount ?? '', paid.currency)
  return {
    kind: 'succeeded',
    gatewayReference: valId,
    // Refunds name it.
    ...receipt(transaction.bank_tran_id),
    paid,
    ...(received && paid.currency === STORE_CURRENCY && reportedFee(subtract(paid, received), paid)),
    key: uuidFromBase36(transaction.tran_id) ?? transaction.tran_id,
    savedMethod: null,
    paidAt: paidAtOf(transaction),
  }
}

const STORE_CURRENCY = 'BDT'

/** `amount` is what was paid in BDT; in another currency it is `currency_amount`. */
function amountOf({ currency_type: currency, amount, currency_amount }: Transaction): Money | undefined {
  if (!isCurrency(currency)) return undefined
  return readDecimal((currency === STORE_CURRENCY ? amount : currency_amount) ?? '', currency)
}

const LOCAL_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/

/** Times are those of Bangladesh, six hours ahead of UTC all year, without a zone. */
function paidAtOf({ tran_date: text }: Transaction): Date | null {
  if (!text || !LOCAL_TIME.test(text)) return null
  return readTime(`${text.replace(' ', 'T')}+06:00`) ?? null
}
