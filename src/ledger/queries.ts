// The statements over balances and settlements. The statement that moves a payment inserts the entries of its outcome.
//
// A locking select with a limit needs a CTE of its own: in a condition the planner may run it once per row, and it then
// locks more rows than the limit.

import type { Currency } from '../core/currency.ts'
import { type Db, shared, sql, type Tx } from '../kit/db/db.ts'
import { BACKLOG_LIMIT, type Backlog } from '../kit/observability/backlog.ts'

export interface BalanceRow {
  currency: Currency
  availableMinor: bigint
  pendingMinor: bigint
  updatedAt: Date
}

// Adds folded balances and unfolded deltas in one snapshot. The fold moves rows between the two in one statement.
const selectBalancesStatement = shared(sql<BalanceRow>`
select
  currency,
  sum(available_minor)::bigint as "availableMinor",
  sum(pending_minor)::bigint as "pendingMinor",
  max(at) as "updatedAt"
from (
  select currency, available_minor, pending_minor, updated_at as at
  from balances
  where merchant_id = $1
  union all
  select
    currency,
    case when account = 'available' then amount_minor else 0 end,
    case when account = 'pending' then amount_minor else 0 end,
    at
  from balance_deltas
  where merchant_id = $1
) parts
group by currency
order by currency`)

export async function selectBalances(db: Db, merchantId: string): Promise<BalanceRow[]> {
  return db.query(selectBalancesStatement, [merchantId])
}

/** The total of one settlement run for one merchant and currency. */
export interface SettledRow {
  merchantId: string
  currency: Currency
  amountMinor: bigint
  payments: number
}

// $1 is the time, $3 the ids of the entries: one entry per payment, so that each line of the statement names its payment.
const SETTLE_CLAIMED = `
due as (
  delete from pending_settlements s
  using claimed c
  where s.merchant_id = c.merchant_id and s.payment_id = c.payment_id
  returning s.merchant_id, s.payment_id, s.currency, s.amount_minor
),
numbered as (
  select d.*, ($3::uuid[])[row_number() over ()] as entry_id
  from due d
),
entry as (
  insert into ledger_entries (merchant_id, id, kind, payment_id, at)
  select merchant_id, entry_id, 'settlement', payment_id, $1
  from numbered
  returning 1
),
lines as (
  select merchant_id, payment_id, entry_id, 1 as position, 'pending' as account, currency, -amount_minor as amount_minor
  from numbered
  union all
  select merchant_id, payment_id, entry_id, 2, 'available', currency, amount_minor
  from numbered
),
posted as (
  insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select merchant_id, entry_id, position, account, currency, amount_minor
  from lines
  returning 1
),
delta as (
  insert into balance_deltas (
    merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
  )
  select merchant_id, currency, account, amount_minor, $1, entry_id, position, 'settlement', payment_id
  from lines
  order by entry_id, position
  returning 1
)
select
  merchant_id as "merchantId", currency, sum(amount_minor)::bigint as "amountMinor", count(*)::integer as payments
from due
group by merchant_id, currency
order by merchant_id, currency`

const claimDueSettlementsStatement = sql<SettledRow>`
with claimed as (
  select merchant_id, payment_id
  from pending_settlements
  where due_at <= $1
  order by due_at
  limit $2
  for update skip locked
),
${SETTLE_CLAIMED}`

/** Moves the money that is due from pending to available. */
export async function claimDueSettlements(
  tx: Tx,
  now: Date,
  limit: number,
  makeId: () => string,
): Promise<SettledRow[]> {
  const ids = Array.from({ length: limit }, makeId)
  return tx.query(claimDueSettlementsStatement, [now, limit, ids])
}

// The row lock waits for a concurrent settlement. A row that has gone by then was settled by it.
const claimSettlementsOfStatement = sql<SettledRow>`
with claimed as (
  select s.merchant_id, s.payment_id
  from (
    select merchant_id, payment_id
    from jsonb_to_recordset($2::jsonb) as w (merchant_id uuid, payment_id uuid)
    order by merchant_id, payment_id
  ) w
  cross join lateral (
    select s.merchant_id, s.payment_id
    from pending_settlements s
    where s.merchant_id = w.merchant_id and s.payment_id = w.payment_id
    for update
  ) s
),
${SETTLE_CLAIMED}`

/** Moves the pending money of these payments to available, due or not. */
export async function claimSettlementsOf(
  tx: Tx,
  now: Date,
  payments: readonly { merchantId: string; paymentId: string }[],
  makeId: () => string,
): Promise<SettledRow[]> {
  const wanted = payments.map((one) => ({ merchant_id: one.merchantId, payment_id: one.paymentId }))
  return tx.query(claimSettlementsOfStatement, [now, JSON.stringify(wanted), payments.map(makeId)])
}

const selectBacklogStatement = sql<Backlog>`
select 'settle-money' as name, count(*)::integer as due, min(s.due_at) as "oldestDueAt"
from (select due_at from pending_settlements where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) s`

export async function selectSettlementBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return db.query(selectBacklogStatement, [now])
}
