// The statements that explain the change of a balance: the lines at both ends of a period, and the sums of those between.

import { sql } from '../kit/db/db.ts'

export interface StandingRow {
  number: bigint
  availableMinor: bigint
  pendingMinor: bigint
}

const lastLine = (comparison: '<' | '<=') => `
select number, available_minor as "availableMinor", pending_minor as "pendingMinor"
from wallet_lines
where merchant_id = $1 and currency = $2 and created_at ${comparison} $3::timestamptz
order by created_at desc, number desc
limit 1`

export const selectLastBefore = sql<StandingRow>`${lastLine('<')}`
export const selectLastUntil = sql<StandingRow>`${lastLine('<=')}`

export interface SumRow {
  kind: string
  account: 'available' | 'pending'
  lines: number
  amountMinor: bigint
  feeMinor: bigint
}

// A capture adds the amount less the fee; the fee is another posting of its entry. The fees of the entries between the first
// and the last capture are read once and grouped with the lines: ids are in the order of time, so few others are among them.
// A join would search the postings once for each line, which takes minutes if the planner knows too little of a new merchant
// and chooses the index on accounts.
export const selectSums = sql<SumRow>`
with lines as materialized (
  select kind, account, amount_minor, entry_id
  from wallet_lines
  where merchant_id = $1 and currency = $2 and number > $3 and number <= $4
),
entry as (
  select bool_or(is_capture) as is_capture, sum(fee_minor) as fee_minor
  from (
    select entry_id, true as is_capture, 0 as fee_minor
    from lines
    where kind = 'capture'
    union all
    select p.entry_id, false, p.amount_minor
    from postings p
    where p.merchant_id = $1
      and p.account = 'fees'
      and p.currency = $2
      and p.entry_id >= (select entry_id from lines where kind = 'capture' order by entry_id limit 1)
      and p.entry_id <= (select entry_id from lines where kind = 'capture' order by entry_id desc limit 1)
  ) both_sides
  group by entry_id
)
select
  kind, account, count(*)::integer as lines, sum(amount_minor)::bigint as "amountMinor",
  case
    when kind = 'capture' and account = 'pending'
    then (select coalesce(sum(fee_minor), 0) from entry where is_capture)
    else 0
  end::bigint as "feeMinor"
from lines
group by kind, account
order by kind, account`
