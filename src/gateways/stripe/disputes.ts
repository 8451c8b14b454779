// Chargebacks: what Stripe's dispute objects mean, and which payment a dispute event is about. An inquiry (warning_…)
// takes no money and may never become a dispute, so it does not count as one.

import { type Static, Type } from 'typebox'
import type { Money } from '../../core/money.ts'
import { schemaReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { DisputeReport, KeyLookup } from '../gateway.ts'
import { Maybe, type Unknown, unrecognized } from '../reply.ts'
import { fromAmount } from './amounts.ts'
import { KEY_FIELD } from './forms.ts'
import { fromQueryError, readReply } from './response.ts'
import { Amount, Identity, Metadata, Text, UnixSeconds } from './shapes.ts'

const Dispute = Type.Object({
  ...{ id: Identity, status: Text(50), amount: Amount, currency: Text(10) },
  evidence_details: Maybe(Type.Object({ due_by: Maybe(UnixSeconds) })),
})
type Dispute = Static<typeof Dispute>

const readDisputes = schemaReader(Type.Object({ object: Type.Literal('list'), data: Type.Array(Dispute) }))

/** Few payments have two disputes; one page holds more than any payment has. */
export const disputesPath = (intentId: string) =>
  `/v1/disputes?payment_intent=${encodeURIComponent(intentId)}&limit=20`

/** All of them; Stripe lists the latest first. */
export function fromDisputes(result: HttpResult, paid: Money): { reports: DisputeReport[] } | Unknown {
  const reply = readReply(result, readDisputes)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromQueryError(reply)
  const reports = reply.body.data.map((dispute) => toReport(dispute, paid))
  if (reports.includes(undefined))
    return unrecognized('Stripe answered a status of a dispute that we do not know')
  return { reports: reports.filter((report) => report != null) }
}

/** Null if no money was taken; undefined if the status is unknown. */
function toReport(dispute: Dispute, paid: Money): DisputeReport | null | undefined {
  const status = toStatus(dispute.status)
  if (!status) return status
  return { status, amount: amountOf(dispute, paid), reference: dispute.id, ...deadlineOf(dispute) }
}

/** Stripe keeps the time also after the response; then it waits for the bank. */
function deadlineOf({ status, evidence_details: details }: Dispute): Pick<DisputeReport, 'respondBy'> {
  const seconds = details?.due_by
  return status === 'needs_response' && seconds ? { respondBy: new Date(seconds * 1_000) } : {}
}

function toStatus(status: string): DisputeReport['status'] | null | undefined {
  switch (status) {
    case 'needs_response':
    case 'under_review':
      return 'open'
    case 'won':
      return 'won'
    case 'lost':
      return 'lost'
    case 'warning_needs_response':
    case 'warning_under_review':
    case 'warning_closed':
    case 'prevented':
      return null
    default:
      return undefined
  }
}

/** In the bank's currency it cannot be compared with the payment; then the whole payment counts as disputed. */
function amountOf({ amount, currency }: Dispute, paid: Money): Money {
  const reported = fromAmount(amount, currency)
  return reported?.currency === paid.currency ? reported : paid
}

const readIntent = schemaReader(Type.Object({ id: Identity, metadata: Maybe(Metadata) }))

/** Our key in a payment's metadata: payments of other software on the account have none. */
export function fromKeyQuery(result: HttpResult): KeyLookup {
  const reply = readReply(result, readIntent)
  if (reply.kind === 'unknown') return reply
  if (reply.kind === 'error') return fromQueryError(reply)
  const key = reply.body.metadata?.[KEY_FIELD]
  return { kind: 'key', key: typeof key === 'string' && key !== '' ? key : null }
}
