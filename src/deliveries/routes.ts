// Routes for events, their deliveries and replays.

import type { Issue } from '../core/errors.ts'
import { singlePage } from '../core/page.ts'
import { EventRecord, EventsQuery } from '../events/schema.ts'
import { listEvents, requireEvent } from '../events/service.ts'
import type { IdempotentResult } from '../kit/db/idempotency.ts'
import { created, listed, ok, type Route, type RouteResponse, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import { ENDPOINT_EXAMPLE } from '../webhook-endpoints/examples.ts'
import type { DeliveriesApp } from './app.ts'
import type { ReplayRow } from './delivery.ts'
import { DELIVERY_EXAMPLE, RANGE_EXAMPLE, REPLAY_EXAMPLE } from './examples.ts'
import {
  listDeliveries,
  MAX_QUEUED_REPLAYS,
  RETENTION_DAYS,
  replayOne,
  replayRange,
  requireReplay,
} from './replay.ts'
import {
  DeliveryRecord,
  ReplayEventBody,
  ReplayRangeBody,
  ReplayRecord,
  toDelivery,
  toReplay,
} from './schema.ts'

const COMMON = { tag: 'Webhooks', scope: 'webhooks:write' } as const
const EVENTS = '/api/v1/events'
const DAY_MS = 24 * 3_600_000

export function deliveryRoutes(app: DeliveriesApp): Route[] {
  return [...eventRoutes(app), ...replayRoutes(app)]
}

const eventRoutes = (app: DeliveriesApp): Route[] => [
  route({
    ...COMMON,
    scope: 'webhooks:read',
    method: 'GET',
    path: EVENTS,
    operationId: 'events.list',
    summary: 'List events',
    description:
      'Newest first, including events to which no endpoint is subscribed; use cursors for deep pages.',
    query: EventsQuery,
    response: { http: 200, data: EventRecord, list: true, isArchived: true },
    errors: ['validation_failed', 'invalid_uuid'],
    handle: async ({ merchant, query }) => {
      const { rows, meta } = await listEvents(app, merchant, query)
      const events = rows.map(({ body }) => body)
      return listed('Events retrieved.', events, meta)
    },
  }),
  route({
    ...COMMON,
    scope: 'webhooks:read',
    method: 'GET',
    path: `${EVENTS}/{uuid}`,
    operationId: 'events.get',
    summary: 'Get an event',
    description: 'The event as it is delivered to webhook endpoints.',
    params: UuidParams,
    response: { http: 200, data: EventRecord },
    errors: ['invalid_uuid', 'event_not_found'],
    handle: async ({ merchant, params }) =>
      ok('Event retrieved.', (await requireEvent(app, merchant, params.uuid)).body),
  }),
  route({
    ...COMMON,
    scope: 'webhooks:read',
    method: 'GET',
    path: `${EVENTS}/{uuid}/deliveries`,
    operationId: 'events.listDeliveries',
    summary: 'List the deliveries of an event',
    description: `One delivery for each endpoint, with its attempts: it shows why an endpoint did not get the event. Kept for ${RETENTION_DAYS} days after they ended.`,
    params: UuidParams,
    response: { http: 200, data: DeliveryRecord, list: true },
    errors: ['invalid_uuid', 'event_not_found'],
    examples: { data: [DELIVERY_EXAMPLE] },
    handle: async ({ merchant, params }) => {
      const deliveries = await listDeliveries(app, merchant, params.uuid)
      const records = deliveries.map((delivery) => toDelivery(params.uuid, delivery))
      return listed('Deliveries retrieved.', records, singlePage(records.length))
    },
  }),
]

const replayRoutes = (app: DeliveriesApp): Route[] => [
  route({
    ...COMMON,
    method: 'POST',
    path: `${EVENTS}/{uuid}/replay`,
    operationId: 'events.replay',
    personScope: 'deliveries:resend',
    summary: 'Replay an event',
    description:
      'Sends it again to every enabled endpoint that is subscribed to it, or to the given endpoint, with the same id and body.',
    params: UuidParams,
    body: ReplayEventBody,
    response: { http: 201, data: ReplayRecord },
    errors: [
      'validation_failed',
      'invalid_uuid',
      'event_not_found',
      'webhook_endpoint_not_found',
      'invalid_state',
      'idempotency_key_reused',
    ],
    examples: { body: { endpoint: ENDPOINT_EXAMPLE.uuid }, data: { ...REPLAY_EXAMPLE, deliveries: 1 } },
    handle: async ({ merchant, params, body, idempotencyKey }) =>
      replayResponse(await replayOne(app, merchant, params.uuid, body, idempotencyKey)),
  }),
  route({
    ...COMMON,
    method: 'POST',
    path: `${EVENTS}/replay`,
    operationId: 'events.replayPeriod',
    summary: 'Replay the events of a period',
    description: `Any number of events, oldest first, in batches. The replay is queued; get it by its uuid to see its progress. At most ${MAX_QUEUED_REPLAYS} at once.`,
    body: ReplayRangeBody,
    response: { http: 201, data: ReplayRecord },
    errors: [
      'validation_failed',
      'invalid_uuid',
      'webhook_endpoint_not_found',
      'invalid_state',
      'idempotency_key_reused',
    ],
    examples: { body: RANGE_EXAMPLE },
    issues: (body) => rangeIssues(body, app.clock.now()),
    handle: async ({ merchant, body, idempotencyKey }) =>
      replayResponse(await replayRange(app, merchant, body, idempotencyKey)),
  }),
  route({
    ...COMMON,
    scope: 'webhooks:read',
    method: 'GET',
    path: '/api/v1/webhooks/replays/{uuid}',
    operationId: 'events.getReplay',
    summary: 'Get the progress of a replay',
    description: `Whether the replay is complete, and how much was sent so far. Kept for ${RETENTION_DAYS} days after it ended.`,
    params: UuidParams,
    response: { http: 200, data: ReplayRecord },
    errors: ['invalid_uuid', 'replay_not_found'],
    handle: async ({ merchant, params }) =>
      ok('Replay retrieved.', toReplay(await requireReplay(app, merchant, params.uuid))),
  }),
]

function rangeIssues({ from, to, onlyUndelivered }: Record<string, unknown>, now: Date): Issue[] {
  const [begin, end] = [timeOf(from), timeOf(to)]
  if (begin >= end) return [{ field: 'to', code: 'out_of_range', message: 'to must be later than from.' }]
  if (onlyUndelivered !== true || !(begin < now.getTime() - RETENTION_DAYS * DAY_MS)) return []
  const message = `from must be within the last ${RETENTION_DAYS} days with onlyUndelivered: what was delivered before is not known any more.`
  return [{ field: 'from', code: 'out_of_range', message }]
}

/** NaN for any other type: the schema validation reports it. */
function timeOf(value: unknown): number {
  return typeof value === 'string' ? Date.parse(value) : Number.NaN
}

function replayResponse({ record, replayed }: IdempotentResult<ReplayRow>): RouteResponse {
  return created(describeReplay(record), toReplay(record), replayed)
}

function describeReplay({ status, events, deliveries }: ReplayRow): string {
  if (status === 'queued') return 'The events of this time will be sent again.'
  return `${counted(events, 'event')} in ${counted(deliveries, 'delivery', 'deliveries')} will be sent again.`
}

const counted = (count: number, one: string, many = `${one}s`) => `${count} ${count === 1 ? one : many}`
