// What an endpoint, an event and a delivery look like, and what a merchant may say about them.

import { type Static, Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../core/event-types.ts'
import { RESOURCE_TYPES } from '../events/service.ts'
import { Enum, Nullable, PAGE_QUERY, Timestamp, Uuid, UuidInput } from '../kit/http/schema.ts'
import type { DeliveryAttemptRow, DeliveryRow } from './delivery.ts'
import type { EndpointRow } from './endpoint.ts'
import type { ReplayRow } from './replay-request.ts'
import { deliveryHeaders } from './signature.ts'
import {
  DEAD_REASONS,
  DELIVERY_STATUSES,
  type DeadReason,
  DISABLED_REASONS,
  type DisabledReason,
  ENDPOINT_STATUSES,
  REPLAY_STATUSES,
} from './states.ts'

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
const DISABLED_REASON_NAMES = Object.keys(DISABLED_REASONS) as DisabledReason[]
const DEAD_REASON_NAMES = Object.keys(DEAD_REASONS) as DeadReason[]

const time = (description: string) => Type.String({ format: 'date-time', description })

const UrlInput = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'A public https address. In staging also http on your own machine.',
})

const DescriptionInput = Type.String({ maxLength: 255, 'x-multiline': true })

const EventsInput = Type.Array(Enum(['*', ...EVENT_TYPE_NAMES]), {
  minItems: 1,
  maxItems: 100,
  description: 'The events to be told; * is all of them, also those added later.',
})

export const CreateEndpointBody = Type.Object({
  url: UrlInput,
  description: Type.Optional(DescriptionInput),
  events: Type.Optional({ ...EventsInput, default: ['*'] }),
})

export const ChangeEndpointBody = Type.Object({
  url: Type.Optional(UrlInput),
  description: Type.Optional({ ...DescriptionInput, description: 'An empty text takes it away.' }),
  events: Type.Optional(EventsInput),
  enabled: Type.Optional(
    Type.Boolean({
      description: 'False: nothing is sent, and what waits is given up. True: calls begin again.',
    }),
  ),
})

export const RotateSecretBody = Type.Object({
  overlapHours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 168,
      default: 24,
      description: 'How long deliveries are signed with the old secret as well.',
    }),
  ),
})

const ENDPOINT = {
  uuid: Uuid,
  url: Type.String(),
  description: Nullable(Type.String()),
  events: Type.Array(Type.String()),
  status: Enum(ENDPOINT_STATUSES, { description: 'Deleted is only in the answer to its deletion.' }),
  disabled: Nullable(
    Type.Object({ reason: Enum(DISABLED_REASON_NAMES), message: Type.String(), at: Timestamp }),
  ),
  failingSince: Nullable(
    time('Since then it has failed, without a success and without a day in which nothing was tried.'),
  ),
  previousSecretUntil: Nullable(
    time('Until then deliveries are signed with the secret before this one too.'),
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const EndpointRecord = Type.Object(ENDPOINT)

export const EndpointWithSecret = Type.Object({
  ...ENDPOINT,
  secret: Type.String({ description: 'Verifies the signature of every delivery. Shown here only: keep it.' }),
})

export function toEndpoint(row: EndpointRow): Static<typeof EndpointRecord> {
  const { disabledReason: reason, disabledAt: at } = row
  return {
    uuid: row.id,
    url: row.url,
    description: row.description,
    events: row.events,
    status: row.status,
    disabled: reason && at && { reason, message: DISABLED_REASONS[reason], at: at.toISOString() },
    failingSince: row.failingSince?.toISOString() ?? null,
    previousSecretUntil: row.previousSecretUntil?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}

export const EventsQuery = Type.Object({
  ...PAGE_QUERY,
  type: Type.Optional(Enum(EVENT_TYPE_NAMES)),
  resource: Type.Optional({ ...UuidInput, description: 'The uuid of a payment, refund or other record.' }),
})

export const EventRecord = Type.Object({
  id: Uuid,
  type: Enum(EVENT_TYPE_NAMES),
  apiVersion: Type.String(),
  mode: Enum(['test', 'live']),
  createdAt: Timestamp,
  resource: Type.Object({
    type: Enum(RESOURCE_TYPES),
    uuid: Uuid,
    version: Type.Integer({
      description: 'Grows by one with every event of the resource: drop what is older.',
    }),
  }),
  data: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'The record as the API showed it at that moment, without what opens something.',
  }),
})

const DeliveryAttemptRecord = Type.Object({
  at: Timestamp,
  request: Type.Object({
    url: Type.String(),
    headers: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
    }),
  }),
  http: Nullable(Type.Integer({ description: 'The status that was answered; null when no answer came.' })),
  error: Nullable(Type.String({ description: 'Why no answer came.' })),
  responseBody: Nullable(Type.String({ description: 'The first 200 characters of what was answered.' })),
  durationMs: Type.Integer(),
})

export const DeliveryRecord = Type.Object({
  endpoint: Uuid,
  url: Type.String(),
  status: Enum(DELIVERY_STATUSES),
  reason: Nullable(Enum(DEAD_REASON_NAMES, { description: 'Why it was given up.' })),
  message: Nullable(Type.String({ description: 'The reason in words.' })),
  nextAttemptAt: Nullable(time('Null while a try is under way, and when none will be made.')),
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
  from: time('From this moment on.'),
  to: time('Before this moment.'),
  types: Type.Optional(Type.Array(Enum(EVENT_TYPE_NAMES), { minItems: 1, maxItems: 100 })),
  endpoint: Type.Optional(ENDPOINT_FILTER),
  onlyUndelivered: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Leaves out what an endpoint has taken already. That is known for 30 days, so from must not be longer ago.',
    }),
  ),
})

export const ReplayRecord = Type.Object({
  uuid: Uuid,
  status: Enum(REPLAY_STATUSES, { description: 'Queued: more is to come, and the counts go on growing.' }),
  events: Type.Integer({ description: 'How many events are sent again, so far.' }),
  deliveries: Type.Integer({ description: 'How many calls that makes, over all endpoints.' }),
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
