// The JSON of payment pages and deposits, and the pure translations between it and the gateway contract. A deposit is
// money that a payer sends; we choose its id, which is our key.

import { type Static, Type } from 'typebox'
import { type Currency, isCurrency } from '../../core/currency.ts'
import type { FailureCode } from '../../core/failures.ts'
import { addMs } from '../../kit/clock.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Attempt, Outcome, StartedCheckout, StatusQuery } from '../gateway.ts'
import {
  declined,
  findByMessage,
  Maybe,
  type MessagePatterns,
  readTime,
  receipt,
  refused,
  unknown,
  unrecognized,
} from '../reply.ts'
import { fromAmount, toAmount } from './amounts.ts'
import { pageCountryOf } from './rails.ts'
import {
  describeFailure,
  type ErrorReply,
  FailureReason,
  Identity,
  NotFound,
  readReply,
  Text,
} from './response.ts'

export interface PageBody {
  depositId: string
  returnUrl: string
  customerMessage?: string
  amountDetails: { amount: string; currency: Currency }
  /** The page does not let the payer change it. */
  phoneNumber?: string
  language: 'EN' | 'FR'
  country: string
  reason: string
  /** One field per object: pawaPay rejects several in one, and unknown fields anywhere. */
  metadata: Record<string, string>[]
}

export function toPageBody(
  attempt: Attempt,
  returnUrl: string,
  phoneNumber?: string,
): PageBody | { issue: string } {
  const country = pageCountryOf(attempt)
  if ('issue' in country) return country
  const customerMessage = toCustomerMessage(attempt.merchantName)
  return {
    depositId: attempt.key,
    returnUrl,
    ...(customerMessage !== undefined && { customerMessage }),
    amountDetails: { amount: toAmount(attempt.amount), currency: attempt.amount.currency },
    ...(phoneNumber !== undefined && { phoneNumber }),
    language: country.language,
    country: country.alpha3,
    reason: cut(
      plain(attempt.description ?? '') || plain(attempt.reference) || attempt.paymentId,
      MAX_REASON,
    ),
    metadata: toMetadata(attempt),
  }
}

export function toMetadata({ paymentId, reference }: Attempt): PageBody['metadata'] {
  return [{ paymentId }, { reference: cut(reference, MAX_REFERENCE) }]
}

const MAX_REASON = 50
// The limit of a metadata value is not published. The value only serves searches in the dashboard.
const MAX_REFERENCE = 50
const MIN_CUSTOMER_MESSAGE = 4
const MAX_CUSTOMER_MESSAGE = 22

/** The payee on the payer's phone, within the characters and length that operators accept. */
export function toCustomerMessage(merchantName: string): string | undefined {
  const letters = merchantName
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
  const message = letters.slice(0, MAX_CUSTOMER_MESSAGE).trim()
  return message.length < MIN_CUSTOMER_MESSAGE ? undefined : message
}

function plain(text: string): string {
  return text.replace(/[\s\p{Cc}]+/gu, ' ').trim()
}

function cut(text: string, maxLength: number): string {
  // The cut may split a surrogate pair; the half is then dropped.
  return text
    .slice(0, maxLength)
    .replace(/[\ud800-\udbff]$/, '')
    .toWellFormed()
    .trim()
}

const MAX_URL = 10_000
const WEB_URL = /^https?:\/\//
const PageUrl = Type.String({ maxLength: MAX_URL, pattern: WEB_URL.source })

/** An opened page has a URL and no status; a rejected one has a status and no URL. */
const PaymentPage = Type.Object({
  redirectUrl: Maybe(PageUrl),
  // The documentation uses both spellings.
  redirectURL: Maybe(PageUrl),
  status: Maybe(Text(50)),
  failureReason: Maybe(FailureReason),
})

const Deposit = Type.Object({
  depositId: Identity,
  // Any text: the switch handles unknown values.
  status: Text(50),
  amount: Text(50),
  currency: Text(50),
  created: Maybe(Text(50)),
  // The page of an operator that has one (Wave), while the payer has not paid there.
  authorizationUrl: Maybe(Text(MAX_URL)),
  // The operator's id of the payment, such as the M-Pesa code.
  providerTransactionId: Maybe(Text(255)),
  failureReason: Maybe(FailureReason),
})
type Deposit = Static<typeof Deposit>

