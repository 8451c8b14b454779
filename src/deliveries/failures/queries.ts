// Deliveries that an endpoint has not accepted: those that are retried after a failed attempt, and dead letters.

import { COUNT_CAP } from '../../core/page.ts'
import { type Db, sql } from '../../kit/db/db.ts'
import { type CountedRows, keysetPosition, type ListWindow } from '../../kit/db/pagination.ts'
import { firstRow } from '../../kit/db/rows.ts'
import { IS_UNLEASED } from '../claim-queries.ts'
import type { DeadReason } from '../states.ts'

export const FAILED_STATUSES = ['failing', 'dead'] as const

export interface FailedFilter {
  endpoint: string | null
  status: (typeof FAILED_STATUSES)[number] | null
}

export interface FailedRow {
  /** The event and the endpoint, which is the position in the list. */
  id: string
  createdAt: Date
  eventId: string
  endpointId: string
  status: 'failing' | 'dead'
  reason: DeadReason | null
  attemptCount: number
  nextAttemptAt: Date | null
}

// The endpoints of the merchant and both statuses: the index begins with them, so that the list reads no more rows than it
// shows from each. $2 is the endpoint, $3 the status.
const PLACES = `
with places as (
  select e.id as endpoint_id, s.status
  from webhook_endpoints e
  cross join (values ('dead', 'dead'), ('pending', 'failing')) as s (status, name)
  where e.merchant_id = $1 and ($2::uuid is null or e.id = $2) and ($3::text is null or s.name = $3)
)`

// As in the predicate of the index.
const IS_FAILED = `
    d.merchant_id = $1
    and d.endpoint_id = f.endpoint_id
    and d.status = f.status
    and (d.status = 'dead' or (d.status = 'pending' and d.attempt_count > 0))`

const selectFailed = sql<FailedRow>`${PLACES}
select
  d.event_id || '/' || d.endpoint_id as id, d.created_at as "createdAt", d.event_id as "eventId",
  d.endpoint_id as "endpointId", case d.status when 'dead' then 'dead' else 'failing' end as status, d.reason,
  d.attempt_count as "attemptCount", case when ${IS_UNLEASED} then d.due_at end as "nextAttemptAt"
from places f
cross join lateral (
  select *
  from deliveries d
  where ${IS_FAILED}
    and d.created_at <= $4::timestamptz
    and (d.created_at, d.event_id, d.endpoint_id) < ($4::timestamptz, $5::uuid, $6::uuid)
  order by d.created_at desc, d.event_id desc
  limit $7::bigint + $8::bigint
) d
order by d.created_at desc, d.event_id desc, d.endpoint_id desc
limit $7
offset $8`

const countFailed = sql<{ total: number }>`${PLACES}
select count(*)::integer as total
from (
  select 1
  from places f
  cross join lateral (
    select 1
    from deliveries d
    where ${IS_FAILED}
    order by d.created_at
    limit ${String(COUNT_CAP + 1)}
  ) d
  limit ${String(COUNT_CAP + 1)}
) found`

export async function listFailedRows(
  db: Db,
  merchantId: string,
  { endpoint, status }: FailedFilter,
  window: ListWindow,
): Promise<CountedRows<FailedRow>> {
  const [at, id] = keysetPosition(window)
  const [eventId, endpointId = eventId] = id.split('/')
  const filter = [merchantId, endpoint, status]
  const [rows, counted] = await Promise.all([
    db.query(selectFailed, [...filter, at, eventId, endpointId, window.limit + 1, window.offset]),
    firstRow(db, countFailed, filter),
  ])
  return { rows, counted: counted?.total ?? 0 }
}

export interface FailureDetails {
  eventId: string
  endpointId: string
  type: string
  url: string
  lastAttemptAt: Date | null
  httpStatus: number | null
  error: string | null
  durationMs: number | null
}

// One row for each pair of $2 and $3, except those that were purged meanwhile.
const selectDetails = sql<FailureDetails>`
select
  w.event_id as "eventId", w.endpoint_id as "endpointId",
  v.type, e.url, a.started_at as "lastAttemptAt", a.http_status as "httpStatus", a.error, a.duration_ms as "durationMs"
from unnest($2::uuid[], $3::uuid[]) as w (event_id, endpoint_id)
join events v on v.merchant_id = $1 and v.id = w.event_id
join webhook_endpoints e on e.merchant_id = $1 and e.id = w.endpoint_id
left join lateral (
  select *
  from delivery_attempts t
  where t.merchant_id = $1 and t.event_id = w.event_id and t.endpoint_id = w.endpoint_id
  order by t.fence desc, t.started_at desc
  limit 1
) a on true`

export function readFailureDetails(
  db: Db,
  merchantId: string,
  rows: readonly Pick<FailedRow, 'eventId' | 'endpointId'>[],
): Promise<FailureDetails[]> {
  const [events, endpoints] = [rows.map(({ eventId }) => eventId), rows.map(({ endpointId }) => endpointId)]
  return db.query(selectDetails, [merchantId, events, endpoints])
}
