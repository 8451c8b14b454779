// How much collected money should be available already, for whoever operates the service.

import { type Db, sql } from '../kit/db/db.ts'
import { BACKLOG_LIMIT, type Backlog } from '../kit/observability/backlog.ts'

const selectBacklog = sql<Backlog>`
select 'settle-money' as name, count(*)::integer as due, min(s.due_at) as "oldestDueAt"
from (select due_at from pending_settlements where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) s`

export async function readSettlementBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return db.query(selectBacklog, [now])
}
