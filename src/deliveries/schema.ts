// The response schemas of deliveries and replays, and the request bodies of replays.

import { type Static, Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../core/event-types.ts'
import { Enum, Nullable, Timestamp, Uuid, UuidInput } from '../kit/http/schema.ts'
import type { DeliveryAttemptRow, DeliveryRow, ReplayRow } from './delivery.ts'
import { deliveryHeaders } from './signature.ts'
import { DEAD_REASONS, DELIVERY_STATUSES, type DeadReason, REPLAY_STATUSES } from './states.ts'

const DEAD_REASON_NAMES = Object.keys(DEAD_REASONS) as DeadReason[]

const time = (description: string) => Type.String({ format: 'date-time', description })

const DeliveryAttemptRecord = Type.Object({
  at: Timestamp,
  request: Type.Object({
    url: Type.String(),
    headers: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
    }),
  }),
  http: Nullable(Type.Integer({ description: 'The HTTP status of the response; null without a response.' })),
  error: Nullable(Type.String({ description: 'Why there was no response.' })),
  responseBody: Nullable(Type.String({ description: 'The first 200 characters of the response body.' })),
  durationMs: Type.Integer(),
})

export const DeliveryRecord = Type.Object({
  endpoint: Uuid,
  url: Type.String(),
  status: Enum(DELIVERY_STATUSES),
  reason: Nullable(Enum(DEAD_REASON_NAMES, { description: 'Why it was dead-lettered.' })),
  message: Nullable(Type.String({ description: 'The reason in words.' })),
  nextAttemptAt: Nullable(time('Null while an attempt is in progress, and when none will be made.')),
  deliveredAt: Nullable(Timestamp),
  attempts: Type.Array(DeliveryAttemptRecord, { description: 'The latest 20, oldest first.' }),
})

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

const ENDPOINT_FILTER = { ...UuidInput, description: 'Only to this endpoint.' }

export const ReplayEventBody = Type.Object({ endpoint: Type.Optional(ENDPOINT_FILTER) })

export const ReplayRangeBody = Type.Object({
  from: time('From this time, inclusive.'),
  to: time('Before this moment.'),
  types: Type.Optional(Type.Array(Enum(EVENT_TYPE_NAMES), { minItems: 1, maxItems: 100 })),
  endpoint: Type.Optional(ENDPOINT_FILTER),
  onlyUndelivered: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Skips events that an endpoint has received. Deliveries are kept for 30 days, so from must not be longer ago.',
    }),
  ),
})

export const ReplayRecord = Type.Object({
  uuid: Uuid,
  status: Enum(REPLAY_STATUSES, {
    description: 'Queued: the replay is not complete, and the counts still grow.',
  }),
  events: Type.Integer({ description: 'The number of replayed events so far.' }),
  deliveries: Type.Integer({ description: 'The number of calls so far, over all endpoints.' }),
  createdAt: Timestamp,
  finishedAt: Nullable(Timestamp),
})

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
