// Refunds. A reversal returns a payment by its receipt number: it has no id of ours, so it is sent once, and only its
// callback says how it ended. A payout (B2C) sends the money from another shortcode to the payer under an id of ours, so a
// repeated request has no effect and its status can be queried; the answer to that query is a callback too.

import { Type } from 'typebox'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { RefundOutcome, RefundRequest } from '../gateway.ts'
import { fromUnexpectedBody, type Unknown, unknown, unrecognized, withoutResponse } from '../reply.ts'
import { fromShillings, toShillings } from './amounts.ts'
import { describe, isOutcome, isThrottled, readError, rejectionOf, TOO_MANY_REQUESTS } from './api.ts'
import { COMPLETED, type RefundReport, refundReportOf } from './callbacks.ts'
import { toMsisdn } from './push.ts'

export const REVERSAL_PATH = '/mpesa/reversal/v1/request'
export const PAYOUT_PATH = '/mpesa/b2c/v3/paymentrequest'
export const TRANSACTION_STATUS_PATH = '/mpesa/transactionstatus/v1/query'

/** The API user of M-Pesa that may refund. */
export interface Initiator {
  name: string
  securityCredential: string
  /** That of the payments for reversals, that of payouts for payouts. */
  shortcode: string
}

export interface RefundAddresses {
  result: string
  /** A request that expired in a queue of M-Pesa is reported here; it says nothing about the refund. */
  timeout: string
}

type Body = { body: object } | { issue: string }

const NO_CENTS = 'M-Pesa moves whole shillings only: refund a whole amount'

export function toReversal(request: RefundRequest, by: Initiator, urls: RefundAddresses): Body {
  const shillings = toShillings(request.amount)
  if (shillings === undefined) return { issue: NO_CENTS }
  const { receiptNumber } = request
  if (receiptNumber === undefined)
    return { issue: 'M-Pesa has not reported the receipt number of this payment: reverse it in its portal' }
  return {
    body: {
      Initiator: by.name,
      SecurityCredential: by.securityCredential,
      CommandID: 'TransactionReversal',
      TransactionID: receiptNumber,
      Amount: shillings,
      ReceiverParty: by.shortcode,
      // Their spelling.
      RecieverIdentifierType: '11',
      ...common(request, urls),
    },
  }
}

export function toPayout(request: RefundRequest, by: Initiator, urls: RefundAddresses): Body {
  const shillings = toShillings(request.amount)
  if (shillings === undefined) return { issue: NO_CENTS }
  const msisdn = toMsisdn(request.payerPhone)
  if (msisdn === undefined) return { issue: 'The number of the payer is not known: pay it out in the portal' }
  return {
    body: {
      OriginatorConversationID: request.key,
      InitiatorName: by.name,
      SecurityCredential: by.securityCredential,
      CommandID: 'BusinessPayment',
      Amount: shillings,
      PartyA: by.shortcode,
      PartyB: msisdn,
      ...common(request, urls),
    },
  }
}

export function toStatusBody(request: RefundRequest, by: Initiator, urls: RefundAddresses): object {
  return {
    Initiator: by.name,
    SecurityCredential: by.securityCredential,
    CommandID: 'TransactionStatusQuery',
    OriginatorConversationID: request.key,
    PartyA: by.shortcode,
    IdentifierType: '4',
    ...common(request, urls),
  }
}

function common({ isFull }: RefundRequest, { result, timeout }: RefundAddresses) {
  const Remarks = isFull ? 'Refund' : 'Part refund'
  return { Remarks, Occasion: 'Refund', ResultURL: result, QueueTimeOutURL: timeout }
}

const readAccepted = jsonReader(
  Type.Object({
    ResponseCode: Type.Literal('0'),
    ConversationID: Type.String({ minLength: 1, maxLength: 100 }),
  }),
)
const readNotAccepted = jsonReader(
  Type.Object({
    ResponseCode: Type.String({ pattern: '^[1-9][0-9]{0,5}$' }),
    ConversationID: Type.Optional(Type.Literal('')),
  }),
)

// A payout under an id that M-Pesa has: an earlier request arrived.
const DUPLICATE = '500.002.1001'

