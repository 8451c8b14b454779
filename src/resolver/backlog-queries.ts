// How much background work on payments is due.

import { sql } from '../kit/db/db.ts'
import { BACKLOG_LIMIT, type Backlog } from '../kit/observability/backlog.ts'

export const selectBacklog = sql<Backlog>`
select 'resolve-attempts' as name, count(*)::integer as due, min(a.due_at) as "oldestDueAt"
from (select due_at from attempts where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) a
union all
select 'expire-checkouts', count(*)::integer, min(p.due_at)
from (select due_at from payments where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) p
union all
select 'retry-gateway-webhooks', count(*)::integer, min(g.due_at)
from (select due_at from gateway_webhooks where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) g`
