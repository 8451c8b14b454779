// What becomes of deliveries that nobody makes any more, and of those that ended long ago.

import { type Db, sql } from '../kit/db.ts'
import { WAITING } from './delivery-queries.ts'

// What is under way ends first: it may yet be delivered.
const buryDeliveriesStatement = sql<{ merchantId: string; endpointId: string }>`
with recursive ${WAITING},
doomed as (
  select d.merchant_id, d.event_id, d.endpoint_id, e.disabled_reason
  from waiting w
  join webhook_endpoints e on e.merchant_id = w.merchant_id and e.id = w.endpoint_id and e.status <> 'enabled'
  cross join lateral (
    select merchant_id, event_id, endpoint_id
    from deliveries
    where merchant_id = w.merchant_id
      and endpoint_id = w.endpoint_id
      and due_at is not null
      and (leased_until is null or leased_until <= $1)
    limit 1000
    for update skip locked
  ) d
  limit 1000
)
update deliveries d
set status = 'dead', reason = x.disabled_reason, due_at = null, leased_until = null, finished_at = $1
from doomed x
where d.merchant_id = x.merchant_id and d.event_id = x.event_id and d.endpoint_id = x.endpoint_id
returning d.merchant_id as "merchantId", d.endpoint_id as "endpointId"`

/** Ends deliveries to endpoints that are not called any more, a thousand at a time; answers how many. */
export async function buryDeliveries(db: Db, now: Date): Promise<number> {
  return (await db.query(buryDeliveriesStatement, [now])).length
}

const forgetDeliveriesStatement = sql<unknown>`
with old as materialized (
  select merchant_id, event_id, endpoint_id
  from deliveries
  where finished_at < $1
  limit 1000
),
checked as (
  update webhook_endpoints e
  set checked_from = $1
  where (e.merchant_id, e.id) in (select merchant_id, endpoint_id from old) and e.checked_from < $1
)
delete from deliveries d
using old
where d.merchant_id = old.merchant_id and d.event_id = old.event_id and d.endpoint_id = old.endpoint_id
returning 1`

/** Deletes deliveries that ended before, with their attempts, a thousand at a time; answers how many. */
export async function forgetDeliveries(db: Db, before: Date): Promise<number> {
  return (await db.query(forgetDeliveriesStatement, [before])).length
}
