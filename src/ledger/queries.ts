// Every statement over the ledger, except the entries that the settle of a payment writes.
//
// A locking select with a limit stands in a CTE of its own: inside a condition the planner may run it once per row, and
// then it takes more rows than the limit.

import type { Currency } from '../core/currency.ts'
import { type Db, sql } from '../kit/db.ts'

export interface BalanceRow {
  currency: Currency
  availableMinor: bigint
  pendingMinor: bigint
  updatedAt: Date
}

// What is folded and what is not yet, in one snapshot: the fold moves rows between the two in one statement.
const selectBalancesStatement = sql<BalanceRow>`
select
  currency,
  coalesce(sum(amount_minor) filter (where account = 'available'), 0)::bigint as "availableMinor",
  coalesce(sum(amount_minor) filter (where account = 'pending'), 0)::bigint as "pendingMinor",
  max(at) as "updatedAt"
from (
  select currency, account, amount_minor, updated_at as at
  from balances
  where merchant_id = $1
  union all
  select currency, account, amount_minor, at
  from balance_deltas
  where merchant_id = $1
) parts
group by currency
order by currency`

export async function selectBalances(db: Db, merchantId: string): Promise<BalanceRow[]> {
  return db.query(selectBalancesStatement, [merchantId])
}

const foldDeltasStatement = sql<{ folded: number }>`
with due as (
  select id
  from balance_deltas
  order by id
  limit $1
  for update skip locked
),
taken as (
  delete from balance_deltas b
  using due
  where b.id = due.id
  returning b.merchant_id, b.currency, b.account, b.amount_minor, b.at
),
sums as (
  select merchant_id, currency, account, sum(amount_minor) as amount_minor, max(at) as at
  from taken
  group by merchant_id, currency, account
),
folded as (
  insert into balances as b (merchant_id, currency, account, amount_minor, updated_at)
  select merchant_id, currency, account, amount_minor, at
  from sums
  order by merchant_id, currency, account
  on conflict (merchant_id, currency, account) do update
  set
    amount_minor = b.amount_minor + excluded.amount_minor,
    updated_at = greatest(b.updated_at, excluded.updated_at)
)
select count(*)::integer as folded
from taken`

export async function foldDeltas(db: Db, limit: number): Promise<number> {
  const [row] = await db.query(foldDeltasStatement, [limit])
  return row?.folded ?? 0
}

const claimDueSettlementsStatement = sql<{ settled: number }>`
with claimed as (
  select merchant_id, payment_id
  from pending_settlements
  where due_at <= $1
  order by due_at
  limit $2
  for update skip locked
),
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
),
lines as (
  select merchant_id, entry_id, 1 as position, 'pending' as account, currency, -amount_minor as amount_minor
  from numbered
  union all
  select merchant_id, entry_id, 2, 'available', currency, amount_minor
  from numbered
),
posted as (
  insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select merchant_id, entry_id, position, account, currency, amount_minor
  from lines
),
delta as (
  insert into balance_deltas (merchant_id, currency, account, amount_minor, at)
  select merchant_id, currency, account, amount_minor, $1
  from lines
)
select count(*)::integer as settled
from due`

/** Moves what is due from pending to available, one entry per payment, so that each line names its cause. */
export async function claimDueSettlements(
  db: Db,
  now: Date,
  limit: number,
  makeId: () => string,
): Promise<number> {
  const ids = Array.from({ length: limit }, makeId)
  const [row] = await db.query(claimDueSettlementsStatement, [now, limit, ids])
  return row?.settled ?? 0
}
