// Chargebacks. A transaction does not contain its disputes; a second request lists them by its id. The amount is the
// one that the bank claims, or the whole payment if none is given.

import { type Static, Type } from 'typebox'
import type { Money } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { DisputeReport, Outcome } from '../gateway.ts'
import { Maybe, readTime, type Succeeded, type Unknown, unrecognized } from '../reply.ts'
import { Digits, Text } from './json.ts'
import { fromRefusedQuery, isUnknown, type Reply, redact } from './response.ts'
import { fromSubunits } from './wire.ts'

const Dispute = Type.Object({
  id: Digits,
  // Any text: the switch handles unknown values.
  status: Text(),
  resolution: Maybe(Text()),
  refund_amount: Maybe(Digits),
  currency: Maybe(Text()),
  // The documentation has both spellings.
  dueAt: Maybe(Text()),
  due_at: Maybe(Text()),
})
type Dispute = Static<typeof Dispute>

// The documentation shows a list in one place and a single dispute in another.
const readDisputes = schemaReader(Type.Union([Type.Array(Dispute), Dispute]))

export const disputesPath = (transactionId: string) =>
  `/dispute/transaction/${encodeURIComponent(transactionId)}`

/** What the transaction says about its disputes. */
export interface DisputedTransaction {
  paid: Succeeded
  /** Paystack has taken the money back. */
  isReversed: boolean
}

/** Adds the disputes to the success, if there are any. */
export function withDisputes(reply: Reply, transaction: DisputedTransaction): Outcome {
  const { paid } = transaction
  if (isUnknown(reply)) return reply
  if (reply.kind === 'refused') return reply.http === 404 ? paid : fromRefusedQuery(reply)
  if (reply.data == null) return paid
  const data = readDisputes(reply.data)
  if (!data) return unrecognized('Paystack answered disputes that cannot be read')
  return fromDisputes(Array.isArray(data) ? data : [data], transaction)
}

function fromDisputes(disputes: readonly Dispute[], transaction: DisputedTransaction): Outcome {
  const { paid } = transaction
  const reports = disputes.map((dispute) => toReport(dispute, transaction))
  const unrecognizedReport = reports.find((report) => 'kind' in report)
  if (unrecognizedReport) return unrecognizedReport
  const known = reports.filter((report) => 'reference' in report)
  // Latest first; ids only grow.
  const latest = known.toSorted((a, b) => Number(BigInt(b.reference) - BigInt(a.reference)))
  return latest.length > 0 ? { ...paid, disputes: latest } : paid
}

function toReport(dispute: Dispute, { paid, isReversed }: DisputedTransaction): DisputeReport | Unknown {
  const status = toStatus(dispute, isReversed)
  if (typeof status !== 'string') return status
  return { status, amount: amountOf(dispute, paid.paid), reference: dispute.id, ...deadlineOf(dispute) }
}

/** While Paystack waits for the merchant. */
function deadlineOf({ status, dueAt, due_at: other }: Dispute): Pick<DisputeReport, 'respondBy'> {
  const respondBy = status === 'awaiting-merchant-feedback' ? readTime(dueAt ?? other) : undefined
  return respondBy ? { respondBy } : {}
}

/** Without a decision the transaction tells the end: Paystack has reversed it, or the merchant keeps the money. */
function toStatus({ status, resolution }: Dispute, isReversed: boolean): DisputeReport['status'] | Unknown {
  switch (status) {
    case 'awaiting-merchant-feedback':
    case 'awaiting-bank-feedback':
    case 'pending':
      return 'open'
    case 'resolved':
    // No longer followed by Paystack, mostly without a resolution.
    case 'archived':
      break
    default:
      return unrecognized(`Paystack answered a dispute that is ${redact(status)}`)
  }
  switch (resolution) {
    case 'merchant-accepted':
    case 'auto-accepted':
      return 'lost'
    case 'declined':
      return 'won'
    case null:
    case undefined:
    case '':
      return isReversed ? 'lost' : 'won'
    default:
      if (isReversed) return 'lost'
      return unrecognized(`Paystack answered a dispute that was resolved ${redact(String(resolution))}`)
  }
}

function amountOf({ refund_amount: amount, currency }: Dispute, paid: Money): Money {
  const isReported = amount != null && amount !== '0' && (currency == null || currency === paid.currency)
  return (isReported ? fromSubunits(amount, paid.currency) : undefined) ?? paid
}
