// The statements of the delivery worker. They span the tables of events as well, so that a claim brings along all that is
// sent and a result is one commit.
//
// What is to be done stands in two small indexes, by endpoint. A claim goes from endpoint to endpoint and takes a few
// from each, so that it costs the same however much one of them has waiting, and none pushes another out.

import { type Db, sql } from '../kit/db.ts'

/** A delivery that is ours until its lease ends, with all that is needed to make it. */
export interface ClaimedDelivery {
  merchantId: string
  eventId: string
  endpointId: string
  fence: number
  /** Tries that ended without success so far. */
  tries: number
  resourceId: string
  url: string
  secretSealed: string
  previousSealed: string | null
  previousUntil: Date | null
  failingSince: Date | null
  /** The stored event as text: the same bytes at every try, and at every replay. */
  body: string
}

const CLAIM_COLUMNS = `
  d.merchant_id as "merchantId", d.event_id as "eventId", d.endpoint_id as "endpointId", d.fence, d.tries,
  d.resource_id as "resourceId", e.url, e.secret_sealed as "secretSealed", e.previous_sealed as "previousSealed",
  e.previous_until as "previousUntil", e.failing_since as "failingSince", v.body::text as body`

// Endpoints that have something waiting, found by leaping from one to the next in the index.
export const WAITING = `
waiting as (
  (
    select merchant_id, endpoint_id
    from deliveries
    where due_at is not null
    order by merchant_id, endpoint_id
    limit 1
  )
  union all
  select n.merchant_id, n.endpoint_id
  from waiting w
  cross join lateral (
    select d.merchant_id, d.endpoint_id
    from deliveries d
    where d.due_at is not null and (d.merchant_id, d.endpoint_id) > (w.merchant_id, w.endpoint_id)
    order by d.merchant_id, d.endpoint_id
    limit 1
  ) n
)`

// How far a claim looks at one endpoint: enough to find other resources behind a few that wait for their turn.
const WINDOW = '32'

// A version waits this long for the one before it, counted from when that one was first tried.
const PATIENCE = "interval '10 minutes'"

// Whatever the patience: who is being tried, or is due as well, goes first. A worker that was away finds everything due.
const GOES_FIRST = `
        p.first_tried_at is null
        or p.first_tried_at > $1::timestamptz - ${PATIENCE}
        or p.due_at <= $1
        or p.leased_until > $1`

// Who waits for one that is being tried is taken on when that one ends; it looks again by itself as well, because an end
// that is written just before it came to be does not know of it.
const HOLD_UNTIL = `
      greatest(
        case when p.leased_until is null then least(p.due_at, p.first_tried_at + ${PATIENCE}) end,
        $1::timestamptz + interval '1 second'
      )`

// Events about an endpoint itself, such as its tests, tell nothing that a later one would make stale.
const UNORDERED = "'webhook_endpoint'"

