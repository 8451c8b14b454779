// The moves of payments, as one statement over several slices' tables: the new state with its version, the attempt, the
// move, the event, and where money was collected the ledger entry, the customer's totals and the settlement to come.
// Nothing else in this service writes payments.status after the record.
//
// No attempt starts for a customer who is blocked.
//
// An attempt that ends unpaid is looked at once more when a doorbell has rung since the caller looked: what it is about
// may have come after the question.
//
// It is a compare-and-set: the caller decided on what it knew, and where the payment's version or the attempt's fence
// has moved on since, nothing is written and the caller looks again. It takes many rows at once, so that callers who
// wait together share a commit. Their limit is for the planner, as in record-queries.ts, and customers are locked in the
// same order as there, before saved methods.

import { sql, type Tx } from '../kit/db.ts'

export interface PostingInput {
  account: string
  amount_minor: string
}

/** A new attempt that starts with this move. */
export interface AttemptInput {
  id: string
  number: number
  operation: string
  gateway: string
  account_id: string | null
  gateway_key: string
  channel: string
  choice: unknown
  due_at: Date | null
}

export interface MoveInput {
  merchant_id: string
  payment_id: string
  from_status: string
  to_status: string
  expected_version: number
  status_reason: string | null
  proof: string | null
  source: string
  failure_code: string | null
  failure_message: string | null
  paid_minor: string | null
  paid_currency: string | null
  fee_minor: string | null
  paid_at: Date | null
  gateway: string | null
  payment_method_id: string | null
  recovery_payment_id: string | null
  /**
   * Where the move is about time or for the payer: when the payment ended as the caller saw it. The payer may have extended
   * it since, or somebody may have said that money is on its way.
   */
  expected_expires_at: Date | null
  /** The attempt that the move is about; it changes with the payment. */
  attempt_id: string | null
  attempt_status: string | null
  attempt_failure_code: string | null
  attempt_failure_message: string | null
  expected_fence: number | null
  /** When the attempt was due as the caller saw it: an earlier time is a doorbell that rang since. */
  attempt_due_at: Date | null
  /** When a declined attempt is looked at again; null for never. */
  attempt_next_poll_at: Date | null
  gateway_reference: string | null
  new_attempt: AttemptInput | null
  failovers: number
  entry_id: string | null
  entry_kind: string | null
  postings: PostingInput[]
  settlement_minor: string | null
  settlement_due_at: Date | null
  event_id: string
  event_type: string
  event_body: unknown
  at: Date
}

interface AppliedRow {
  n: number
}