const readPage = jsonReader(PaymentPage)
const readDeposit = jsonReader(
  Type.Union([Type.Object({ status: Type.Literal('FOUND'), data: Deposit }), NotFound]),
)

/** `duplicate`: pawaPay already has this deposit and did nothing; a status check returns its outcome. */
export function fromStart(
  result: HttpResult,
  key: string,
): StartedCheckout | Outcome | { kind: 'duplicate' } {
  const reply = readReply(result, readPage)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromErrorReply(reply)
  const { redirectUrl, redirectURL, status, failureReason } = reply.body
  const url = redirectUrl ?? redirectURL
  if (url && URL.canParse(url))
    return { kind: 'started', gatewayReference: key, next: { kind: 'redirect', url } }
  switch (status) {
    case 'DUPLICATE_IGNORED':
      return { kind: 'duplicate' }
    case 'REJECTED':
      return fromRejection(failureReason)
    default:
      return unrecognized('pawaPay answered neither with a page nor with a refusal')
  }
}

// Statuses that prove that nothing was begun. After any other 4xx pawaPay may have acted.
const REJECTION_STATUSES: readonly number[] = [400, 401, 403, 404, 429]

export function fromErrorReply({ http, message }: ErrorReply): Outcome {
  return REJECTION_STATUSES.includes(http)
    ? refused('provider_unavailable', message)
    : unknown('unreadable', message)
}

/** Whatever the reason, the payer received no prompt. */
export function fromRejection(reason: FailureReason | null | undefined): Outcome {
  const code = reason?.failureCode
  if (code === UNKNOWN_ERROR) return unknown('no_answer', `pawaPay answered ${UNKNOWN_ERROR}`)
  const message = reason ? `pawaPay rejected it: ${describeFailure(reason)}` : 'pawaPay rejected it'
  return refused(REJECTIONS[code ?? ''] ?? 'provider_unavailable', message)
}

/** Rejections that the payer can do something about. */
const REJECTIONS: Readonly<Record<string, FailureCode>> = {
  AMOUNT_OUT_OF_BOUNDS: 'limit_exceeded',
  INVALID_PHONE_NUMBER: 'wallet_not_found',
}

// pawaPay's code for "outcome unknown": only a status check counts after it, and it is never a failure.
const UNKNOWN_ERROR = 'UNKNOWN_ERROR'

const DECLINES: Readonly<Record<string, FailureCode>> = {
  PAYMENT_NOT_APPROVED: 'customer_cancelled',
  INSUFFICIENT_BALANCE: 'insufficient_funds',
  PAYER_NOT_FOUND: 'wallet_not_found',
  PAYER_LIMIT_REACHED: 'limit_exceeded',
  WALLET_LIMIT_REACHED: 'limit_exceeded',
  AMOUNT_OUT_OF_BOUNDS: 'limit_exceeded',
  INVALID_PHONE_NUMBER: 'wallet_not_found',
  // The operator is processing another payment of this payer; a later one can succeed.
  PAYMENT_IN_PROGRESS: 'provider_unavailable',
  TRANSACTION_ALREADY_IN_PROCESS: 'provider_unavailable',
  PROVIDER_TEMPORARILY_UNAVAILABLE: 'provider_unavailable',
  UNSPECIFIED_FAILURE: 'do_not_honor',
}

// Codes that pawaPay adds or passes on from operators; DECLINES comes first.
const DECLINE_PATTERNS: MessagePatterns = [
  [/insufficient|not enough|low balance/, 'insufficient_funds'],
  [/limit|out of bounds|exceed/, 'limit_exceeded'],
  [/expired|time ?out|timed out|no response/, 'customer_timeout'],
  [/\bpin\b|\botp\b|authori[sz]ation code|pre ?auth/, 'authentication_failed'],
  [/not found|not registered|not active|inactive|phone number|msisdn/, 'wallet_not_found'],
  [/cancel|not approved|rejected|declined by (?:payer|customer)/, 'customer_cancelled'],
  [/unavailable|in progress|in process|busy/, 'provider_unavailable'],
  [/fraud|suspicious/, 'suspected_fraud'],
  [/blocked|barred|not allowed|not permitted/, 'do_not_honor'],
]

