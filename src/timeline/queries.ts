// Reads what happened to one payment, in one statement over the tables of several slices, because the order over all of
// them is what the reader wants.

import { sql } from '../kit/db/db.ts'
import { FIRST_STATES } from '../payments/states.ts'

export interface TimelineRow<Type = AnyTimelineType> {
  at: Date
  type: Type
  /** The attempt, refund, dispute, case or event. */
  id: string | null
  /** The status, the event type, or the result of a delivery. */
  status: string | null
  /** The channel, the failure code, the reason, the note or the address. */
  detail: string | null
  /** The source of a move, the gateway, or the person; of a case as in its record. */
  source: string | null
  amountMinor: bigint | null
  count: number | null
}

export type TimelineType =
  | 'status_changed'
  | 'attempt_started'
  | 'payer_returned'
  | 'payer_sent'
  | 'gateway_asked'
  | 'attempt_ended'
  | 'settled'
  | 'refund_approval_requested'
  | 'refund_approval_decided'
  | 'refund_requested'
  | 'refund_ended'
  | 'refund_failed_late'
  | 'refund_credited_back'
  | 'dispute_opened'
  | 'dispute_closed'
  | 'case_opened'
  | 'case_resolved'
  | 'event'
  | 'delivery'

/** What people did about a case before it ended. The merchants' API has no types for it. */
export type CaseStepType = 'case_asked' | 'case_proposed' | 'case_rejected' | 'case_withdrawn'
export type AnyTimelineType = TimelineType | CaseStepType

/** A payment with more entries was delivered thousands of times without success; the newest are left out. */
export const MAX_ENTRIES = 1_000

const { checkout: CHECKOUT, charge: CHARGE } = FIRST_STATES

export const selectTimeline = sql<TimelineRow>`
with payment_events as materialized (
  select e.id, e.type, e.created_at
  from events e
  where e.merchant_id = $1 and e.resource_type in ('payment', 'charge', 'p2p_payment') and e.resource_id = $2
  union all
  select e.id, e.type, e.created_at
  from refunds r
  join events e on e.merchant_id = $1 and e.resource_type = 'refund' and e.resource_id = r.id
  where r.merchant_id = $1 and r.payment_id = $2
  union all
  select e.id, e.type, e.created_at
  from cases c
  join events e on e.merchant_id = $1 and e.resource_type = 'case' and e.resource_id = c.id
  where c.merchant_id = $1 and c.payment_id = $2
),
payment_attempts as (
  select *
  from attempts
  where merchant_id = $1 and payment_id = $2
),
entries as (
  select
    created_at as at, 3 as rank, 'status_changed' as type,
    case kind when 'charge' then (select id from payment_attempts where number = 1) end as id,
    case kind when 'charge' then '${CHARGE.status}' else '${CHECKOUT.status}' end as status,
    case kind when 'charge' then '${CHARGE.reason}' end as detail, 'api' as source, null::bigint as amount_minor,
    1 as count
  from payments
  where merchant_id = $1 and id = $2
  union all
  -- Older payments have a move of version 1 too, which says the same.
  select at, 3, 'status_changed', attempt_id, to_status, reason, source, null, version
  from moves
  where merchant_id = $1 and payment_id = $2 and version > 1
  union all
  select started_at, 1, 'attempt_started', id, status, channel, gateway, null, number
  from payment_attempts
  union all
  select sent_at, 2, 'payer_sent', id, null, null, gateway, null, number
  from payment_attempts
  where sent_at is not null
  union all
  select returned_at, 2, 'payer_returned', id, null, null, gateway, null, number
  from payment_attempts
  where returned_at is not null
  union all
  select polled_at, 2, 'gateway_asked', id, status, null, gateway, null, polls
  from payment_attempts
  where polled_at is not null
  union all
  select ended_at, 2, 'attempt_ended', id, status, failure_code, gateway, paid_minor, number
  from payment_attempts
  where ended_at is not null
  union all
  select e.at, 4, 'settled', null, null, null, null, p.amount_minor, null
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id and p.account = 'available'
  where e.merchant_id = $1 and e.payment_id = $2 and e.kind = 'settlement'
  union all
  select created_at, 1, 'refund_approval_requested', id, null, reason, requested_by::text, amount_minor, null
  from refund_requests
  where merchant_id = $1 and payment_id = $2
  union all
  select decided_at, 1, 'refund_approval_decided', id, status, decision_note, decided_by::text, amount_minor, 0
  from refund_requests
  where merchant_id = $1 and payment_id = $2 and decided_at is not null
  union all
  select created_at, 1, 'refund_requested', id, null, reason, gateway, amount_minor, null
  from refunds
  where merchant_id = $1 and payment_id = $2
  union all
  select
    coalesce(e.at, r.updated_at), 2, 'refund_ended', r.id, case when e.id is null then r.status else 'successful' end,
    case when e.id is null then r.failure_message end, r.gateway, r.amount_minor, null
  from refunds r
  -- A successful refund may fail later. Its entry has the time of the success.
  left join ledger_entries e on e.merchant_id = r.merchant_id and e.refund_id = r.id and e.kind = 'refund'
  where r.merchant_id = $1 and r.payment_id = $2 and r.status <> 'pending'
  union all
  select c.created_at, 3, 'refund_failed_late', r.id, 'failed', c.provider_message, r.gateway, r.amount_minor, null
  from cases c
  join refunds r on r.merchant_id = c.merchant_id and r.id = c.refund_id
  where c.merchant_id = $1 and c.payment_id = $2 and c.kind = 'refund_failed_late'
  union all
  select updated_at, 3, 'refund_credited_back', id, status, null, gateway, amount_minor, null
  from refunds
  where merchant_id = $1 and payment_id = $2 and status_reason = 'credited_back'
  union all
  select opened_at, 1, 'dispute_opened', id, null, gateway_reference, null, claimed_minor, null
  from disputes
  where merchant_id = $1 and payment_id = $2
  union all
  select closed_at, 2, 'dispute_closed', id, status, gateway_reference, null, amount_minor, null
  from disputes
  where merchant_id = $1 and payment_id = $2 and closed_at is not null
  union all
  select created_at, 4, 'case_opened', id, kind, null, null, null, null
  from cases
  where merchant_id = $1 and payment_id = $2
  union all
  select
    s.created_at, 4, 'case_' || s.kind, c.id, coalesce(s.answer, s.resolution),
    case when s.kind = 'asked' then s.provider_message else s.note end, s.actor, null, null
  from cases c
  join case_steps s on s.merchant_id = c.merchant_id and s.case_id = c.id
  where c.merchant_id = $1 and c.payment_id = $2
  union all
  select closed_at, 5, 'case_resolved', id, resolution, note, resolved_by, null, null
  from cases
  where merchant_id = $1 and payment_id = $2 and closed_at is not null
  union all
  select created_at, 6, 'event', id, type, null, null, null, null
  from payment_events
  union all
  select d.started_at, 7, 'delivery', e.id, coalesce(d.http_status::text, d.error), d.url, e.type, null, d.duration_ms
  from payment_events e
  join delivery_attempts d on d.merchant_id = $1 and d.event_id = e.id
)
select at, type, id, status, detail, source, amount_minor as "amountMinor", count
from entries
order by at, rank, count, id
limit ${String(MAX_ENTRIES)}`
