// The request bodies and the response schema of a webhook endpoint.

import { type Static, Type } from 'typebox'
import { EVENT_PATTERNS, EVENT_TYPE_NAMES } from '../core/event-types.ts'
import { Enum, Nullable, Timestamp, Uuid } from '../kit/http/schema.ts'
import type { EndpointRow } from './endpoint.ts'
import { DISABLED_REASONS, type DisabledReason, ENDPOINT_STATUSES } from './states.ts'

// The type of Object.keys is wider than the keys of this constant object.
const DISABLED_REASON_NAMES = Object.keys(DISABLED_REASONS) as DisabledReason[]

const time = (description: string) => Type.String({ format: 'date-time', description })

const UrlInput = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'A public https address. In staging also http on your own machine.',
})

const DescriptionInput = Type.String({ maxLength: 255, 'x-multiline': true })

const EventsInput = Type.Array(Enum([...EVENT_PATTERNS, ...EVENT_TYPE_NAMES]), {
  minItems: 1,
  maxItems: 100,
  description:
    'The event types to send, or patterns of them: payment.* is every type that begins with "payment.", * is all of them. A pattern also matches types that are added later.',
})

export const CreateEndpointBody = Type.Object({
  url: UrlInput,
  description: Type.Optional(DescriptionInput),
  events: Type.Optional({ ...EventsInput, default: ['*'] }),
})

export const ChangeEndpointBody = Type.Object({
  url: Type.Optional(UrlInput),
  description: Type.Optional({ ...DescriptionInput, description: 'An empty text removes it.' }),
  events: Type.Optional(EventsInput),
  enabled: Type.Optional(
    Type.Boolean({
      description:
        'False: nothing is sent, and waiting deliveries are dead-lettered. True: deliveries begin again.',
    }),
  ),
})

export const RotateSecretBody = Type.Object({
  overlapHours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 168,
      default: 24,
      description: 'How long deliveries are signed with the old secret too.',
    }),
  ),
})

const ENDPOINT = {
  uuid: Uuid,
  url: Type.String(),
  description: Nullable(Type.String()),
  events: Type.Array(Type.String()),
  status: Enum(ENDPOINT_STATUSES, {
    description: 'Only the response to its deletion has the status deleted.',
  }),
  disabled: Nullable(
    Type.Object({ reason: Enum(DISABLED_REASON_NAMES), message: Type.String(), at: Timestamp }),
  ),
  failingSince: Nullable(
    time('Every attempt since then has failed, without a gap of more than 27 hours between attempts.'),
  ),
  previousSecretUntil: Nullable(time('Until then deliveries are signed with the previous secret too.')),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}

export const EndpointRecord = Type.Object(ENDPOINT)

export const EndpointWithSecret = Type.Object({
  ...ENDPOINT,
  secret: Type.String({
    description: 'Verifies the signature of every delivery. Shown here only: store it.',
  }),
})

/** The test clock makes this time older, even older than the endpoint, because the limit of failing is counted from it. */
function failingSinceOf({ failingSince, createdAt }: EndpointRow): Date | null {
  return failingSince !== null && failingSince < createdAt ? createdAt : failingSince
}

export function toEndpoint(row: EndpointRow): Static<typeof EndpointRecord> {
  const { disabledReason: reason, disabledAt: at } = row
  return {
    uuid: row.id,
    url: row.url,
    description: row.description,
    events: row.events,
    status: row.status,
    disabled: reason && at && { reason, message: DISABLED_REASONS[reason], at: at.toISOString() },
    failingSince: failingSinceOf(row)?.toISOString() ?? null,
    previousSecretUntil: row.previousSecretUntil?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}
