// Counts the deliveries that wait for their endpoints, for the operator's metrics and status.

import { sql } from '../kit/db/db.ts'
import { BACKLOG_LIMIT } from '../kit/observability/backlog.ts'
import type { DeliveryBacklog } from './delivery.ts'

export const selectBacklog = sql<DeliveryBacklog>`
select
  'deliver-events' as name,
  count(*) filter (where d.due_at <= $1)::integer as due,
  min(d.due_at) filter (where d.due_at <= $1) as "oldestDueAt",
  count(*)::integer as pending,
  -- Over all deliveries, also those beyond the count limit.
  (select min(created_at) from deliveries where due_at is not null) as "oldestPendingAt",
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
