// How many refunds are due to be sent or asked about, for whoever operates the service.

import { type Db, sql } from '../kit/db/db.ts'
import { BACKLOG_LIMIT, type Backlog } from '../kit/observability/backlog.ts'

const selectBacklog = sql<Backlog>`
select 'resolve-refunds' as name, count(*)::integer as due, min(r.due_at) as "oldestDueAt"
from (select due_at from refunds where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) r`

export async function readRefundBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return db.query(selectBacklog, [now])
}
