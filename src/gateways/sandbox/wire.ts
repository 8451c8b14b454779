// The provider's JSON, and the pure translations between it and the gateway contract. Amounts are minor units as text.

import { type Static, Type } from 'typebox'
import { CURRENCY_CODES, type Currency, isCurrency } from '../../core/currency.ts'
import { FAILURES, type FailureCode } from '../../core/failures.ts'
import { money } from '../../core/money.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import { CurrencyCode, Enum, Nullable } from '../../kit/http/schema.ts'
import {
  type Attempt,
  type CheckoutChoice,
  type DisputeReport,
  isDirect,
  type NextStep,
  type Outcome,
  type StartedCheckout,
} from '../gateway.ts'
import {
  type Declined,
  fromUnexpectedBody,
  receipt,
  refused,
  type Unknown,
  unknown,
  unrecognized,
  withoutResponse,
} from '../reply.ts'
import type { SavedMethod } from '../saved-method.ts'

// Texts have a maximum length: this provider writes no longer ones.
export const Text = (maxLength: number) => Type.String({ maxLength })
export const Identity = Type.String({ minLength: 1, maxLength: 255 })
const Phone = Type.String({ pattern: '^\\+[1-9][0-9]{5,14}$' })
const NetworkCode = Type.String({ pattern: '^[a-z]{1,20}_[a-z]{2}$' })
const WebAddress = Type.String({ maxLength: 2_048, pattern: '^https?://' })
export const MinorUnits = Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$' })
const Instant = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })

const REQUEST = {
  /** The merchant: its records share a test clock. An older service does not send it. */
  account: Type.Optional(Text(100)),
  /** The merchant's payment: the provider counts executions by it. */
  order: Type.String({ minLength: 1, maxLength: 100 }),
  reference: Text(200),
  amount: MinorUnits,
  currency: CurrencyCode,
  country: Nullable(Text(2)),
  description: Nullable(Text(1_000)),
  email: Text(320),
}

export const CheckoutBody = Type.Object({
  ...REQUEST,
  merchantName: Text(200),
  channel: Enum(['card', 'mobile_money', 'bank_transfer']),
  instrument: Nullable(Text(50)),
  phone: Nullable(Phone),
  network: Nullable(NetworkCode),
  returnUrl: WebAddress,
  expiresAt: Nullable(Instant),
})
export type CheckoutBody = Static<typeof CheckoutBody>

export const ChargeBody = Type.Object({ ...REQUEST, token: Text(200) })
export type ChargeBody = Static<typeof ChargeBody>

const NextBody = Type.Union([
  Type.Object({ kind: Type.Literal('redirect'), url: WebAddress }),
  Type.Object({
    kind: Type.Literal('prompt'),
    phone: Text(50),
    network: Text(100),
    expiresAt: Instant,
    // An older provider does not send it.
    promptName: Type.Optional(Text(200)),
  }),
  Type.Object({
    kind: Type.Literal('transfer'),
    bankName: Text(200),
    accountNumber: Text(50),
    accountName: Text(200),
    narration: Text(50),
    expiresAt: Instant,
  }),
])

const CardBody = Type.Object({
  token: Identity,
  fingerprint: Identity,
  brand: Text(50),
  last4: Type.String({ pattern: '^\\d{4}$' }),
  expiryMonth: Type.Integer({ minimum: 1, maximum: 12 }),
  expiryYear: Type.Integer(),
  country: Nullable(Text(2)),
})

const DISPUTE_STATUSES = ['open', 'won', 'lost'] as const

const DisputeBody = Type.Object({
  ...{ uuid: Identity, status: Enum(DISPUTE_STATUSES), amount: MinorUnits },
  /** While it is open. */
  respondBy: Type.Optional(Text(40)),
})

/** A request that simulates the payer's bank. */
export const NewDisputeBody = Type.Object({ outcome: Enum(DISPUTE_STATUSES) })

/** A serialized checkout, charge or refund. The status is any text: the switch handles unknown values. */
export const RecordBody = Type.Object({
  id: Identity,
  key: Text(255),
  order: Text(100),
  kind: Text(50),
  status: Text(50),
  amount: MinorUnits,
  currency: Text(50),
  paid: Nullable(MinorUnits),
  declineCode: Nullable(Text(100)),
  message: Nullable(Text(1_000)),
  createdAt: Instant,
  endedAt: Nullable(Instant),
  next: Nullable(NextBody),
  card: Nullable(CardBody),
  /** Of mobile money; an older provider does not send it. */
  receiptNumber: Type.Optional(Nullable(Text(50))),
  // An older provider does not send it.
  dispute: Type.Optional(Nullable(DisputeBody)),
  /** Earlier disputes, latest first. */
  pastDisputes: Type.Optional(Type.Array(DisputeBody)),
})
export type RecordBody = Static<typeof RecordBody>

export const ExecutionBody = Type.Object({
  uuid: Text(100),
  kind: Enum(['checkout', 'charge', 'refund']),
  amount: Text(50),
  currency: CurrencyCode,
  status: Enum(['successful']),
  executedAt: Instant,
})
export type ExecutionBody = Static<typeof ExecutionBody>

/** Advances the test clock of an account. */
export const ClockBody = Type.Object({ account: Text(100), ms: Type.Integer({ minimum: 0 }) })

/** The keys of the payments that have changed, and when the next record of the account changes by itself. */
export const ClockReply = Type.Object({ changed: Type.Array(Identity), nextAt: Nullable(Instant) })
export type ClockReply = Static<typeof ClockReply>

export const WebhookBody = Type.Object({
  id: Identity,
  type: Text(100),
  key: Identity,
  order: Text(100),
  createdAt: Instant,
})
export type WebhookBody = Static<typeof WebhookBody>

