// Writes the moves of payments in one statement over the tables of several slices: the new status with its version, the
// attempt, the move and the event. For a capture it also writes the ledger entry, the customer's totals and the pending
// settlement. After the record, only this statement writes payments.status.
//
// It is a compare-and-set. If the payment's version or the attempt's fence has changed since the caller read them, nothing is
// written, and the caller reads again. The same applies if a case was opened since, so that no case stays open about a
// payment that has ended. No attempt starts for a blocked customer, or with a saved method that cannot be charged. While the outcome of the attempt is unknown, only an
// outcome or a person's resolution moves the payment: a call that completes the attempt may have begun since.
//
// If a webhook has made the attempt due since the caller read it, an attempt that ends unpaid stays due: the webhook may
// be newer than the status that the caller got.
//
// It takes many rows, so that concurrent callers share one commit. The limit is for the planner, as in record-queries.ts.
// Customers are locked in the same order as there, before saved methods.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { ATTEMPT, NEW_ATTEMPT } from './attempt.ts'
import type { StatusReason } from './states.ts'

export interface PostingInput {
  account: string
  amount_minor: string
}

const MOVE = columnTable({
  merchantId: column<string>('uuid'),
  paymentId: column<string>('uuid'),
  fromStatus: column<string>('text'),
  toStatus: column<string>('text'),
  expectedVersion: column<number>('integer'),
  /** The caller has read that the outcome is under review, and closes its cases in the same transaction. */
  expectsReview: column<boolean>('boolean'),
  statusReason: column<StatusReason | null>('text'),
  proof: column<string | null>('text'),
  source: column<string>('text'),
  failureCode: column<string | null>('text'),
  failureMessage: column<string | null>('text'),
  paidMinor: column<bigint | null>('bigint'),
  paidCurrency: column<string | null>('text'),
  feeMinor: column<bigint | null>('bigint'),
  paidAt: column<Date | null>('timestamptz'),
  gateway: column<string | null>('text'),
  channel: column<string | null>('text'),
  paymentMethodId: column<string | null>('uuid'),
  recoveryPaymentId: column<string | null>('uuid'),
  /** When the payment expired as the caller read it; null where the move does not depend on it. */
  expectedExpiresAt: column<Date | null>('timestamptz'),
  /** The attempt that ends with the move. */
  attemptId: column<string | null>('uuid'),
  attemptStatus: column<string | null>('text'),
  attemptFailureCode: column<string | null>('text'),
  attemptFailureMessage: column<string | null>('text'),
  expectedFence: column<number | null>('integer'),
  /** When the attempt was due as the caller read it. */
  attemptDueAt: column<Date | null>('timestamptz'),
  /** When a declined attempt is polled again; null for never. */
  attemptNextPollAt: column<Date | null>('timestamptz'),
  gatewayReference: column<string | null>('text'),
  receiptNumber: column<string | null>('text'),
  /** The row of the attempt that starts with the move. */
  newAttempt: column<Record<string, unknown> | null>('jsonb'),
  failovers: column<number>('integer'),
  entryId: column<string | null>('uuid'),
  entryKind: column<string | null>('text'),
  postings: column<PostingInput[]>('jsonb'),
  settlementMinor: column<bigint | null>('bigint'),
  settlementDueAt: column<Date | null>('timestamptz'),
  eventId: column<string>('uuid'),
  eventType: column<string>('text'),
  eventPacked: column<Buffer>('bytea'),
  at: column<Date>('timestamptz'),
})

export type MoveInput = RowOf<typeof MOVE>

interface AppliedRow {
  n: number
}