const applyMovesStatement = sql<AppliedRow>`
with input as (
  select *
  from jsonb_to_recordset($1::jsonb) as i (
    n integer, merchant_id uuid, payment_id uuid, from_status text, to_status text, expected_version integer,
    status_reason text, proof text, source text, failure_code text, failure_message text, paid_minor bigint,
    paid_currency text, fee_minor bigint, paid_at timestamptz, gateway text, payment_method_id uuid,
    recovery_payment_id uuid, expected_expires_at timestamptz, attempt_id uuid, attempt_status text, attempt_failure_code text,
    attempt_failure_message text, expected_fence integer, attempt_due_at timestamptz, attempt_next_poll_at timestamptz,
    gateway_reference text, new_attempt jsonb, failovers integer, entry_id uuid, entry_kind text, postings jsonb, settlement_minor bigint,
    settlement_due_at timestamptz, event_id uuid, event_type text, event_body jsonb, at timestamptz
  )
  limit (select jsonb_array_length($1::jsonb))
),
locked as (
  select i.n
  from input i
  join attempts a on a.merchant_id = i.merchant_id and a.id = i.attempt_id
  where i.expected_fence is null or a.fence = i.expected_fence
  order by a.merchant_id, a.id
  for no key update of a
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
    and (i.expected_expires_at is null or p.expires_at = i.expected_expires_at)
    and (i.attempt_id is null or i.n in (select n from locked))
    and (
      i.new_attempt is null
      or not exists (
        select 1
        from customers c
        where c.merchant_id = p.merchant_id and c.id = p.customer_id and c.status = 'blocked'
      )
    )
  returning i.n, p.customer_id, p.currency, p.version
),
done as (
  select i.*, m.customer_id, m.currency, m.version
  from input i
  join moved m on m.n = i.n
),
ended_attempt as (
  update attempts a
  set
    status = d.attempt_status,
    gateway_reference = coalesce(d.gateway_reference, a.gateway_reference),
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
  insert into attempts (
    merchant_id, id, payment_id, number, operation, gateway, account_id, channel, status, gateway_key, choice,
    started_at, due_at
  )
  select
    d.merchant_id, t.id, d.payment_id, t.number, t.operation, t.gateway, t.account_id, t.channel, 'started',
    t.gateway_key, t.choice, d.at, t.due_at
  from done d
  cross join lateral jsonb_to_record(d.new_attempt) as t (
    id uuid, number integer, operation text, gateway text, account_id uuid, gateway_key text, channel text,
    choice jsonb, due_at timestamptz
  )
  where d.new_attempt is not null
),
move as (
  insert into moves (merchant_id, payment_id, version, from_status, to_status, reason, proof, source, attempt_id, at)
  select
    merchant_id, payment_id, version, from_status, to_status, status_reason, proof, source,
    coalesce(attempt_id, (new_attempt ->> 'id')::uuid), at
  from done
),
event as (
  insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
  select
    merchant_id, event_id, event_type, event_body -> 'resource' ->> 'type', payment_id, version, event_body, at
  from done
),
entry as (
  insert into ledger_entries (merchant_id, id, kind, payment_id, attempt_id, at)
  select merchant_id, entry_id, entry_kind, payment_id, attempt_id, at
  from done
  where entry_id is not null
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
),
settlement as (
  insert into pending_settlements (merchant_id, payment_id, currency, amount_minor, due_at)
  select merchant_id, payment_id, currency, settlement_minor, settlement_due_at
  from done
  where settlement_minor is not null and settlement_minor > 0
),
captured as (
  select merchant_id, customer_id, count(*) as captures, max(coalesce(paid_at, at)) as last_at
  from done
  where entry_kind = 'capture'
  group by merchant_id, customer_id
),
locked_customer as (
  select c.merchant_id, c.id
  from customers c
  join captured t on t.merchant_id = c.merchant_id and t.customer_id = c.id
  order by c.merchant_id, c.email_key
  for no key update of c
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
  select m.merchant_id, m.id
  from payment_methods m
  where (m.merchant_id, m.id) in (
    select merchant_id, payment_method_id
    from done
    where entry_kind = 'capture'
  )
  -- What is named last is done first, unless it waits: customers come before methods here too.
    and (select count(*) from locked_customer) >= 0
  order by m.merchant_id, m.id
  for no key update of m
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

/** For each input whether it was applied: false means that the payment has moved on since the caller looked. */
export async function applyMoves(db: Tx, inputs: readonly MoveInput[]): Promise<boolean[]> {
  const rows = await db.query(applyMovesStatement, [
    JSON.stringify(inputs.map((input, n) => ({ n, ...input }))),
  ])
  const applied = new Set(rows.map((row) => row.n))
  return inputs.map((_, n) => applied.has(n))
}

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
  set status_reason = $9, due_at = null
  from closed c
  where p.merchant_id = $1
    and p.id = c.payment_id
    and p.status in ('pending', 'processing')
    and p.attempts_used = c.number
    and $9::text is not null
),
entry as (
  insert into ledger_entries (merchant_id, id, kind, payment_id, attempt_id, at)
  select $1, $10::uuid, 'duplicate_capture', payment_id, id, $12
  from closed
  where $10::uuid is not null
),
posted as (
  insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select $1, $10::uuid, l.position, l.posting ->> 'account', c.paid_currency, (l.posting ->> 'amount_minor')::bigint
  from closed c
  cross join lateral jsonb_array_elements($11::jsonb) with ordinality as l (posting, position)
  where $10::uuid is not null
)
select id
from closed`