// Those that wait for an earlier version are put off until it is tried again: they leave the window to others.
const claimDeliveriesStatement = sql<{ isHeld: boolean } & ClaimedDelivery>`
with recursive ${WAITING},
candidate as (
  select d.merchant_id, d.event_id, d.endpoint_id, d.due_at, $5 - coalesce(u.under_way, 0) as room, b.hold_until
  from waiting w
  join webhook_endpoints e on e.merchant_id = w.merchant_id and e.id = w.endpoint_id and e.status = 'enabled'
  left join unnest($3::uuid[], $4::integer[]) as u (endpoint_id, under_way) on u.endpoint_id = e.id
  cross join lateral (
    select *
    from deliveries
    where merchant_id = w.merchant_id and endpoint_id = w.endpoint_id and due_at <= $1
    order by due_at
    limit ${WINDOW}
  ) d
  left join lateral (
    select ${HOLD_UNTIL} as hold_until
    from deliveries p
    where p.merchant_id = d.merchant_id
      and p.endpoint_id = d.endpoint_id
      and p.resource_id = d.resource_id
      and p.resource_type = d.resource_type
      and p.version < d.version
      and p.due_at is not null
      and (${GOES_FIRST})
      and d.resource_type <> ${UNORDERED}
    order by p.version desc
    limit 1
  ) b on true
  where coalesce(u.under_way, 0) < $5
),
queued as (
  select
    *,
    row_number() over (
      partition by merchant_id, endpoint_id, hold_until is null order by due_at, event_id
    ) as place
  from candidate
),
chosen as (
  select *, row_number() over (partition by hold_until is null order by place, due_at) as turn
  from queued
  where hold_until is not null or place <= room
),
locked as (
  select d.merchant_id, d.event_id, d.endpoint_id, c.hold_until
  from chosen c
  join deliveries d on d.merchant_id = c.merchant_id and d.event_id = c.event_id and d.endpoint_id = c.endpoint_id
  where d.due_at <= $1 and (c.hold_until is not null or c.turn <= $6)
  for update of d skip locked
),
held as (
  update deliveries d
  set due_at = l.hold_until
  from locked l
  where d.merchant_id = l.merchant_id
    and d.event_id = l.event_id
    and d.endpoint_id = l.endpoint_id
    and l.hold_until is not null
),
claimed as (
  update deliveries d
  set due_at = $2, leased_until = $2, fence = d.fence + 1, first_tried_at = coalesce(d.first_tried_at, $1)
  from locked l
  where d.merchant_id = l.merchant_id
    and d.event_id = l.event_id
    and d.endpoint_id = l.endpoint_id
    and l.hold_until is null
  returning d.*
)
select l.hold_until is not null as "isHeld", ${CLAIM_COLUMNS}
from locked l
left join claimed d
  on d.merchant_id = l.merchant_id and d.event_id = l.event_id and d.endpoint_id = l.endpoint_id
left join events v on v.merchant_id = d.merchant_id and v.id = d.event_id
left join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id
order by d.created_at, d.version`

export interface ClaimLimits {
  now: Date
  leaseUntil: Date
  /** How many this process has under way at each endpoint already. */
  underWay: ReadonlyMap<string, number>
  perEndpoint: number
  limit: number
}

/** What may be sent now, and how many were put off instead because an earlier version of their resource is not done. */
export async function claimDueDeliveries(
  db: Db,
  { now, leaseUntil, underWay, perEndpoint, limit }: ClaimLimits,
): Promise<{ claimed: ClaimedDelivery[]; held: number }> {
  const busy = [[...underWay.keys()], [...underWay.values()]]
  const rows = await db.query(claimDeliveriesStatement, [now, leaseUntil, ...busy, perEndpoint, limit])
  const claimed = rows.filter(({ isHeld }) => !isHeld)
  return { claimed, held: rows.length - claimed.length }
}

/** How a try ended, in the words of the columns. */
export interface DeliveryResult {
  merchant_id: string
  event_id: string
  endpoint_id: string
  fence: number
  status: 'delivered' | 'pending' | 'dead'
  reason: string | null
  due_at: Date | null
  started_at: Date
  ended_at: Date
  /** Until when the next version of the same resource is ours as well; null lets it go to whoever comes first. */
  next_lease: Date | null
  url: string
  signature: string
  http_status: number | null
  error: string | null
  answer: string | null
  duration_ms: number
}

interface FinishedRow extends ClaimedDelivery {
  n: number
  isContinued: boolean
}