function toFailureCode(failureCode: string): FailureCode {
  if (Object.hasOwn(DECLINES, failureCode)) return DECLINES[failureCode] ?? 'unknown'
  return findByMessage(DECLINE_PATTERNS, failureCode) ?? 'unknown'
}

export interface DepositState {
  outcome: Outcome
  authorisationUrl?: string
}

export function fromDepositStatus(
  result: HttpResult,
  context: { query: StatusQuery; gatewayReference: string | null; now: Date },
): DepositState {
  const reply = readReply(result, readDeposit)
  if (reply.kind === 'unknown') return { outcome: reply }
  // A rejected status check says nothing about the payment.
  if (reply.kind === 'error') return { outcome: unknown('no_answer', reply.message) }
  const { body } = reply
  if (body.status !== 'FOUND') return { outcome: fromNoDeposit(context) }
  const outcome = fromDeposit(body.data, context.query.key)
  const url = body.data.authorizationUrl ?? ''
  return WEB_URL.test(url) && URL.canParse(url) ? { outcome, authorisationUrl: url } : { outcome }
}

const MINUTE_MS = 60_000
// A page can be paid for fifteen minutes after it was opened, and there is no deposit until the payer presses Pay. We
// reopen a page with a lost URL only in the first four minutes. So twenty minutes after the start no page can be open:
// 4 + 15, plus one for requests in transit.
const REOPEN_MS = 4 * MINUTE_MS
const ABANDONED_MS = 20 * MINUTE_MS

function fromNoDeposit(context: { query: StatusQuery; gatewayReference: string | null; now: Date }): Outcome {
  const { query, gatewayReference, now } = context
  if (now >= addMs(query.startedAt, ABANDONED_MS)) {
    const message = 'pawaPay has no deposit, and its page is closed'
    return declined(gatewayReference, 'customer_timeout', message)
  }
  if (gatewayReference !== null) return { kind: 'pending', gatewayReference }
  if (now < addMs(query.startedAt, REOPEN_MS)) return unknown('not_found', 'pawaPay has no such deposit')
  // "Not found" would submit it again, and the new page would stay open after we consider the attempt dead.
  return unknown('no_answer', 'pawaPay has no deposit yet, and it is too late to open its page again')
}

function fromDeposit(deposit: Deposit, key: string): Outcome {
  const { depositId, status, failureReason } = deposit
  if (status === 'COMPLETED') return fromCompleted(deposit)
  // The caller checks a success for another payment; any other status of another payment says nothing about this one.
  if (depositId !== key) return unrecognized('pawaPay answered about another deposit than ours')
  switch (status) {
    // Also PROCESSING while the payer is on an operator's own page.
    case 'ACCEPTED':
    case 'PROCESSING':
    case 'SUBMITTED':
    case 'IN_RECONCILIATION':
      return { kind: 'pending', gatewayReference: depositId }
    case 'FAILED':
    case 'REJECTED':
      return fromFailed(depositId, failureReason)
    default:
      return unrecognized('pawaPay answered a status that we do not know')
  }
}

function fromFailed(depositId: string, reason: FailureReason | null | undefined): Outcome {
  const failureCode = reason?.failureCode ?? ''
  if (failureCode === UNKNOWN_ERROR) return unrecognized(`pawaPay answered ${UNKNOWN_ERROR}`)
  return {
    kind: 'declined',
    code: toFailureCode(failureCode),
    message: reason ? `pawaPay answered ${describeFailure(reason)}` : 'pawaPay gave no reason',
    gatewayReference: depositId,
  }
}

function fromCompleted(deposit: Deposit): Outcome {
  const { depositId, amount, currency, created, providerTransactionId } = deposit
  const paid = isCurrency(currency) ? fromAmount(amount, currency) : undefined
  if (!paid) return unrecognized('pawaPay reported an amount that our ledger cannot hold')
  return {
    kind: 'succeeded',
    gatewayReference: depositId,
    ...receipt(providerTransactionId),
    paid,
    key: depositId,
    // Mobile money cannot be charged again without the payer.
    savedMethod: null,
    // The time at which the payer pressed Pay; no other time is reported.
    paidAt: readTime(created) ?? null,
  }
}
