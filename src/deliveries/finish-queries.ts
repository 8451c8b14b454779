// Records the results of attempts. One statement writes the delivery, the attempt log, the health of the endpoint and the
// claim of the next version. The fence rejects a result whose lease another process has taken over.

import { type Db, sql } from '../kit/db/db.ts'
import { beginAttempt, HAS_ATTEMPTS_LEFT, IS_UNLEASED, retryAt, UNORDERED_TYPE } from './claim-queries.ts'
import {
  CLAIM_COLUMNS,
  type ClaimedDelivery,
  type ClaimedRow,
  type DeliveryResult,
  toClaimedDelivery,
} from './delivery.ts'

interface FinishedRow extends ClaimedRow {
  n: number
  hasNext: boolean
}

// Limits how often failures update the row of a failing endpoint.
const FAILURE_UPDATE_INTERVAL = "interval '1 minute'"

// The longest backoff with its jitter. Failures further apart do not show that the endpoint failed in between.
const MAX_ATTEMPT_GAP = "interval '27 hours'"

// The lowest undelivered version. While another process holds its lease, no later version overtakes it.
const IS_NEXT_VERSION = `
    d.merchant_id = l.merchant_id
    and d.event_id = l.event_id
    and d.endpoint_id = l.endpoint_id
    and d.due_at is not null
    and ${IS_UNLEASED}
    and ${HAS_ATTEMPTS_LEFT}`

const finishDeliveriesStatement = sql<FinishedRow>`
with result as (
  select *
  from jsonb_to_recordset($1::jsonb) as r (
    n integer, merchant_id uuid, event_id uuid, endpoint_id uuid, fence integer, status text, reason text,
    due_at timestamptz, started_at timestamptz, ended_at timestamptz, claims_next boolean, url text, signature text,
    http_status integer, error text, response_body text, duration_ms integer
  )
),
locked as (
  select d.*
  from (
    select merchant_id, event_id, endpoint_id, fence
    from result
    order by merchant_id, event_id, endpoint_id
  ) r
  cross join lateral (
    select d.merchant_id, d.event_id, d.endpoint_id
    from deliveries d
    where d.merchant_id = r.merchant_id
      and d.event_id = r.event_id
      and d.endpoint_id = r.endpoint_id
      and d.fence = r.fence
      and d.status = 'pending'
    for update
  ) d
),
finished as (
  update deliveries d
  set
    status = r.status,
    reason = r.reason,
    due_at = r.due_at,
    leased_until = null,
    attempt_count = d.attempt_count + 1,
    unfinished_count = 0,
    finished_at = case when r.status <> 'pending' then r.ended_at end
  from locked l
  join result r on r.merchant_id = l.merchant_id and r.event_id = l.event_id and r.endpoint_id = l.endpoint_id
  where d.merchant_id = l.merchant_id and d.event_id = l.event_id and d.endpoint_id = l.endpoint_id and d.fence = r.fence
  returning r.*, d.resource_type, d.resource_id, d.version
),
logged as (
  insert into delivery_attempts (
    merchant_id, event_id, endpoint_id, fence, started_at, url, signature, http_status, error, response_body, duration_ms
  )
  select
    merchant_id, event_id, endpoint_id, fence, started_at, url, signature, http_status, error, response_body, duration_ms
  from finished
  returning 1
),
outcome as (
  select
    merchant_id, endpoint_id, bool_or(status = 'delivered') as is_alive, min(ended_at) as first_at, max(ended_at) as last_at
  from finished
  group by merchant_id, endpoint_id
),
changed as (
  select o.*
  from (select * from outcome order by merchant_id, endpoint_id) o
  cross join lateral (
    select e.id
    from webhook_endpoints e
    where e.merchant_id = o.merchant_id
      and e.id = o.endpoint_id
      and case
        when o.is_alive then e.failing_since is not null
        else e.failing_since is null or e.last_failed_at < o.last_at - ${FAILURE_UPDATE_INTERVAL}
      end
    for no key update
  ) e
),
health as (
  update webhook_endpoints e
  set
    failing_since = case
      when t.is_alive then null
      when t.first_at - e.last_failed_at <= ${MAX_ATTEMPT_GAP} then e.failing_since
      else t.first_at
    end,
    last_failed_at = case when not t.is_alive then t.last_at end
  from changed t
  where e.merchant_id = t.merchant_id and e.id = t.endpoint_id
),
next_version as (
  select n.*, f.n, f.ended_at, f.claims_next
  from finished f
  join webhook_endpoints e on e.merchant_id = f.merchant_id and e.id = f.endpoint_id and e.status = 'enabled'
  cross join lateral (
    select d.merchant_id, d.event_id, d.endpoint_id, ${retryAt('f.ended_at')} as retry_at
    from deliveries d
    where d.merchant_id = f.merchant_id
      and d.endpoint_id = f.endpoint_id
      and d.resource_id = f.resource_id
      and d.resource_type = f.resource_type
      and d.version > f.version
      and d.due_at is not null
    order by d.version
    limit 1
  ) n
  where f.status <> 'pending'
    and f.resource_type <> ${UNORDERED_TYPE}
    and not exists (select 1 from result r where r.event_id = n.event_id and r.endpoint_id = n.endpoint_id)
),
next_claimed as (
  update deliveries d
  set ${beginAttempt('l.ended_at')}
  from next_version l
  where ${IS_NEXT_VERSION} and l.claims_next
  returning d.*, l.n
),
made_due as (
  update deliveries d
  set due_at = l.ended_at
  from next_version l
  where ${IS_NEXT_VERSION} and not l.claims_next
),
following as (
  select d.n as result, ${CLAIM_COLUMNS}
  from next_claimed d
  join events v on v.merchant_id = d.merchant_id and v.id = d.event_id
  join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id
)
select f.n, d.result is not null as "hasNext", d.*
from finished f
left join following d on d.result = f.n`

export interface Finished {
  /** False if another process has claimed the delivery since; then nothing was written. */
  isLeaseValid: boolean
  /** The next version of the same resource, which this process now holds. */
  next: ClaimedDelivery | undefined
}

export async function finishDeliveries(db: Db, results: readonly DeliveryResult[]): Promise<Finished[]> {
  const rows = await db.query(finishDeliveriesStatement, [
    JSON.stringify(results.map((result, n) => ({ n, ...result }))),
  ])
  const byResult = new Map(rows.map((row) => [row.n, row]))
  return results.map((_, n) => {
    const row = byResult.get(n)
    return { isLeaseValid: row !== undefined, next: row?.hasNext ? toClaimedDelivery(row) : undefined }
  })
}
