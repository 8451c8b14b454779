// How the latest deliveries to one endpoint went. Deliveries of all endpoints are read by their primary key, the newest first:
// ids of events are in the order of time. So the cost does not grow with the number of deliveries, and no index is needed for
// those that succeed.

import { type Db, sql } from '../../kit/db/db.ts'
import { firstRow } from '../../kit/db/rows.ts'

/** Of all endpoints of the merchant. */
export const LATEST_DELIVERIES = 1_000

// Events are attempted in their order, but one that is retried later may have the latest attempt.
const LATEST_ATTEMPTED = '20'

export interface HealthRow {
  delivered: number
  failing: number
  dead: number
  /** How many deliveries of the period were read, of all endpoints. */
  read: number
  lastAttemptAt: Date | null
  httpStatus: number | null
  error: string | null
  durationMs: number | null
}

// $2 is the endpoint, $3 an id of the beginning of the period.
const selectHealth = sql<HealthRow>`
with latest as materialized (
  select event_id, endpoint_id, status, attempt_count
  from deliveries
  where merchant_id = $1
  order by event_id desc
  limit ${String(LATEST_DELIVERIES)}
)
select c.*, a.started_at as "lastAttemptAt", a.http_status as "httpStatus", a.error, a.duration_ms as "durationMs"
from (
  select
    count(*) filter (where endpoint_id = $2 and status = 'delivered')::integer as delivered,
    count(*) filter (where endpoint_id = $2 and status = 'pending' and attempt_count > 0)::integer as failing,
    count(*) filter (where endpoint_id = $2 and status = 'dead')::integer as dead,
    count(*)::integer as read
  from latest
  where event_id >= $3
) c
left join lateral (
  select t.*
  from (
    select event_id
    from latest
    where endpoint_id = $2 and attempt_count > 0
    order by event_id desc
    limit ${LATEST_ATTEMPTED}
  ) d
  cross join lateral (
    select *
    from delivery_attempts t
    where t.merchant_id = $1 and t.event_id = d.event_id and t.endpoint_id = $2
    order by t.fence desc, t.started_at desc
    limit 1
  ) t
  order by t.started_at desc
  limit 1
) a on true`

export function findHealth(
  db: Db,
  merchantId: string,
  endpointId: string,
  firstId: string,
): Promise<HealthRow | undefined> {
  return firstRow(db, selectHealth, [merchantId, endpointId, firstId])
}
