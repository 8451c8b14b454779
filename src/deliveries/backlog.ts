// Reads the backlog of deliveries, for the operator's metrics and status.

import type { Db } from '../kit/db/db.ts'
import { selectBacklog } from './backlog-queries.ts'
import type { DeliveryBacklog } from './delivery.ts'

export async function readDeliveryBacklog(db: Db, now: Date): Promise<DeliveryBacklog> {
  const [backlog] = await db.query(selectBacklog, [now])
  if (!backlog) throw new Error('the backlog query returned no row')
  return backlog
}