/** An accepted request ends by callback only. */
export function fromRefund(result: HttpResult | Unknown): RefundOutcome {
  if (isOutcome(result)) return result
  if (readError(result)?.code === DUPLICATE) return { kind: 'pending', gatewayReference: null }
  // Nothing was begun, and the same request works later.
  if (isThrottled(result)) return unknown('not_sent', TOO_MANY_REQUESTS)
  const rejection = rejectionOf(result)
  // Without key retention the service sends a refund once, so no earlier request can have been executed.
  if (rejection !== undefined) return failed(rejection)
  if (result.kind !== 'answered') return withoutResponse(result)
  const message = `Daraja answered HTTP ${result.status}`
  if (result.status >= 500) return unknown('no_answer', message)
  const accepted = result.status === 200 ? readAccepted(result.body) : undefined
  if (accepted) return { kind: 'pending', gatewayReference: accepted.ConversationID }
  const notAccepted = result.status === 200 ? readNotAccepted(result.body) : undefined
  if (notAccepted) return failed(`Daraja did not accept the refund: code ${notAccepted.ResponseCode}`)
  return fromUnexpectedBody(result.body, message)
}

export const failed = (message: string, gatewayReference: string | null = null): RefundOutcome => ({
  kind: 'failed',
  message,
  gatewayReference,
})

const NOT_REPORTED = unknown('not_found', 'M-Pesa has not reported the end of this refund')

/** The reported end of a refund; not found while there is none. */
export function fromReport(
  request: RefundRequest,
  gatewayReference: string | null,
  isPayout: boolean,
): RefundOutcome {
  const report = refundReportOf(request.report)
  if (!report) return NOT_REPORTED
  if (report.status !== undefined) return fromStatusReport(report, request)
  const isOther = gatewayReference !== null && report.conversation !== gatewayReference
  const isOurPayout = isPayout && report.originator === request.key
  if (isPayout && !isOurPayout && report.conversation !== gatewayReference) return NOT_REPORTED
  // Another request that names our payout may have failed, such as a query: it does not prove that the payout failed.
  const isTrusted = !isOther || (isOurPayout && isExecuted(report))
  return isTrusted ? fromResult(report, request) : unrecognized('M-Pesa reported the end of another request')
}

// The money was returned before, perhaps not by this refund.
const RETURNED_BEFORE = /already|duplicate/i

function fromResult(report: RefundReport, request: RefundRequest): RefundOutcome {
  const { resultCode, text, transaction, conversation } = report
  const said = describe({ code: resultCode, text })
  if (isExecuted(report))
    return transaction !== undefined && isAmountOf(report, request)
      ? { kind: 'succeeded', gatewayReference: transaction }
      : unrecognized(`M-Pesa answered ${said}, but about another amount or without a number`)
  const isUnclear = /success/i.test(text) || RETURNED_BEFORE.test(text)
  if (isUnclear) return unrecognized(`M-Pesa answered ${said}`)
  return failed(`M-Pesa answered ${said}${adviceFor(resultCode)}`, conversation ?? null)
}

/** The published example of a successful reversal has the code 21, and names the payment; a failed one names none. */
function isExecuted({ resultCode, text, original }: RefundReport): boolean {
  return resultCode === '0' || (/processed successfully/i.test(text) && original !== undefined)
}

/** Not every result has an amount. */
function isAmountOf({ amount: text }: RefundReport, { amount }: RefundRequest): boolean {
  return text === undefined || fromShillings(text)?.minor === amount.minor
}

function fromStatusReport(report: RefundReport, request: RefundRequest): RefundOutcome {
  const { status, receipt, resultCode } = report
  const isPaid = resultCode === '0' && status === COMPLETED && isAmountOf(report, request)
  if (isPaid && receipt !== undefined) return { kind: 'succeeded', gatewayReference: receipt }
  return unrecognized(`M-Pesa answered that the payout is ${String(status).slice(0, 30)}`)
}

/** What an operator can do: the same numbers mean something else for a prompt. */
function adviceFor(code: string): string {
  if (code === '2001') return ': the initiator or its security credential is wrong'
  if (code === '8006') return ': the security credential is locked, stop and reset it in the portal'
  if (code === 'TP40153') return ': the initiator lacks the role for refunds'
  return ''
}