const finishDeliveriesStatement = sql<FinishedRow>`
with result as (
  select *
  from jsonb_to_recordset($1::jsonb) as r (
    n integer, merchant_id uuid, event_id uuid, endpoint_id uuid, fence integer, status text, reason text,
    due_at timestamptz, started_at timestamptz, ended_at timestamptz, next_lease timestamptz, url text, signature text,
    http_status integer, error text, answer text, duration_ms integer
  )
),
finished as (
  update deliveries d
  set
    status = r.status,
    reason = r.reason,
    due_at = r.due_at,
    leased_until = null,
    tries = d.tries + 1,
    finished_at = case when r.status <> 'pending' then r.ended_at end
  from result r
  where d.merchant_id = r.merchant_id
    and d.event_id = r.event_id
    and d.endpoint_id = r.endpoint_id
    and d.fence = r.fence
    and d.status = 'pending'
  returning r.*, d.resource_type, d.resource_id, d.version
),
tried as (
  insert into delivery_attempts (
    merchant_id, event_id, endpoint_id, fence, started_at, url, signature, http_status, error, answer, duration_ms
  )
  select
    merchant_id, event_id, endpoint_id, fence, started_at, url, signature, http_status, error, answer, duration_ms
  from finished
),
outcome as (
  select merchant_id, endpoint_id, bool_or(status = 'delivered') as is_alive, min(ended_at) as at
  from finished
  group by merchant_id, endpoint_id
),
turned as (
  select o.merchant_id, o.endpoint_id, o.is_alive, o.at
  from outcome o
  join webhook_endpoints e on e.merchant_id = o.merchant_id and e.id = o.endpoint_id
  where (e.failing_since is null) <> o.is_alive
  order by e.merchant_id, e.id
  for no key update of e
),
health as (
  update webhook_endpoints e
  set failing_since = case when t.is_alive then null else t.at end
  from turned t
  where e.merchant_id = t.merchant_id and e.id = t.endpoint_id
),
follower as (
  select d.merchant_id, d.event_id, d.endpoint_id, f.n, f.ended_at, f.next_lease
  from finished f
  cross join lateral (
    select d.merchant_id, d.event_id, d.endpoint_id
    from deliveries d
    where d.merchant_id = f.merchant_id
      and d.endpoint_id = f.endpoint_id
      and d.resource_id = f.resource_id
      and d.resource_type = f.resource_type
      and d.version > f.version
      and d.due_at is not null
      and (d.leased_until is null or d.leased_until <= f.ended_at)
      and not exists (select 1 from result r where r.event_id = d.event_id and r.endpoint_id = d.endpoint_id)
    order by d.version
    limit 1
    for update of d
  ) d
  where f.status <> 'pending' and f.resource_type <> ${UNORDERED}
),
continued as (
  update deliveries d
  set
    due_at = coalesce(l.next_lease, l.ended_at),
    leased_until = l.next_lease,
    fence = d.fence + case when l.next_lease is null then 0 else 1 end,
    first_tried_at = case when l.next_lease is null then d.first_tried_at else coalesce(d.first_tried_at, l.ended_at) end
  from follower l
  join webhook_endpoints e on e.merchant_id = l.merchant_id and e.id = l.endpoint_id and e.status = 'enabled'
  where d.merchant_id = l.merchant_id and d.event_id = l.event_id and d.endpoint_id = l.endpoint_id
  returning d.*, l.n
)
select f.n, d.leased_until is not null as "isContinued", ${CLAIM_COLUMNS}
from finished f
left join continued d on d.n = f.n
left join events v on v.merchant_id = d.merchant_id and v.id = d.event_id
left join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id`

export interface Finished {
  /** False when somebody else has claimed the delivery since: nothing was written. */
  isOurs: boolean
  /** The next version of the same resource, ours as well from now on. */
  next: ClaimedDelivery | undefined
}

export async function finishDeliveries(db: Db, results: readonly DeliveryResult[]): Promise<Finished[]> {
  const rows = await db.query(finishDeliveriesStatement, [
    JSON.stringify(results.map((result, n) => ({ n, ...result }))),
  ])
  const byResult = new Map(rows.map((row) => [row.n, row]))
  return results.map((_, n) => {
    const row = byResult.get(n)
    return { isOurs: row !== undefined, next: row?.isContinued ? row : undefined }
  })
}
