// Dead-letters the deliveries of disabled endpoints, purges old deliveries and endpoints, and maintains the partitions of the
// attempt log.

import { worksHere } from '../kit/cells/moving-queries.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { IS_UNLEASED } from './claim-queries.ts'

// A leased delivery finishes first, because it may still succeed. The lock on the endpoints keeps them disabled until this
// commits.
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

/** Dead-letters deliveries to disabled endpoints, up to a thousand per call; returns how many. */
export async function deadLetterDeliveries(db: Db, now: Date): Promise<number> {
  return (await db.query(deadLetterDeliveriesStatement, [now])).length
}

const purgeDeliveriesStatement = sql<unknown>`
with old as materialized (
  select merchant_id, event_id, endpoint_id
  from deliveries d
  where finished_at < $1 and ${worksHere('d')}
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

/** Purges deliveries that finished before this time, up to a thousand per call; returns how many. */
export async function purgeDeliveries(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeDeliveriesStatement, [before])).length
}

const maintainPartitionsStatement = sql<{ changes: number }>`
select maintain_month_partitions('delivery_attempts', 'started_at', now(), now() - $1::integer * interval '1 day') as changes`

/** Creates the coming month partitions of the attempt log and drops expired ones; returns the number of changes. */
export async function maintainPartitions(db: Db, retentionDays: number): Promise<number> {
  const [row] = await db.query(maintainPartitionsStatement, [retentionDays])
  return row?.changes ?? 0
}

// Deliveries to a deleted endpoint finish soon after its deletion. If no delivery that finished up to a day later is left,
// none of this endpoint is left.
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

/** Purges deleted endpoints without deliveries, up to a thousand per call; returns how many. */
export async function purgeEndpoints(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeEndpointsStatement, [before])).length
}