const applyMovesStatement = sql<AppliedRow>`
with input as (
  select *
  from jsonb_to_recordset($1::jsonb) as i (
    n integer, ${MOVE.recordset()}
  )
  limit (select jsonb_array_length($1::jsonb))
),
locked as (
  select i.n
  from (
    select n, merchant_id, attempt_id, expected_fence
    from input
    where attempt_id is not null
    order by merchant_id, attempt_id
  ) i
  cross join lateral (
    select a.id
    from attempts a
    where a.merchant_id = i.merchant_id
      and a.id = i.attempt_id
      and (i.expected_fence is null or a.fence = i.expected_fence)
    for no key update
  ) a
),
moved as (
  update payments p
  set
    status = i.to_status,
    status_reason = i.status_reason,
    version = p.version + 1,
    failure_code = i.failure_code,
    failure_message = i.failure_message,
    amount_paid_minor = coalesce(i.paid_minor, p.amount_paid_minor),
    fee_minor = coalesce(i.fee_minor, p.fee_minor),
    paid_at = coalesce(i.paid_at, p.paid_at),
    gateway = coalesce(i.gateway, p.gateway),
    channel = coalesce(i.channel, p.channel),
    payment_method_id = coalesce(i.payment_method_id, p.payment_method_id),
    recovery_payment_id = coalesce(i.recovery_payment_id, p.recovery_payment_id),
    due_at = case when i.to_status in ('pending', 'processing') then p.expires_at end,
    attempts_used = coalesce((i.new_attempt ->> 'number')::integer, p.attempts_used),
    failovers = i.failovers
  from input i
  where p.merchant_id = i.merchant_id
    and p.id = i.payment_id
    and p.version = i.expected_version
    and p.status = i.from_status
    and (i.expects_review or coalesce(p.status_reason not in ('needs_review', 'requires_review'), true))
    and (i.expected_expires_at is null or p.expires_at = i.expected_expires_at)
    and (i.attempt_id is null or i.n in (select n from locked))
    and (i.attempt_id is not null or i.proof = 'review' or p.status_reason is distinct from 'outcome_unknown')
    and (
      i.new_attempt is null
      -- Not with exists, for which the planner may read all customers.
      or (
        select c.status <> 'blocked'
        from customers c
        where c.merchant_id = p.merchant_id and c.id = p.customer_id
      )
    )
    and (
      i.new_attempt ->> 'payment_method_id' is null
      or (
        select m.status = 'active' and m.customer_id = p.customer_id and coalesce(m.expires_at > i.at, true)
        from payment_methods m
        where m.merchant_id = p.merchant_id and m.id = (i.new_attempt ->> 'payment_method_id')::uuid
      )
    )
  returning i.n, p.kind, p.customer_id, p.currency, p.version
),
done as (
  select i.*, m.kind, m.customer_id, m.currency, m.version
  from input i
  join moved m on m.n = i.n
),
ended_attempt as (
  update attempts a
  set
    status = d.attempt_status,
    gateway_reference = coalesce(d.gateway_reference, a.gateway_reference),
    receipt_number = coalesce(d.receipt_number, a.receipt_number),
    failure_code = d.attempt_failure_code,
    failure_message = d.attempt_failure_message,
    paid_minor = d.paid_minor,
    paid_currency = d.paid_currency,
    ended_at = d.at,
    due_at = case
      when d.attempt_status = 'declined' and a.due_at < coalesce(d.attempt_due_at, 'infinity')
      then a.due_at
      else d.attempt_next_poll_at
    end
  from done d
  where a.merchant_id = d.merchant_id and a.id = d.attempt_id
),
new_attempt as (
  insert into attempts (${ATTEMPT.list(NEW_ATTEMPT)})
  select t.*
  from done d
  cross join lateral jsonb_to_record(d.new_attempt) as t (${ATTEMPT.recordset(NEW_ATTEMPT)})
  where d.new_attempt is not null
  returning 1
),
move as (
  insert into moves (merchant_id, payment_id, version, from_status, to_status, reason, proof, source, attempt_id, at)
  select
    merchant_id, payment_id, version, from_status, to_status, status_reason, proof, source,
    coalesce(attempt_id, (new_attempt ->> 'id')::uuid), at
  from done
  returning 1
),
event as (
  insert into events (merchant_id, id, type, resource_type, resource_id, version, packed, created_at)
  select
    merchant_id, event_id, event_type, case kind when 'charge' then 'charge' else 'payment' end, payment_id, version,
    event_packed, at
  from done
  returning 1
),
entry as (
  insert into ledger_entries (merchant_id, id, kind, payment_id, attempt_id, at)
  select merchant_id, entry_id, entry_kind, payment_id, attempt_id, at
  from done
  where entry_id is not null
  returning 1
),
posted as (
  insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select d.merchant_id, d.entry_id, l.position, l.posting ->> 'account', d.currency, (l.posting ->> 'amount_minor')::bigint
  from done d
  cross join lateral jsonb_array_elements(d.postings) with ordinality as l (posting, position)
  where d.entry_id is not null
  returning merchant_id, entry_id, position, account, currency, amount_minor
),
delta as (
  insert into balance_deltas (
    merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
  )
  select
    p.merchant_id, p.currency, p.account, p.amount_minor, d.at, p.entry_id, p.position, d.entry_kind, d.payment_id
  from posted p
  join done d on d.entry_id = p.entry_id
  where p.account in ('available', 'pending')
  order by d.n, p.position
  returning 1
),
settlement as (
  insert into pending_settlements (merchant_id, payment_id, currency, amount_minor, due_at)
  select merchant_id, payment_id, currency, settlement_minor, settlement_due_at
  from done
  where settlement_minor is not null and settlement_minor > 0
  returning 1
),
captured as (
  select merchant_id, customer_id, count(*) as captures, max(coalesce(paid_at, at)) as last_at
  from done
  where entry_kind = 'capture'
  group by merchant_id, customer_id
),
locked_customer as (
  select k.merchant_id, k.id
  from (
    select c.merchant_id, c.id
    from customers c
    join captured t on t.merchant_id = c.merchant_id and t.customer_id = c.id
    order by c.merchant_id, c.email_key
  ) k
  cross join lateral (
    select c.id
    from customers c
    where c.merchant_id = k.merchant_id and c.id = k.id
    for no key update
  ) c
),
totals as (
  update customers c
  set
    successful_payments = c.successful_payments + t.captures,
    last_payment_at = greatest(c.last_payment_at, t.last_at)
  from captured t
  join locked_customer l on l.merchant_id = t.merchant_id and l.id = t.customer_id
  where c.merchant_id = t.merchant_id and c.id = t.customer_id
),
locked_method as (
  select d.merchant_id, d.payment_method_id as id
  from (
    select distinct merchant_id, payment_method_id
    from done
    where entry_kind = 'capture'
      and payment_method_id is not null
      -- PostgreSQL may run later CTEs first; this dependency makes it lock customers before methods.
      and (select count(*) from locked_customer) >= 0
    order by merchant_id, payment_method_id
  ) d
  cross join lateral (
    select m.id
    from payment_methods m
    where m.merchant_id = d.merchant_id and m.id = d.payment_method_id
    for no key update
  ) m
),
used_method as (
  update payment_methods m
  set last_used_at = greatest(m.last_used_at, d.at)
  from done d
  join locked_method l on l.merchant_id = d.merchant_id and l.id = d.payment_method_id
  where m.merchant_id = d.merchant_id and m.id = d.payment_method_id
)
select n
from moved`

