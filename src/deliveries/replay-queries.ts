// Replays events. A replay restarts the existing delivery or creates a new one. It reads the events themselves, which stay
// after their deliveries are purged, until they are archived.

import { worksHere } from '../kit/cells/moving-queries.ts'
import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import { REPLAY_COLUMNS, type ReplayRange, type ReplayRow } from './delivery.ts'

// The delivery that would be inserted carries the time of the database, as a lease that has ended.
const IS_UNLEASED = '(d.leased_until is null or d.leased_until <= excluded.leased_until)'

// A leased delivery keeps its attempt. Every statement that locks several deliveries uses this key order, against deadlocks.
const RESTART_DELIVERIES = `
insert into deliveries as d (
  merchant_id, event_id, endpoint_id, resource_type, resource_id, version, due_at, leased_until, created_at
)
select
  merchant_id, event_id, endpoint_id, resource_type, resource_id, version, $1, statement_timestamp(), created_at
from target
order by merchant_id, event_id, endpoint_id
on conflict (merchant_id, event_id, endpoint_id) do update
set
  status = 'pending',
  reason = null,
  finished_at = null,
  due_at = case when ${IS_UNLEASED} then excluded.due_at else d.due_at end,
  attempt_count = case when ${IS_UNLEASED} then 0 else d.attempt_count end,
  unfinished_count = case when ${IS_UNLEASED} then 0 else d.unfinished_count end,
  leased_until = case when ${IS_UNLEASED} then null else d.leased_until end,
  first_attempt_at = case when d.status = 'pending' then d.first_attempt_at end`

const replayEventStatement = sql<{ endpointId: string }>`
with target as (
  select
    v.merchant_id, v.id as event_id, e.id as endpoint_id, v.resource_type, v.resource_id, v.version, v.created_at
  from events v
  join webhook_endpoints e on e.merchant_id = v.merchant_id
  where v.merchant_id = $2
    and v.id = $3
    and e.status = 'enabled'
    and case when $4::uuid is null then is_subscribed_to_event(e.id, e.events, v.type, v.resource_id) else e.id = $4 end
)
${RESTART_DELIVERIES}
returning endpoint_id as "endpointId"`

/** Replays one event, to one endpoint or to all subscribed endpoints. Returns the number of deliveries. */
export async function replayEvent(
  tx: Tx,
  merchantId: string,
  now: Date,
  eventId: string,
  endpointId: string | null,
): Promise<number> {
  return (await tx.query(replayEventStatement, [now, merchantId, eventId, endpointId])).length
}

const insertReplayStatement = sql<ReplayRow>`
insert into webhook_replays (
  merchant_id, id, status, events, deliveries, last_run_at, created_at, finished_at
)
values ($1, $2, 'done', least($3::integer, 1), $3, $4, $4, $4)
returning ${REPLAY_COLUMNS}`

/** Records the finished replay of one event, with its number of deliveries. */
export async function insertReplay(
  tx: Tx,
  merchantId: string,
  id: string,
  deliveries: number,
  at: Date,
): Promise<ReplayRow> {
  const [row] = await tx.query(insertReplayStatement, [merchantId, id, deliveries, at])
  if (!row) throw new Error('the insert of a replay returned no row')
  return row
}

const queueReplayStatement = sql<ReplayRow>`
insert into webhook_replays (
  merchant_id, id, status, range_from, range_to, types, endpoint_id, only_undelivered, last_run_at, created_at
)
values ($1, $2, 'queued', $3, $4, $5, $6, $7, $8, $8)
returning ${REPLAY_COLUMNS}`

export async function queueReplay(
  tx: Tx,
  merchantId: string,
  id: string,
  range: ReplayRange,
  at: Date,
): Promise<ReplayRow> {
  const { from, to, types, endpointId, onlyUndelivered } = range
  const values = [merchantId, id, from, to, types, endpointId, onlyUndelivered, at]
  const [row] = await tx.query(queueReplayStatement, values)
  if (!row) throw new Error('the insert of a replay returned no row')
  return row
}

