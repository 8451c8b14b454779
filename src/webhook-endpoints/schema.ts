// The request bodies and the response schema of a webhook endpoint.

import { type Static, Type } from 'typebox'
import { EVENT_PATTERNS, EVENT_TYPE_NAMES } from '../core/event-types.ts'
import {
  CreatedAt,
  described,
  Enum,
  NamedEnum,
  Nullable,
  namedExtension,
  namedObject,
  Timestamp,
  text,
  timestamp,
  UpdatedAt,
  Uuid,
} from '../kit/http/schema.ts'
import type { EndpointRow } from './endpoint.ts'
import { DISABLED_REASONS, type DisabledReason, ENDPOINT_STATUSES } from './states.ts'

// The type of Object.keys is wider than the keys of this constant object.
const DISABLED_REASON_NAMES = Object.keys(DISABLED_REASONS) as DisabledReason[]

const UrlInput = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'Where events are sent: a public https address. In staging also http on your own machine.',
  examples: ['https://shop.example/webhooks'],
})

const DescriptionInput = Type.String({
  maxLength: 255,
  'x-multiline': true,
  description: 'What the endpoint is for, for yourself.',
})

const EventsInput = Type.Array(NamedEnum('EventPattern', [...EVENT_PATTERNS, ...EVENT_TYPE_NAMES]), {
  minItems: 1,
  maxItems: 100,
  description:
    'The event types to send, or patterns of them: payment.* is every type that begins with "payment.", * is all of them. A pattern also matches types that are added later.',
  examples: [['payment.*', 'refund.successful']],
})

export const CreateEndpointBody = namedObject('CreateWebhookEndpointRequest', {
  url: UrlInput,
  description: Type.Optional(DescriptionInput),
  events: Type.Optional({ ...EventsInput, default: ['*'] }),
})

export const ChangeEndpointBody = namedObject('UpdateWebhookEndpointRequest', {
  url: Type.Optional(UrlInput),
  description: Type.Optional(
    described(DescriptionInput, 'What the endpoint is for, for yourself. An empty text removes it.'),
  ),
  events: Type.Optional(EventsInput),
  enabled: Type.Optional(
    Type.Boolean({
      description:
        'False: nothing is sent, and waiting deliveries are dead-lettered. True: deliveries begin again.',
    }),
  ),
})

export const RotateSecretBody = namedObject('RotateWebhookSecretRequest', {
  overlapHours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 168,
      default: 24,
      description: 'For how many hours deliveries are signed with the old secret too.',
    }),
  ),
})

const ENDPOINT = {
  uuid: Uuid,
  url: text('Where events are sent.', 'https://shop.example/webhooks'),
  description: Nullable(
    Type.String(),
    'What the endpoint is for, as you wrote it. Null if you wrote nothing.',
  ),
  events: Type.Array(Type.String(), {
    description: 'The event types that are sent, or patterns of them. `*` is all types.',
    examples: [['payment.*', 'refund.successful']],
  }),
  status: Enum(ENDPOINT_STATUSES, {
    description:
      'Only an enabled endpoint gets deliveries. Only the response to its deletion has the status deleted.',
  }),
  disabled: Nullable(
    namedObject('DisabledEndpoint', {
      reason: Enum(DISABLED_REASON_NAMES, { description: 'Why it is disabled. Branch on this.' }),
      message: text('The reason in a sentence.'),
      at: timestamp('When it was disabled, in UTC.'),
    }),
    'Why and when it was disabled. Null while it is enabled.',
  ),
  failingSince: Nullable(
    Timestamp,
    'Every attempt since then has failed, without a gap of more than 27 hours between attempts. Null if the latest succeeded.',
  ),
  previousSecretUntil: Nullable(
    Timestamp,
    'Until then deliveries are signed with the previous secret too. Null if there is none.',
  ),
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
}

export const EndpointRecord = namedObject('WebhookEndpoint', ENDPOINT, {
  description: 'A URL of yours to which events are delivered.',
})

export const EndpointWithSecret = namedExtension(
  'WebhookEndpointWithSecret',
  EndpointRecord,
  {
    secret: text(
      'Verifies the signature of every delivery: whsec_ and base64. Shown here only, and again to a repeat with the same Idempotency-Key while it is current: store it.',
    ),
  },
  { description: 'A webhook endpoint with its secret, which no other operation shows.' },
)

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
