// Transactions: every try of a payer, and every refund and void as a child of the paid one. Our key is the merchant's id of
// the order. A failed try does not end the order: the payer may try again on the same page.

import { type Static, Type } from 'typebox'
import { isCurrency } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { DisputeReport, Outcome } from '../gateway.ts'
import { declined, Maybe, readTime, receipt, type Unknown, unknown, unrecognized } from '../reply.ts'
import { describeError, type ErrorReply, readReply } from './client.ts'
import { toFailureCode } from './declines.ts'
import { Digits } from './intentions.ts'
import { readChargeReference } from './references.ts'

const Text = (maxLength: number) => Type.String({ maxLength })
const Flag = Maybe(Type.Boolean())

const Transaction = Type.Object({
  id: Digits,
  amount_cents: Digits,
  currency: Text(50),
  success: Type.Boolean(),
  pending: Type.Boolean(),
  is_auth: Flag,
  is_refund: Flag,
  is_void: Flag,
  is_voided: Flag,
  has_parent_transaction: Flag,
  parent_transaction: Maybe(Digits),
  refunded_amount_cents: Maybe(Digits),
  created_at: Maybe(Text(100)),
  order: Type.Object({ id: Digits, merchant_order_id: Maybe(Text(200)) }),
  data: Maybe(
    Type.Object({
      message: Maybe(Text(2_000)),
      txn_response_code: Maybe(Text(100)),
      acq_response_code: Maybe(Text(100)),
    }),
  ),
})
export type Transaction = Static<typeof Transaction>

const readTransaction = schemaReader(Transaction)
// Older descriptions of the pay request wrap it like a callback.
const readWrapped = schemaReader(Type.Object({ obj: Transaction }))

export type Found = { kind: 'found'; transaction: Transaction } | { kind: 'nothing' } | ErrorReply | Unknown

export function fromTransactionReply(result: HttpResult): Found {
  const reply = readReply(result, read)
  if (reply.kind === 'error' && reply.http === 404) return { kind: 'nothing' }
  if (reply.kind !== 'body') return reply
  return reply.body === NOTHING ? { kind: 'nothing' } : { kind: 'found', transaction: reply.body }
}

const NOTHING = Symbol('no transaction')

/** An order without a transaction is answered with 404 or with something empty. */
function read(value: unknown): Transaction | typeof NOTHING | undefined {
  const isEmpty = value !== null && typeof value === 'object' && Object.keys(value).length === 0
  return isEmpty ? NOTHING : (readTransaction(value) ?? readWrapped(value)?.obj)
}

/** A question that Paymob refused says nothing about the payment. */
export function fromRefusedQuery(error: ErrorReply): Unknown {
  return unknown('no_answer', describeError(error))
}

/** The paid transaction of a refund or a void; undefined if it is not one of them. */
export function parentOf(transaction: Transaction): string | undefined {
  const { is_refund: isRefund, is_void: isVoid, has_parent_transaction: hasParent } = transaction
  return isRefund || isVoid || hasParent ? (transaction.parent_transaction ?? '') : undefined
}

/** `reference`: the one that is stored. It stays while the payment is open, except that of a charge: its one try has begun. */
export function fromTransaction(
  transaction: Transaction,
  { key, reference: stored }: { key: string; reference: string | null },
): Outcome {
  const { id, success, pending, order } = transaction
  const reference = readChargeReference(stored) ? id : stored
  if (parentOf(transaction) !== undefined) return unrecognized('Paymob answered about a refund')
  if (success && !pending) return fromPaid(transaction)
  // A record about another payment says nothing about this one; a success is compared by our caller.
  if (order.merchant_order_id !== key) return unrecognized('Paymob answered about another payment')
  if (success) return unrecognized('Paymob answered a payment that is pending and successful')
  if (pending) return { kind: 'pending', gatewayReference: reference }
  return fromFailed(transaction, reference)
}

function fromPaid(transaction: Transaction): Outcome {
  const { id, currency, order, is_auth: isAuthorization } = transaction
  if (isAuthorization)
    return unrecognized(
      'the integration of Paymob only authorizes cards: use one that takes the money at once',
    )
  if (!isCurrency(currency)) return unrecognized('Paymob answered a currency that we do not know')
  const paid = money(BigInt(transaction.amount_cents), currency)
  if (paid.minor <= 0n) return unrecognized('Paymob answered a payment of nothing')
  const disputes = voided(transaction, paid)
  return {
    kind: 'succeeded',
    gatewayReference: id,
    // The payer's receipt and the dashboard of Paymob have it.
    ...receipt(id),
    paid,
    key: order.merchant_order_id ?? '',
    savedMethod: null,
    paidAt: readZonedTime(transaction.created_at),
    ...(disputes && { disputes }),
  }
}

/** A payment that was voided in the dashboard: the money went back to the payer. */
function voided({ id, is_voided: isVoided }: Transaction, amount: Money): DisputeReport[] | undefined {
  return isVoided ? [{ status: 'lost', amount, reference: `void-${id}` }] : undefined
}

/** Paymob writes times without their zone, which its documentation does not say either: such a time is not used. */
function readZonedTime(text: string | null | undefined): Date | null {
  return (/(?:Z|[+-]\d\d:?\d\d)$/.test(text ?? '') && readTime(text)) || null
}

function fromFailed({ data }: Transaction, reference: string | null): Outcome {
  const { message, acq_response_code: code, txn_response_code: name } = data ?? {}
  const text = [message, name].filter(Boolean).join(', ')
  return declined(reference, toFailureCode(code, text), text.slice(0, 200) || 'the payment failed')
}
