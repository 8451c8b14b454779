import { sql } from '../kit/db/db.ts'

export interface ApprovalRow {
  currency: string
  gateway: string
  approved: number
  decided: number
}

// The latest attempts of the merchant, by the primary key: ids are in the order of time. So the cost does not grow with the
// number of payments. $2 is an id of the earliest time, $3 the number of attempts. The lateral join keeps the planner from
// reading all payments of the merchant instead of one for each attempt.
export const selectApprovals = sql<ApprovalRow>`
select
  p.currency, a.gateway, count(*) filter (where a.status <> 'declined')::integer as approved, count(*)::integer as decided
from (
  select payment_id, gateway, status
  from attempts
  where merchant_id = $1 and id >= $2
  order by id desc
  limit $3
) a
cross join lateral (select currency from payments where merchant_id = $1 and id = a.payment_id limit 1) p
where a.status in ('succeeded', 'amount_mismatch', 'duplicate_success', 'declined')
group by 1, 2
order by 4 desc, 1, 2`
