// The response schemas of deliveries and replays, and the request bodies of replays.

import { type Static, Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../core/event-types.ts'
import {
  CreatedAt,
  count,
  described,
  Enum,
  NamedEnum,
  Nullable,
  namedObject,
  Timestamp,
  text,
  timestamp,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import type { DeliveryAttemptRow, DeliveryRow, ReplayRow } from './delivery.ts'
import { deliveryHeaders } from './signature.ts'
import { DEAD_REASONS, DELIVERY_STATUSES, type DeadReason, REPLAY_STATUSES } from './states.ts'

const DEAD_REASON_NAMES = Object.keys(DEAD_REASONS) as DeadReason[]

const DeliveryAttemptRecord = namedObject('DeliveryAttempt', {
  at: timestamp('When the attempt began, in UTC.'),
  request: namedObject(
    'DeliveryRequest',
    {
      url: text('The URL that was called.', 'https://shop.example/webhooks'),
      headers: Type.Unsafe<Record<string, string>>({
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'The webhook-id, webhook-timestamp and webhook-signature headers, and the content type.',
      }),
    },
    { description: 'What was sent. The body is the event.' },
  ),
  http: Nullable(
    Type.Integer({ examples: [204] }),
    'The HTTP status of the response. Null without a response.',
  ),
  error: Nullable(Type.String(), 'Why there was no response. Null if there was one.'),
  responseBody: Nullable(
    Type.String(),
    'The first 200 characters of the response body. Null without a response.',
  ),
  durationMs: count('How long the attempt took, in milliseconds.'),
})

export const DeliveryRecord = namedObject(
  'Delivery',
  {
    endpoint: described(Uuid, 'The uuid of the webhook endpoint.'),
    url: text('The URL of the endpoint now.', 'https://shop.example/webhooks'),
    status: NamedEnum('DeliveryStatus', DELIVERY_STATUSES, {
      description:
        'pending: it is being attempted. delivered: the endpoint answered with a 2xx status. dead: no more attempts are made.',
    }),
    reason: Nullable(
      Enum(DEAD_REASON_NAMES),
      'Why no more attempts are made. Null unless the status is dead.',
    ),
    message: Nullable(Type.String(), 'The reason in a sentence. Null unless the status is dead.'),
    nextAttemptAt: Nullable(
      Timestamp,
      'When the next attempt is due, in UTC. Null while one is in progress, and when none will be made.',
    ),
    deliveredAt: Nullable(Timestamp, 'When the endpoint accepted it, in UTC. Null until then.'),
    attempts: Type.Array(DeliveryAttemptRecord, { description: 'The latest 20 attempts, oldest first.' }),
  },
  { description: 'The delivery of an event to one endpoint.' },
)

export function toDelivery(eventId: string, row: DeliveryRow): Static<typeof DeliveryRecord> {
  const { status, reason, finishedAt } = row
  return {
    endpoint: row.endpointId,
    url: row.url,
    status,
    reason,
    message: reason && DEAD_REASONS[reason],
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    deliveredAt: status === 'delivered' ? (finishedAt?.toISOString() ?? null) : null,
    attempts: row.attempts.map((one) => toDeliveryAttempt(eventId, one)),
  }
}

function toDeliveryAttempt(
  eventId: string,
  { startedAt, url, signature, ...response }: DeliveryAttemptRow,
): Static<typeof DeliveryAttemptRecord> {
  return {
    at: startedAt.toISOString(),
    request: { url, headers: deliveryHeaders(eventId, startedAt, signature) },
    http: response.httpStatus,
    error: response.error,
    responseBody: response.responseBody,
    durationMs: response.durationMs,
  }
}

const ENDPOINT_FILTER = {
  ...UuidInput,
  description: 'The uuid of the only endpoint to send to. Absent: all that are subscribed.',
}

export const ReplayEventBody = namedObject('ReplayEventRequest', { endpoint: Type.Optional(ENDPOINT_FILTER) })

export const ReplayRangeBody = namedObject('ReplayPeriodRequest', {
  from: timestamp('The start of the period, inclusive.'),
  to: timestamp('The end of the period, exclusive.'),
  types: Type.Optional(
    Type.Array(NamedEnum('EventType', EVENT_TYPE_NAMES), {
      minItems: 1,
      maxItems: 100,
      description: 'Only events of these types. Absent: of all types.',
    }),
  ),
  endpoint: Type.Optional(ENDPOINT_FILTER),
  onlyUndelivered: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Skips events that an endpoint has received. Deliveries are kept for 30 days, so from must not be longer ago.',
    }),
  ),
})

export const ReplayRecord = namedObject(
  'Replay',
  {
    uuid: Uuid,
    status: Enum(REPLAY_STATUSES, {
      description: 'queued: the replay is not complete, and the counts still grow. done: it is complete.',
    }),
    events: count('The number of replayed events so far.'),
    deliveries: count('The number of deliveries so far, over all endpoints.'),
    createdAt: CreatedAt,
    finishedAt: Nullable(Timestamp, 'When the replay was complete, in UTC. Null until then.'),
  },
  { description: 'Events that are delivered again.' },
)

export function toReplay(row: ReplayRow): Static<typeof ReplayRecord> {
  return {
    uuid: row.id,
    status: row.status,
    events: row.events,
    deliveries: row.deliveries,
    createdAt: row.createdAt.toISOString(),
    finishedAt: row.finishedAt?.toISOString() ?? null,
  }
}
