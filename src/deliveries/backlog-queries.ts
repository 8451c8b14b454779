// Counts the deliveries that wait for their endpoints, for the operator's metrics and status.

import { type Db, sql } from '../kit/db/db.ts'
import { BACKLOG_LIMIT, type Backlog } from '../kit/observability/backlog.ts'

export interface DeliveryBacklog extends Backlog {
  /** Includes deliveries whose next attempt is not due yet. */
  undelivered: number
  oldestUndeliveredAt: Date | null
  /** Enabled endpoints whose last attempt failed. */
  failingEndpoints: number
}

const selectBacklog = sql<DeliveryBacklog>`
select
  'deliver-events' as name,
  count(*) filter (where d.due_at <= $1)::integer as due,
  min(d.due_at) filter (where d.due_at <= $1) as "oldestDueAt",
  count(*)::integer as undelivered,
  -- Over all deliveries, also those beyond the count limit.
  (select min(created_at) from deliveries where due_at is not null) as "oldestUndeliveredAt",
  (
    select count(*)::integer
    from (select id from webhook_endpoints where failing_since is not null and status = 'enabled' limit ${BACKLOG_LIMIT}) e
  ) as "failingEndpoints"
from (
  select due_at
  from deliveries
  where due_at is not null
  order by merchant_id, endpoint_id, due_at
  limit ${BACKLOG_LIMIT}
) d`

export async function readDeliveryBacklog(db: Db, now: Date): Promise<DeliveryBacklog> {
  const [backlog] = await db.query(selectBacklog, [now])
  if (!backlog) throw new Error('the backlog query returned no row')
  return backlog
}
