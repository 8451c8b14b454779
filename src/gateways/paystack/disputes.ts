// Chargebacks. A transaction does not contain its disputes; a second request lists them by its id. The amount is the
// one that the bank claims, or the whole payment if none is given.

import { type Static, Type } from 'typebox'
import type { Money } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { DisputeReport, Outcome } from '../gateway.ts'
import { Maybe, type Succeeded, type Unknown, unknown } from '../reply.ts'
import { Digits, Text } from './json.ts'
import { isUnknown, type Reply, redact } from './response.ts'
import { fromSubunits } from './wire.ts'

const Dispute = Type.Object({
  id: Digits,
  // Any text: the switch handles unknown values.
  status: Text(),
  resolution: Maybe(Text()),
  refund_amount: Maybe(Digits),
  currency: Maybe(Text()),
})
type Dispute = Static<typeof Dispute>

// The documentation shows a list in one place and a single dispute in another.
const readDisputes = schemaReader(Type.Union([Type.Array(Dispute), Dispute]))

export const disputesPath = (transactionId: string) =>
  `/dispute/transaction/${encodeURIComponent(transactionId)}`

/** Adds the disputes to the success, if there are any. */
export function withDisputes(reply: Reply, paid: Succeeded): Outcome {
  if (isUnknown(reply)) return reply
  if (reply.kind === 'refused') return reply.http === 404 ? paid : unknown('no_answer', reply.message)
  if (reply.data == null) return paid
  const data = readDisputes(reply.data)
  if (!data) return unknown('unreadable', 'Paystack answered disputes that cannot be read')
  return fromDisputes(Array.isArray(data) ? data : [data], paid)
}

function fromDisputes(disputes: readonly Dispute[], paid: Succeeded): Outcome {
  const reports = disputes.map((dispute) => toReport(dispute, paid.paid))
  const unreadable = reports.find((report) => 'kind' in report)
  if (unreadable) return unreadable
  const known = reports.filter((report) => 'reference' in report)
  // Latest first; ids only grow.
  const latest = known.toSorted((a, b) => Number(BigInt(b.reference) - BigInt(a.reference)))
  return latest.length > 0 ? { ...paid, disputes: latest } : paid
}

function toReport(dispute: Dispute, paid: Money): DisputeReport | Unknown {
  const status = toStatus(dispute)
  if (typeof status !== 'string') return status
  return { status, amount: amountOf(dispute, paid), reference: dispute.id }
}

function toStatus({ status, resolution }: Dispute): DisputeReport['status'] | Unknown {
  switch (status) {
    case 'awaiting-merchant-feedback':
    case 'awaiting-bank-feedback':
    case 'pending':
      return 'open'
    case 'resolved':
      break
    default:
      return unknown('unreadable', `Paystack answered a dispute that is ${redact(status)}`)
  }
  switch (resolution) {
    case 'merchant-accepted':
    case 'auto-accepted':
      return 'lost'
    case 'declined':
      return 'won'
    default:
      return unknown(
        'unreadable',
        `Paystack answered a dispute that was resolved ${redact(String(resolution))}`,
      )
  }
}

function amountOf({ refund_amount: amount, currency }: Dispute, paid: Money): Money {
  const isReported = amount != null && amount !== '0' && (currency == null || currency === paid.currency)
  return (isReported ? fromSubunits(amount, paid.currency) : undefined) ?? paid
}
