// Requests to pay, and the pure translations between them and the gateway contract. We choose the id of a request, which
// is our key, and send it as externalId too: the record returns only that one.

import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { FailureCode } from '../../core/failures.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { Attempt, Outcome, ParsedWebhook, StatusQuery, WebhookRequest } from '../gateway.ts'
import { declined, receipt, refused, unrecognized } from '../reply.ts'
import { readPaid, reasonOf, type Transaction, toAmount } from './response.ts'

export interface PaymentBody {
  amount: string
  currency: string
  externalId: string
  payer: { partyIdType: 'MSISDN'; partyId: string }
  payerMessage: string
  payeeNote: string
}

export function toPaymentBody(attempt: Attempt, phone: string): PaymentBody {
  const { reference, paymentId } = attempt
  const payeeNote = plain(reference) || paymentId
  return { ...paymentTerms(attempt, phone), payerMessage: toPayerMessage(attempt) || payeeNote, payeeNote }
}

/** After an approval, which had the texts. */
export function toApprovedBody(query: Pick<StatusQuery, 'key' | 'amount'>, phone: string): PaymentBody {
  return { ...paymentTerms(query, phone), payerMessage: 'Payment', payeeNote: query.key }
}

function paymentTerms({ key, amount }: Pick<StatusQuery, 'key' | 'amount'>, phone: string) {
  return { amount: toAmount(amount), currency: amount.currency, externalId: key, payer: toParty(phone) }
}

/** `phone` is E.164; MTN wants the digits with the country code. */
export function toParty(phone: string): PaymentBody['payer'] {
  return { partyIdType: 'MSISDN', partyId: phone.replace('+', '') }
}

/** Empty if there is nothing that MTN takes. */
export function toPayerMessage({ description, merchantName }: Attempt): string {
  return plain(description ?? '') || plain(merchantName)
}

const MAX_TEXT = 160

/** MTN rejects apostrophes, and names no other character; letters, digits and common signs are certain to pass. */
function plain(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/['\u2018\u2019\u02bc\p{M}]/gu, '')
    .replace(/[^A-Za-z0-9.,:/-]+/g, ' ')
    .trim()
    .slice(0, MAX_TEXT)
    .trim()
}

export function fromTransaction(transaction: Transaction, key: string): Outcome {
  const { status, externalId } = transaction
  if (status === 'SUCCESSFUL') return fromSuccessful(transaction, key)
  // The caller checks a success for another payment; any other state of another payment says nothing about this one.
  if (externalId !== key) return unrecognized('MTN MoMo answered about another payment')
  switch (status) {
    case 'CREATED':
    case 'PENDING':
      return { kind: 'pending', gatewayReference: key }
    case 'FAILED':
      return declined(key, failureOf(reasonOf(transaction)), describeReason(reasonOf(transaction)))
    default:
      return unrecognized('MTN MoMo answered a status that we do not know')
  }
}

function fromSuccessful(transaction: Transaction, key: string): Outcome {
  const paid = readPaid(transaction)
  if (!paid) return unrecognized('MTN MoMo reported an amount that our ledger cannot hold')
  return {
    kind: 'succeeded',
    gatewayReference: key,
    ...receipt(transaction.financialTransactionId),
    paid,
    key: transaction.externalId,
    savedMethod: null,
    // No record has a time.
    paidAt: null,
  }
}

export function describeReason(reason: string): string {
  return reason ? `MTN MoMo answered ${reason}` : 'MTN MoMo gave no reason'
}

const DECLINES: Readonly<Record<string, FailureCode>> = {
  APPROVAL_REJECTED: 'customer_cancelled',
  // The payer did not approve within five minutes.
  COULD_NOT_PERFORM_TRANSACTION: 'customer_timeout',
  EXPIRED: 'customer_timeout',
  // By the documentation mostly a lack of funds, although there is a code for that. So we do not say it.
  INTERNAL_PROCESSING_ERROR: 'unknown',
  INVALID_CALLBACK_URL_HOST: 'provider_unavailable',
  INVALID_CURRENCY: 'provider_unavailable',
  NOT_ALLOWED: 'do_not_honor',
  NOT_ALLOWED_TARGET_ENVIRONMENT: 'provider_unavailable',
  NOT_ENOUGH_FUNDS: 'insufficient_funds',
  // The payee is the merchant's account: its fault is not the payer's.
  PAYEE_NOT_ALLOWED_TO_RECEIVE: 'provider_unavailable',
  PAYEE_NOT_FOUND: 'provider_unavailable',
  PAYER_LIMIT_REACHED: 'limit_exceeded',
  PAYER_NOT_FOUND: 'wallet_not_found',
  PAYMENT_NOT_APPROVED: 'customer_cancelled',
  SERVICE_UNAVAILABLE: 'provider_unavailable',
  TRANSACTION_CANCELED: 'customer_cancelled',
}

function failureOf(reason: string): FailureCode {
  return Object.hasOwn(DECLINES, reason) ? (DECLINES[reason] ?? 'unknown') : 'unknown'
}

/** Nothing was begun. If the payer has no account, another gateway cannot reach it either. */
export function fromRejection({ code, message }: { code: string; message: string }): Outcome {
  return code === 'PAYER_NOT_FOUND'
    ? declined(null, 'wallet_not_found', message)
    : refused('provider_unavailable', message)
}

const readCallbackBody = schemaReader(Type.Object({ status: Type.String({ maxLength: 200 }) }))

/** Callbacks are not signed: the secret path says which payment they are about, and the body is not trusted. */
export function readCallback({ callback, rawBody }: WebhookRequest): ParsedWebhook {
  if (callback?.kind !== 'attempt') return { kind: 'forged' }
  if (!readCallbackBody(parseExactJson(rawBody.toString())))
    return { kind: 'ignored', reason: 'not a callback that we know' }
  const eventId = createHash('sha256').update(rawBody).digest('hex')
  return { kind: 'payment', key: callback.key, eventId }
}
