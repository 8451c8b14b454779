// How deliveries went, and sending them once more. A replay starts the same delivery afresh, or makes one where there was
// none; it reads the events themselves, because they stay when their deliveries are long forgotten.

import { type Db, sql, type Tx } from '../kit/db.ts'
import type { DeadReason } from './states.ts'

export interface TryRow {
  startedAt: Date
  url: string
  signature: string
  httpStatus: number | null
  error: string | null
  answer: string | null
  durationMs: number
}

export interface DeliveryRow {
  endpointId: string
  url: string
  status: 'pending' | 'delivered' | 'dead'
  reason: DeadReason | null
  dueAt: Date | null
  finishedAt: Date | null
  /** The latest, oldest first. */
  tries: TryRow[]
}

interface StoredTry extends Omit<TryRow, 'startedAt'> {
  startedAt: string
}

// Two whole schedules: more than that is a merchant who replays again and again.
const TRIES_SHOWN = '20'

const selectDeliveriesStatement = sql<Omit<DeliveryRow, 'tries'> & { tries: StoredTry[] }>`
select
  d.endpoint_id as "endpointId", e.url, d.status, d.reason, d.due_at as "dueAt", d.finished_at as "finishedAt", a.tries
from deliveries d
join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id
cross join lateral (
  select
    coalesce(
      jsonb_agg(
        jsonb_build_object(
          'startedAt', t.started_at, 'url', t.url, 'signature', t.signature, 'httpStatus', t.http_status,
          'error', t.error, 'answer', t.answer, 'durationMs', t.duration_ms
        )
        order by t.fence
      ),
      '[]'
    ) as tries
  from (
    select *
    from delivery_attempts
    where merchant_id = d.merchant_id and event_id = d.event_id and endpoint_id = d.endpoint_id
    order by fence desc
    limit ${TRIES_SHOWN}
  ) t
) a
where d.merchant_id = $1 and d.event_id = $2
order by d.endpoint_id desc`

export async function listDeliveryRows(db: Db, merchantId: string, eventId: string): Promise<DeliveryRow[]> {
  const rows = await db.query(selectDeliveriesStatement, [merchantId, eventId])
  return rows.map((row) => ({
    ...row,
    tries: row.tries.map((one) => ({ ...one, startedAt: new Date(one.startedAt) })),
  }))
}

// One that is being tried at this moment is left to it. The order of the keys is everybody's who locks more than one.
const START_AFRESH = `
insert into deliveries as d (
  merchant_id, event_id, endpoint_id, resource_type, resource_id, version, due_at, created_at
)
select merchant_id, event_id, endpoint_id, resource_type, resource_id, version, $2, created_at
from target
order by merchant_id, event_id, endpoint_id
on conflict (merchant_id, event_id, endpoint_id) do update
set
  status = 'pending',
  reason = null,
  finished_at = null,
  due_at = case when d.leased_until > $2 then d.due_at else $2 end,
  tries = case when d.status = 'pending' then d.tries else 0 end,
  first_tried_at = case when d.status = 'pending' then d.first_tried_at end`

const replayEventStatement = sql<{ endpointId: string }>`
with target as (
  select
    v.merchant_id, v.id as event_id, e.id as endpoint_id, v.resource_type, v.resource_id, v.version, v.created_at
  from events v
  join webhook_endpoints e on e.merchant_id = v.merchant_id
  where v.merchant_id = $1
    and v.id = $3
    and e.status = 'enabled'
    and case when $4::uuid is null then wants_event(e.id, e.events, v.type, v.resource_id) else e.id = $4 end
)
${START_AFRESH}
returning endpoint_id as "endpointId"`

/** Sends one event again; to one endpoint whatever that listens to, or to all that listen to it. Answers to how many. */
export async function replayEvent(
  tx: Tx,
  merchantId: string,
  now: Date,
  eventId: string,
  endpointId: string | null,
): Promise<number> {
  return (await tx.query(replayEventStatement, [merchantId, now, eventId, endpointId])).length
}

export interface ReplayRange {
  from: Date
  to: Date
  types: readonly string[] | null
  endpointId: string | null
  /** Leaves out what an endpoint has taken. */
  onlyUndelivered: boolean
  limit: number
}

export interface ReplayedRange {
  events: number
  deliveries: number
  /** Of the first event beyond the limit. */
  continueFrom: Date | null
}

const replayRangeStatement = sql<ReplayedRange>`
with found as materialized (
  select *, row_number() over (order by created_at, id) as place
  from events
  where merchant_id = $1 and created_at >= $3 and created_at < $4 and ($5::text[] is null or type = any($5))
  order by created_at, id
  limit $8 + 1
),
target as (
  select
    v.merchant_id, v.id as event_id, e.id as endpoint_id, v.resource_type, v.resource_id, v.version, v.created_at
  from found v
  join webhook_endpoints e on e.merchant_id = v.merchant_id
  where v.place <= $8
    and e.status = 'enabled'
    and ($6::uuid is null or e.id = $6)
    and wants_event(e.id, e.events, v.type, v.resource_id)
    and not (
      $7
      and exists (
        select 1
        from deliveries d
        where d.merchant_id = v.merchant_id
          and d.event_id = v.id
          and d.endpoint_id = e.id
          and d.status = 'delivered'
      )
    )
),
started as (
  ${START_AFRESH}
  returning event_id
)
select
  (select count(distinct event_id) from started)::integer as events,
  (select count(*) from started)::integer as deliveries,
  (select created_at from found where place > $8) as "continueFrom"`

export async function replayRange(
  tx: Tx,
  merchantId: string,
  now: Date,
  range: ReplayRange,
): Promise<ReplayedRange> {
  const { from, to, types, endpointId, onlyUndelivered, limit } = range
  const values = [merchantId, now, from, to, types, endpointId, onlyUndelivered, limit]
  const [row] = await tx.query(replayRangeStatement, values)
  if (!row) throw new Error('a count returns its row')
  return row
}

export interface ReplayRow extends ReplayedRange {
  id: string
  createdAt: Date
}

const REPLAY_COLUMNS = 'id, events, deliveries, continue_from as "continueFrom", created_at as "createdAt"'

const insertReplayStatement = sql<ReplayRow>`
insert into webhook_replays (merchant_id, id, events, deliveries, continue_from, created_at)
values ($1, $2, $3, $4, $5, $6)
returning ${REPLAY_COLUMNS}`

export async function insertReplay(
  tx: Tx,
  merchantId: string,
  id: string,
  { events, deliveries, continueFrom }: ReplayedRange,
  at: Date,
): Promise<ReplayRow> {
  const values = [merchantId, id, events, deliveries, continueFrom, at]
  const [row] = await tx.query(insertReplayStatement, values)
  if (!row) throw new Error('an insert returns its row')
  return row
}

const selectReplay = sql<ReplayRow>`
select ${REPLAY_COLUMNS}
from webhook_replays
where merchant_id = $1 and id = $2`

export async function findReplay(db: Db, merchantId: string, id: string): Promise<ReplayRow | undefined> {
  const [row] = await db.query(selectReplay, [merchantId, id])
  return row
}

const forgetReplaysStatement = sql<unknown>`
with old as materialized (
  select merchant_id, id
  from webhook_replays
  where created_at < $1
  limit 1000
)
delete from webhook_replays r
using old
where r.merchant_id = old.merchant_id and r.id = old.id
returning 1`

/** Deletes what no Idempotency-Key points at any more, a thousand at a time; answers how many. */
export async function forgetReplays(db: Db, before: Date): Promise<number> {
  return (await db.query(forgetReplaysStatement, [before])).length
}
