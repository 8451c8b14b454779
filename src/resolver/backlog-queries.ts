// How much of the background work on payments is due, for whoever operates the service.

import { BACKLOG_LIMIT, type Backlog } from '../kit/backlog.ts'
import { type Db, sql } from '../kit/db.ts'

const selectBacklog = sql<Backlog>`
select 'resolve-attempts' as name, count(*)::integer as due, min(a.due_at) as "oldestDueAt"
from (select due_at from attempts where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) a
union all
select 'expire-checkouts', count(*)::integer, min(p.due_at)
from (select due_at from payments where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) p
union all
select 'retry-gateway-webhooks', count(*)::integer, min(g.due_at)
from (select due_at from gateway_webhooks where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) g`

export async function readPaymentBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return db.query(selectBacklog, [now])
}

const countCases = sql<{ count: number }>`
select count(*)::integer as count
from (select id from cases where closed_at is null limit ${BACKLOG_LIMIT}) c`

export async function countOpenCases(db: Db): Promise<number> {
  return (await db.query(countCases))[0]?.count ?? 0
}