const countQueuedStatement = sql<{ count: number }>`
select count(*)::integer as count
from webhook_replays
where merchant_id = $1 and status = 'queued'`

export async function countQueuedReplays(tx: Tx, merchantId: string): Promise<number> {
  const [row] = await tx.query(countQueuedStatement, [merchantId])
  return row?.count ?? 0
}

const selectReplay = sql<ReplayRow>`
select ${REPLAY_COLUMNS}
from webhook_replays
where merchant_id = $1 and id = $2`

export async function findReplay(db: Db, merchantId: string, id: string): Promise<ReplayRow | undefined> {
  return firstRow(db, selectReplay, [merchantId, id])
}

// The limit of deliveries that one statement writes, and of events that it reads. One process runs it at a time, so it holds
// its row locks only briefly.
const REPLAY_BATCH_SIZE = '500'

// The types are filtered after the batch is read: for a rare type the statement would otherwise read every event.
const replayBatchStatement = sql<{ deliveries: number }>`
with mutex as materialized (
  select pg_try_advisory_xact_lock(hashtextextended('webhook_replays', 0)) as is_acquired
),
next_replay as (
  select *
  from webhook_replays
  where status = 'queued' and (select is_acquired from mutex)
  order by last_run_at
  limit 1
  for update skip locked
),
endpoint as (
  select e.merchant_id, e.id, e.events
  from next_replay a
  join webhook_endpoints e on e.merchant_id = a.merchant_id and e.status = 'enabled'
  where a.endpoint_id is null or e.id = a.endpoint_id
),
batch as materialized (
  select v.*
  from next_replay a
  cross join lateral (
    select *
    from events
    where merchant_id = a.merchant_id
      and created_at >= greatest(
        a.range_from,
        case when a.only_undelivered then $2::timestamptz end,
        (select archived_before from archive_boundaries b where b.merchant_id = a.merchant_id)
      )
      and created_at < a.range_to
      and (created_at, id) > (coalesce(a.cursor_created_at, '-infinity'), coalesce(a.cursor_event_id, a.id))
    order by created_at, id
    limit ${REPLAY_BATCH_SIZE} / greatest((select count(*) from endpoint), 1)
  ) v
),
target as (
  select
    v.merchant_id, v.id as event_id, e.id as endpoint_id, v.resource_type, v.resource_id, v.version, v.created_at
  from next_replay a
  join batch v on v.merchant_id = a.merchant_id
  join endpoint e on e.merchant_id = v.merchant_id
  where (a.types is null or v.type = any(a.types))
    and is_subscribed_to_event(e.id, e.events, v.type, v.resource_id)
    and not (
      a.only_undelivered
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
restarted as (
  ${RESTART_DELIVERIES}
  returning event_id
),
last as (
  select created_at, id
  from batch
  order by created_at desc, id desc
  limit 1
)
update webhook_replays r
set
  events = r.events + (select count(distinct event_id) from restarted),
  deliveries = r.deliveries + (select count(*) from restarted),
  cursor_created_at = coalesce(l.created_at, r.cursor_created_at),
  cursor_event_id = coalesce(l.id, r.cursor_event_id),
  status = case when l.id is null then 'done' else 'queued' end,
  last_run_at = $1,
  finished_at = case when l.id is null then $1::timestamptz end
from next_replay a
left join last l on true
where r.merchant_id = a.merchant_id and r.id = a.id
returning r.deliveries`

/** Processes the next batch of a queued replay; deliveries before `keptSince` may be purged. Returns false if none is queued. */
export async function replayBatch(db: Db, now: Date, keptSince: Date): Promise<boolean> {
  const rows = await db.query(replayBatchStatement, [now, keptSince])
  return rows.length > 0
}

const purgeReplaysStatement = sql<unknown>`
with old as materialized (
  select merchant_id, id
  from webhook_replays r
  where finished_at < $1 and ${worksHere('r')}
  limit 1000
)
delete from webhook_replays r
using old
where r.merchant_id = old.merchant_id and r.id = old.id
returning 1`

/** Purges replays that finished before this time, up to a thousand per call; returns how many. */
export async function purgeReplays(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeReplaysStatement, [before])).length
}
