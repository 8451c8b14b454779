// Finds due deliveries and claims them with a lease and a fence. The statements also read events and endpoints, so that a
// claim returns everything that the request needs.
//
// Two small partial indexes hold the pending deliveries by endpoint. A claim skips from endpoint to endpoint in the index and
// takes a few deliveries each, so its cost does not depend on the backlog of one endpoint.

import { type Db, sql } from '../kit/db/db.ts'
import { CLAIM_COLUMNS, type ClaimedDelivery, type ClaimedRow, toClaimedDelivery } from './delivery.ts'
import { BACKOFF_MS, MAX_ATTEMPTS } from './retry-policy.ts'

/** The position of the round-robin over endpoints: the next page begins after it. */
export interface EndpointCursor {
  merchantId: string
  endpointId: string
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000'
export const START_CURSOR: EndpointCursor = { merchantId: NIL_UUID, endpointId: NIL_UUID }

export interface DueEndpoint extends EndpointCursor {
  isFailing: boolean
}

// Each endpoint costs one index probe of some microseconds, so a page is quick.
const ENDPOINTS_PER_PAGE = '1000'

interface WaitingRow extends DueEndpoint {
  isDue: boolean
  isLast: boolean
}

const findDueEndpointsStatement = sql<WaitingRow>`
with recursive waiting as (
  (
    select merchant_id, endpoint_id, due_at, 1 as step
    from deliveries
    where due_at is not null and (merchant_id, endpoint_id) > ($2::uuid, $3::uuid)
    order by merchant_id, endpoint_id, due_at
    limit 1
  )
  union all
  select n.merchant_id, n.endpoint_id, n.due_at, w.step + 1
  from waiting w
  cross join lateral (
    select d.merchant_id, d.endpoint_id, d.due_at
    from deliveries d
    where d.due_at is not null and (d.merchant_id, d.endpoint_id) > (w.merchant_id, w.endpoint_id)
    order by d.merchant_id, d.endpoint_id, d.due_at
    limit 1
  ) n
  where w.step < ${ENDPOINTS_PER_PAGE}
)
select
  w.merchant_id as "merchantId",
  w.endpoint_id as "endpointId",
  e.failing_since is not null as "isFailing",
  w.due_at <= $1 and e.status = 'enabled' as "isDue",
  w.step = ${ENDPOINTS_PER_PAGE} as "isLast"
from waiting w
join webhook_endpoints e on e.merchant_id = w.merchant_id and e.id = w.endpoint_id
where w.due_at <= $1 or w.step = ${ENDPOINTS_PER_PAGE}
order by w.step`

/** Returns the endpoints with due deliveries after the cursor; `next` is undefined if there are no more. */
export async function findDueEndpoints(
  db: Db,
  now: Date,
  after: EndpointCursor,
): Promise<{ due: DueEndpoint[]; next: EndpointCursor | undefined }> {
  const rows = await db.query(findDueEndpointsStatement, [now, after.merchantId, after.endpointId])
  return { due: rows.filter(({ isDue }) => isDue), next: rows.find(({ isLast }) => isLast) }
}

// How many due deliveries of an endpoint a claim reads: enough to find other resources behind a few deferred ones.
const WINDOW = '32'

// The timeout of a call is fifteen seconds; the rest is for our own statements on a busy machine.
const LEASE = "interval '30 seconds'"

// Leases use the database's clock, so a process with a wrong clock cannot take over a valid lease.
export const IS_UNLEASED = '(d.leased_until is null or d.leased_until <= statement_timestamp())'
const IS_LEASED = 'p.leased_until > statement_timestamp()'

// A version waits this long for the previous version, counted from the first attempt of that version.
const ORDERING_TIMEOUT = "interval '10 minutes'"

// After this timeout a previous version still goes first if it is leased or due: after an outage everything is due.
const BLOCKS_LATER_VERSIONS = `
        p.first_attempt_at is null
        or p.first_attempt_at > $1::timestamptz - ${ORDERING_TIMEOUT}
        or p.due_at <= $1
        or ${IS_LEASED}`

// A version blocked by an in-flight one is claimed when that one finishes. It also re-checks every second, because a finish
// that commits just before this row exists cannot see it.
const DEFERRED_UNTIL = `
      greatest(
        case when ${IS_LEASED} then null else least(p.due_at, p.first_attempt_at + ${ORDERING_TIMEOUT}) end,
        $1::timestamptz + interval '1 second'
      )`

// Events about an endpoint itself, such as its test events, need no order: a later one does not replace an earlier one.
export const UNORDERED_TYPE = "'webhook_endpoint'"

// An attempt counts as unfinished when it begins, so crashes are limited too. After a crash the delivery is retried with the
// same backoff as after a failure, so a delivery that crashes the process is retried less and less often.
export const beginAttempt = (at: string): string => `
    unfinished_count = d.unfinished_count + 1,
    fence = d.fence + 1,
    leased_until = statement_timestamp() + ${LEASE},
    due_at = l.retry_at,
    first_attempt_at = coalesce(d.first_attempt_at, ${at})`

/** When an attempt that begins at this time is retried if the process crashes. */
export const retryAt = (at: string): string =>
  `${at}::timestamptz
      + greatest(${LEASE}, (array[${BACKOFF_MS.join(', ')}])[d.unfinished_count + 1] * interval '1 millisecond')`

export const HAS_ATTEMPTS_LEFT = `d.unfinished_count < ${MAX_ATTEMPTS}`

// Deliveries that wait for an earlier version are deferred until its next attempt, so that they leave the window to others.
// `is true` hides the due condition from the planner, which would otherwise read the whole index over pending deliveries.
const claimDeliveriesStatement = sql<{ outcome: 'claimed' | 'deferred' | 'crashed' } & ClaimedRow>`
with candidate as (
  select
    d.merchant_id, d.event_id, d.endpoint_id, d.due_at, t.quota, b.deferred_until,
    case when not ${HAS_ATTEMPTS_LEFT} then 'crashed' when b.deferred_until is not null then 'deferred' else 'claimed' end as outcome
  from unnest($2::uuid[], $3::uuid[], $4::integer[]) as t (merchant_id, endpoint_id, quota)
  join webhook_endpoints e on e.merchant_id = t.merchant_id and e.id = t.endpoint_id and e.status = 'enabled'
  cross join lateral (
    select *
    from deliveries d
    where d.merchant_id = t.merchant_id and d.endpoint_id = t.endpoint_id and d.due_at <= $1 and ${IS_UNLEASED}
    order by d.due_at
    limit ${WINDOW}
  ) d
  left join lateral (
    select ${DEFERRED_UNTIL} as deferred_until
    from deliveries p
    where p.merchant_id = d.merchant_id
      and p.endpoint_id = d.endpoint_id
      and p.resource_id = d.resource_id
      and p.resource_type = d.resource_type
      and p.version < d.version
      and p.due_at is not null
      and (${BLOCKS_LATER_VERSIONS})
      and d.resource_type <> ${UNORDERED_TYPE}
    order by p.version desc
    limit 1
  ) b on true
),
queued as (
  select *, row_number() over (partition by merchant_id, endpoint_id, outcome order by due_at, event_id) as queue_position
  from candidate
),
locked as (
  select d.*, q.outcome, q.deferred_until
  from queued q
  cross join lateral (
    select d.merchant_id, d.event_id, d.endpoint_id, ${retryAt('$1')} as retry_at
    from deliveries d
    where d.merchant_id = q.merchant_id
      and d.event_id = q.event_id
      and d.endpoint_id = q.endpoint_id
      and (d.due_at <= $1 and ${IS_UNLEASED}) is true
    for update skip locked
  ) d
  where q.outcome <> 'claimed' or q.queue_position <= q.quota
),
deferred as (
  update deliveries d
  set due_at = l.deferred_until
  from locked l
  where d.merchant_id = l.merchant_id and d.event_id = l.event_id and d.endpoint_id = l.endpoint_id and l.outcome = 'deferred'
  returning d.*
),
crashed as (
  update deliveries d
  set status = 'dead', reason = 'crashed', due_at = null, leased_until = null, finished_at = $1
  from locked l
  where d.merchant_id = l.merchant_id and d.event_id = l.event_id and d.endpoint_id = l.endpoint_id and l.outcome = 'crashed'
  returning d.*
),
claimed as (
  update deliveries d
  set ${beginAttempt('$1')}
  from locked l
  where d.merchant_id = l.merchant_id
    and d.event_id = l.event_id
    and d.endpoint_id = l.endpoint_id
    and l.outcome = 'claimed'
  returning d.*
)
select d.outcome, ${CLAIM_COLUMNS}
from (
  select *, 'claimed' as outcome from claimed
  union all
  select *, 'deferred' as outcome from deferred
  union all
  select *, 'crashed' as outcome from crashed
) d
left join events v on v.merchant_id = d.merchant_id and v.id = d.event_id and d.outcome = 'claimed'
left join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id and d.outcome = 'claimed'
order by d.created_at, d.version`

/** An endpoint and the number of its deliveries that may be claimed now. */
export interface Allotment extends EndpointCursor {
  quota: number
}

/** The outcome of a claim. */
export interface ClaimResult {
  claimed: ClaimedDelivery[]
  /** Deliveries that wait for an earlier version of their resource. */
  deferred: number
  /** Deliveries that crashed at every attempt and are now dead letters. */
  crashed: Pick<ClaimedDelivery, 'merchantId' | 'eventId' | 'endpointId'>[]
}

export async function claimDueDeliveries(
  db: Db,
  now: Date,
  allotments: readonly Allotment[],
): Promise<ClaimResult> {
  const merchantIds = allotments.map(({ merchantId }) => merchantId)
  const endpointIds = allotments.map(({ endpointId }) => endpointId)
  const quotas = allotments.map(({ quota }) => quota)
  const values = [now, merchantIds, endpointIds, quotas]
  const rows = await db.query(claimDeliveriesStatement, values)
  const of = (wanted: string) => rows.filter(({ outcome }) => outcome === wanted)
  return {
    claimed: of('claimed').map(toClaimedDelivery),
    deferred: of('deferred').length,
    crashed: of('crashed'),
  }
}
