// What becomes of deliveries that nobody makes any more, and of what ended long ago.

import { type Db, sql } from '../kit/db/db.ts'
import { IS_UNLEASED } from './claim-queries.ts'

// What is under way ends first: it may yet be delivered. The endpoints are held while this is written, so that none is
// enabled again in between.
const deadLetterDeliveriesStatement = sql<unknown>`
with disabled as materialized (
  select e.merchant_id, e.id, e.disabled_reason
  from webhook_endpoints e
  where e.status <> 'enabled'
    and exists (
      select 1
      from deliveries d
      where d.merchant_id = e.merchant_id and d.endpoint_id = e.id and d.due_at is not null and ${IS_UNLEASED}
    )
  limit 100
  for share of e skip locked
),
undeliverable as (
  select d.merchant_id, d.event_id, d.endpoint_id, c.disabled_reason
  from disabled c
  cross join lateral (
    select d.merchant_id, d.event_id, d.endpoint_id
    from deliveries d
    where d.merchant_id = c.merchant_id and d.endpoint_id = c.id and d.due_at is not null and ${IS_UNLEASED}
    limit 1000
    for update skip locked
  ) d
  limit 1000
)
update deliveries d
set status = 'dead', reason = x.disabled_reason, due_at = null, leased_until = null, finished_at = $1
from undeliverable x
where d.merchant_id = x.merchant_id and d.event_id = x.event_id and d.endpoint_id = x.endpoint_id
returning 1`

/** Ends deliveries to endpoints that are not called any more, a thousand at a time; answers how many. */
export async function deadLetterDeliveries(db: Db, now: Date): Promise<number> {
  return (await db.query(deadLetterDeliveriesStatement, [now])).length
}

const purgeDeliveriesStatement = sql<unknown>`
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

/** Deletes deliveries that ended before, a thousand at a time; answers how many. */
export async function purgeDeliveries(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeDeliveriesStatement, [before])).length
}

const maintainPartitionsStatement = sql<{ changes: number }>`
select maintain_month_partitions('delivery_attempts', 'started_at', now(), now() - $1::integer * interval '1 day') as changes`

/** Makes the months to come of the log of tries, and drops those that ended so many days ago; answers how many. */
export async function maintainPartitions(db: Db, retentionDays: number): Promise<number> {
  const [row] = await db.query(maintainPartitionsStatement, [retentionDays])
  return row?.changes ?? 0
}

// A delivery to an endpoint ends within moments of its deletion. When none is left of the day after that, none is left of
// this endpoint.
const purgeEndpointsStatement = sql<unknown>`
with old as materialized (
  select e.merchant_id, e.id
  from webhook_endpoints e
  where e.status = 'deleted'
    and e.disabled_at < $1::timestamptz - interval '1 day'
    and not exists (select 1 from deliveries where finished_at < e.disabled_at + interval '1 day')
    and not exists (
      select 1 from deliveries d where d.merchant_id = e.merchant_id and d.endpoint_id = e.id and d.due_at is not null
    )
  limit 1000
)
delete from webhook_endpoints e
using old
where e.merchant_id = old.merchant_id and e.id = old.id
returning 1`

/** Takes away deleted endpoints of which nothing is told any more, a thousand at a time; answers how many. */
export async function purgeEndpoints(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeEndpointsStatement, [before])).length
}
