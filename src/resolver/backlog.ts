import type { Db } from '../kit/db/db.ts'
import type { Backlog } from '../kit/observability/backlog.ts'
import { selectBacklog } from './backlog-queries.ts'

/** How much background work on payments is due, for the operator and the metrics. */
export async function readPaymentBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return db.query(selectBacklog, [now])
}
