// What became of the deliveries that a replay of a period has restarted. A delivery does not know its replay: it belongs to it if
// its event is in the part of the period that was processed, and it has not finished before the replay was requested.

import { type Db, sql } from '../../kit/db/db.ts'
import { firstRow } from '../../kit/db/rows.ts'

/** The first events of the period, so that the cost does not grow with it. */
export const COUNTED_EVENTS = 2_000

export interface ReplayOutcomeRow {
  from: Date
  to: Date
  delivered: number
  /** Without an attempt since the replay. */
  waiting: number
  failing: number
  dead: number
  /** How many events were read. */
  read: number
}

const selectOutcome = sql<ReplayOutcomeRow>`
with replay as materialized (
  select *
  from webhook_replays
  where merchant_id = $1 and id = $2 and range_from is not null
),
batch as materialized (
  select v.id, v.type
  from replay r
  cross join lateral (
    select id, type
    from events
    where merchant_id = $1
      and created_at >= r.range_from
      and (created_at, id) <= (r.cursor_created_at, r.cursor_event_id)
    order by created_at, id
    limit ${String(COUNTED_EVENTS)}
  ) v
)
select r.range_from as "from", r.range_to as "to", c.*, (select count(*) from batch)::integer as read
from replay r
cross join lateral (
  select
    count(*) filter (where d.status = 'delivered')::integer as delivered,
    count(*) filter (where d.status = 'pending' and d.attempt_count = 0)::integer as waiting,
    count(*) filter (where d.status = 'pending' and d.attempt_count > 0)::integer as failing,
    count(*) filter (where d.status = 'dead')::integer as dead
  from batch b
  join deliveries d on d.merchant_id = $1 and d.event_id = b.id
  where (r.endpoint_id is null or d.endpoint_id = r.endpoint_id)
    and (r.types is null or b.type = any(r.types))
    and (d.status = 'pending' or d.finished_at >= r.created_at)
) c`

/** Undefined for an unknown replay, and for that of a single event. */
export function findReplayOutcome(
  db: Db,
  merchantId: string,
  replayId: string,
): Promise<ReplayOutcomeRow | undefined> {
  return firstRow(db, selectOutcome, [merchantId, replayId])
}