/** For each input whether it was written. False: the payment has changed since the caller read it. */
export async function applyMoves(db: Tx, inputs: readonly MoveInput[]): Promise<boolean[]> {
  const rows = await db.query(applyMovesStatement, [MOVE.toJson(inputs)])
  const applied = new Set(rows.map((row) => row.n))
  return inputs.map((_, n) => applied.has(n))
}

const IS_OPEN = `p.status in ('pending', 'processing')`

// Closes an attempt without a move: the payment already has the right status.
export const closeAttemptStatement = sql<{ id: string }>`
with closed as (
  update attempts
  set
    status = $3,
    failure_code = $4,
    failure_message = $5,
    paid_minor = $6,
    paid_currency = $7,
    gateway_reference = coalesce($8, gateway_reference),
    receipt_number = coalesce($15, receipt_number),
    ended_at = $12,
    refund_due_at = case when $3 = 'duplicate_success' then $12::timestamptz end,
    due_at = case
      when $3 in ('declined', 'requires_review') and due_at < coalesce($13::timestamptz, 'infinity')
      then due_at
      else $14
    end
  where merchant_id = $1
    and id = $2
    and status not in ('succeeded', 'amount_mismatch', 'duplicate_success')
    and status <> $3
  returning id, payment_id, number, paid_currency
),
reason as (
  update payments p
  set
    status_reason = case when c.number = p.attempts_used and ${IS_OPEN} then $9 else p.status_reason end,
    due_at = case when c.number = p.attempts_used and ${IS_OPEN} then null else p.due_at end,
    amount_received_minor = case
      when p.amount_paid_minor is null and c.paid_currency = p.currency then $6::bigint
      else p.amount_received_minor
    end
  from closed c
  where p.merchant_id = $1 and p.id = c.payment_id and $9::text is not null
),
entry as (
  insert into ledger_entries (merchant_id, id, kind, payment_id, attempt_id, at)
  select
    $1, $10::uuid, case when $3 = 'duplicate_success' then 'duplicate_capture' else 'unmatched_capture' end,
    payment_id, id, $12
  from closed
  where $10::uuid is not null
  returning 1
),
posted as (
  insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select $1, $10::uuid, l.position, l.posting ->> 'account', c.paid_currency, (l.posting ->> 'amount_minor')::bigint
  from closed c
  cross join lateral jsonb_array_elements($11::jsonb) with ordinality as l (posting, position)
  where $10::uuid is not null
  returning 1
)
select id
from closed`