const readRecord = jsonReader(RecordBody)

export function toCheckoutBody(attempt: Attempt, choice: CheckoutChoice, returnUrl: string): CheckoutBody {
  const { channel } = choice
  if (isDirect(channel)) throw new Error(`the sandbox has no rail for ${channel}`)
  return {
    ...toRequest(attempt),
    merchantName: attempt.merchantName,
    channel,
    instrument: choice.instrument ?? null,
    phone: choice.phone ?? null,
    network: choice.network ?? null,
    returnUrl,
    expiresAt: attempt.expiresAt?.toISOString() ?? null,
  }
}

export function toChargeBody(attempt: Attempt, credential: string): ChargeBody {
  return { ...toRequest(attempt), token: credential }
}

function toRequest(attempt: Attempt) {
  return {
    account: attempt.merchantId,
    order: attempt.paymentId,
    reference: attempt.reference,
    amount: String(attempt.amount.minor),
    currency: attempt.amount.currency,
    country: attempt.country,
    description: attempt.description,
    email: attempt.customer.email,
  }
}

/**
 * The record in a response, or why the outcome is unknown. With any status that is not listed, the provider may have
 * acted.
 */
export function readReply(result: HttpResult): RecordBody | Unknown {
  if (result.kind !== 'answered') return withoutResponse(result)
  switch (result.status) {
    case 200:
    case 201:
    case 402:
      return (
        readRecord(result.body.toString()) ??
        fromUnexpectedBody(result.body, `unreadable response, HTTP ${result.status}`)
      )
    case 404:
      return unknown('not_found', 'the sandbox does not know this key')
    default:
      return result.status >= 500
        ? unknown('no_answer', `the sandbox answered HTTP ${result.status}`)
        : fromUnexpectedBody(result.body, `the sandbox answered HTTP ${result.status}`)
  }
}

// Responses that prove that nothing was begun. Not 409: an earlier request used the key.
const REJECTION_MESSAGES: Readonly<Record<number, string>> = {
  400: 'the sandbox does not accept the request',
  401: 'the sandbox does not know the secret: COWRY_SANDBOX_SECRET must be the same on both sides',
  429: 'the sandbox reports too many requests',
}

function readSubmission(result: HttpResult): RecordBody | Declined | Unknown {
  const message = result.kind === 'answered' ? REJECTION_MESSAGES[result.status] : undefined
  if (message === undefined) return readReply(result)
  return refused('provider_unavailable', message)
}

export function fromStart(result: HttpResult, key: string): StartedCheckout | Outcome {
  const body = readSubmission(result)
  if (!('id' in body)) return body
  const outcome = fromRecord(body, key)
  if (outcome.kind !== 'pending' || !body.next) return outcome
  const next: NextStep = body.next
  return { kind: 'started', gatewayReference: body.id, next }
}

export function fromCharge(result: HttpResult, key: string): Outcome {
  // No other gateway can charge this card, so a rate limit is not final: the same request is retried later.
  const isBusy = result.kind === 'answered' && result.status === 429
  const body = isBusy ? unknown('no_answer', 'the sandbox reports too many requests') : readSubmission(result)
  return !('id' in body) ? body : fromRecord(body, key)
}

export function fromReply(result: HttpResult, key: string): Outcome {
  const body = readReply(result)
  return !('id' in body) ? body : fromRecord(body, key)
}

function fromRecord(body: RecordBody, key: string): Outcome {
  if (body.status === 'succeeded') return fromSuccess(body)
  // The caller checks a success for another payment; any other status of another payment says nothing about this one.
  if (body.key !== key) return unrecognized('the sandbox answered about another payment')
  switch (body.status) {
    case 'open':
    case 'authenticating':
    case 'pending':
      return { kind: 'pending', gatewayReference: body.id }
    case 'declined':
      return {
        kind: 'declined',
        code: toFailureCode(body.declineCode),
        message: body.message ?? body.declineCode ?? 'declined',
        gatewayReference: body.id,
      }
    default:
      return unrecognized(`the sandbox answered a status that we do not know: ${body.status}`)
  }
}

function fromSuccess(body: RecordBody): Outcome {
  if (!isCurrency(body.currency) || body.paid === null || body.endedAt === null)
    return unrecognized('the sandbox answered a success without an amount, a currency or a time')
  const { currency, dispute, pastDisputes = [] } = body
  const disputes = dispute ? [dispute, ...pastDisputes] : []
  return {
    kind: 'succeeded',
    gatewayReference: body.id,
    ...receipt(body.receiptNumber),
    paid: money(BigInt(body.paid), body.currency),
    key: body.key,
    savedMethod: body.card ? toSavedMethod(body.card) : null,
    paidAt: new Date(body.endedAt),
    ...(disputes.length > 0 && { disputes: disputes.map((one) => toDispute(one, currency)) }),
  }
}

function toDispute(body: Static<typeof DisputeBody>, currency: Currency): DisputeReport {
  const { uuid, status, amount, respondBy } = body
  const report = { status, amount: money(BigInt(amount), currency), reference: uuid }
  return status === 'open' && respondBy !== undefined ? { ...report, respondBy: new Date(respondBy) } : report
}

function toSavedMethod({ token, fingerprint, ...card }: Static<typeof CardBody>): SavedMethod {
  return {
    type: 'card',
    credential: token,
    fingerprint,
    card,
    mobileMoney: null,
    currencies: CURRENCY_CODES,
  }
}

function toFailureCode(code: string | null): FailureCode {
  // The sandbox uses our own codes; anything else is an unknown reason.
  return code !== null && Object.hasOwn(FAILURES, code) ? (code as FailureCode) : 'unknown'
}
