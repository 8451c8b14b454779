// The fold of the differences into the sums, and the sums of a report.

import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

const SUMMED = [
  'payments',
  'paid_payments',
  'unknown_fees',
  'amount_minor',
  'paid_minor',
  'fee_minor',
  'refunded_minor',
]

// One statement: the differences are deleted and added to the sums together, or neither. One process folds at a time, so the
// rows need no lock before they are deleted.
//
// Most differences of a charge add up to zero within a few seconds: it was processing, and is successful.
const foldStatement = sql<{ folded: number }>`
with mutex as materialized (
  select pg_try_advisory_xact_lock(hashtextextended('collection_deltas', 0)) as is_acquired
),
due as materialized (
  select merchant_id, starts_at, id
  from collection_deltas
  where (select is_acquired from mutex)
  order by merchant_id, starts_at, id
  limit $1
),
last as materialized (
  select merchant_id, starts_at, id
  from due
  order by merchant_id desc, starts_at desc, id desc
  limit 1
),
deltas as (
  delete from collection_deltas d
  using last l
  where (d.merchant_id, d.starts_at, d.id) <= (l.merchant_id, l.starts_at, l.id)
  returning d.*
),
folded as (
  insert into collection_sums as s (merchant_id, grain, starts_at, currency, gateway, channel, status, ${SUMMED.join(', ')})
  select
    d.merchant_id, g.grain, date_trunc(g.unit, d.starts_at, 'UTC'), d.currency,
    case when g.is_total then '' else d.gateway end,
    case when g.is_total then '' else d.channel end,
    case when g.is_total then '' else d.status end,
    ${SUMMED.map((name) => `sum(d.${name})`).join(', ')}
  from deltas d
  cross join collection_grains g
  group by 1, 2, 3, 4, 5, 6, 7
  having ${SUMMED.map((name) => `sum(d.${name}) <> 0`).join(' or ')}
  order by 1, 2, 3, 4, 5, 6, 7
  on conflict (merchant_id, grain, starts_at, currency, gateway, channel, status) do update
  set ${SUMMED.map((name) => `${name} = s.${name} + excluded.${name}`).join(', ')}
)
select count(*)::integer as folded
from deltas`

export async function foldCollectionDeltas(db: Db, limit: number): Promise<number> {
  return (await firstRow(db, foldStatement, [limit]))?.folded ?? 0
}

export interface CollectionRow {
  day: string | null
  currency: string
  gateway: string | null
  channel: string | null
  status: string | null
  payments: bigint
  paidPayments: bigint
  unknownFees: bigint
  amountMinor: bigint
  paidMinor: bigint
  feeMinor: bigint
  refundedMinor: bigint
}

// $2 to $6 are the ranges, with their grain, begin and end in seconds, sign and day. A day in UTC less $7 is a day of the
// report. $8 to $11 say by which columns the rows are grouped. The differences that are not folded yet are added.
export const selectCollections = sql<CollectionRow>`
select
  (case when $8::boolean then coalesce(r.day, (s.starts_at at time zone 'UTC')::date - $7::integer) end)::text as day,
  s.currency,
  case when $9::boolean then s.gateway end as gateway,
  case when $10::boolean then s.channel end as channel,
  case when $11::boolean then s.status end as status,
  sum(r.sign * s.payments)::bigint as payments,
  sum(r.sign * s.paid_payments)::bigint as "paidPayments",
  sum(r.sign * s.unknown_fees)::bigint as "unknownFees",
  sum(r.sign * s.amount_minor)::bigint as "amountMinor",
  sum(r.sign * s.paid_minor)::bigint as "paidMinor",
  sum(r.sign * s.fee_minor)::bigint as "feeMinor",
  sum(r.sign * s.refunded_minor)::bigint as "refundedMinor"
from unnest($2::text[], $3::bigint[], $4::bigint[], $5::integer[], $6::date[]) as r (grain, begins, ends, sign, day)
cross join lateral (
  select c.starts_at, c.currency, c.gateway, c.channel, c.status, ${SUMMED.map((name) => `c.${name}`).join(', ')}
  from collection_sums c
  where c.merchant_id = $1
    and c.grain = r.grain
    and c.starts_at >= to_timestamp(r.begins)
    and c.starts_at < to_timestamp(r.ends)
  union all
  select d.starts_at, d.currency, d.gateway, d.channel, d.status, ${SUMMED.map((name) => `d.${name}`).join(', ')}
  from collection_deltas d
  where d.merchant_id = $1 and d.starts_at >= to_timestamp(r.begins) and d.starts_at < to_timestamp(r.ends)
) s
group by
  case when $8::boolean then coalesce(r.day, (s.starts_at at time zone 'UTC')::date - $7::integer) end, 2, 3, 4, 5
having sum(r.sign * s.payments) <> 0
order by 1, 2, 3, 4, 5`
