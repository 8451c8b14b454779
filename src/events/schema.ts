// The response schema of an event, and the query of the list.

import { Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../core/event-types.ts'
import {
  CreatedAt,
  described,
  Enum,
  NamedEnum,
  namedObject,
  PAGE_QUERY,
  text,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import { RESOURCE_TYPES } from './service.ts'

export const EventsQuery = Type.Object({
  ...PAGE_QUERY,
  type: Type.Optional(
    NamedEnum('EventType', EVENT_TYPE_NAMES, {
      description: 'Only events of this type.',
      'x-message':
        'must be one event type, such as payment.successful. Only webhook endpoints take patterns such as payment.*.',
    }),
  ),
  resource: Type.Optional(
    described(UuidInput, 'Only events of the payment, refund or other record with this uuid.'),
  ),
})
export const EventRecord = namedObject(
  'Event',
  {
    id: described(
      Uuid,
      'The id of the event, the same in every delivery and replay: handle each id once. It is the webhook-id header.',
    ),
    type: NamedEnum('EventType', EVENT_TYPE_NAMES, { description: 'What happened.' }),
    apiVersion: text('The version of the API whose records `data` follows.', '1.0'),
    mode: NamedEnum('Mode', ['test', 'live'], { description: 'test: from staging. live: from production.' }),
    createdAt: CreatedAt,
    resource: namedObject(
      'EventResource',
      {
        type: Enum(RESOURCE_TYPES, { description: 'The type of the record.' }),
        uuid: described(Uuid, 'The uuid of the record.'),
        version: Type.Integer({
          description: 'Increases by one with every event of the record: drop older versions.',
          examples: [3],
        }),
      },
      { description: 'The record that the event is about.' },
    ),
    data: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'The record as the API returned it at that moment, without secrets.',
    }),
  },
  { description: 'Something that happened to a record. It is delivered to your webhook endpoints.' },
)
