// Lists the deliveries of an event and their attempts for the merchant.

import { type Db, sql } from '../kit/db/db.ts'
import { IS_UNLEASED } from './claim-queries.ts'
import type { DeliveryAttemptRow, DeliveryRow } from './delivery.ts'

interface StoredAttempt extends Omit<DeliveryAttemptRow, 'startedAt'> {
  startedAt: string
}

// Two full retry schedules; only repeated replays make more attempts.
const MAX_ATTEMPTS_SHOWN = '20'

const selectDeliveriesStatement = sql<Omit<DeliveryRow, 'attempts'> & { attempts: StoredAttempt[] }>`
select
  d.endpoint_id as "endpointId", e.url, d.status, d.reason, case when ${IS_UNLEASED} then d.due_at end as "nextAttemptAt",
  d.finished_at as "finishedAt", a.attempts
from deliveries d
join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id
cross join lateral (
  select
    coalesce(
      jsonb_agg(
        jsonb_build_object(
          'startedAt', t.started_at, 'url', t.url, 'signature', t.signature, 'httpStatus', t.http_status,
          'error', t.error, 'responseBody', t.response_body, 'durationMs', t.duration_ms
        )
        order by t.started_at, t.fence
      ),
      '[]'
    ) as attempts
  from (
    select *
    from delivery_attempts
    where merchant_id = d.merchant_id and event_id = d.event_id and endpoint_id = d.endpoint_id
    order by started_at desc, fence desc
    limit ${MAX_ATTEMPTS_SHOWN}
  ) t
) a
where d.merchant_id = $1 and d.event_id = $2
order by d.endpoint_id desc`

export async function listDeliveryRows(db: Db, merchantId: string, eventId: string): Promise<DeliveryRow[]> {
  const rows = await db.query(selectDeliveriesStatement, [merchantId, eventId])
  return rows.map((row) => ({
    ...row,
    attempts: row.attempts.map((one) => ({ ...one, startedAt: new Date(one.startedAt) })),
  }))
}
