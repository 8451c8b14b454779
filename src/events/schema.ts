// The response schema of an event, and the query of the list.

import { Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../core/event-types.ts'
import { Enum, PAGE_QUERY, Timestamp, Uuid, UuidInput } from '../kit/http/schema.ts'
import { RESOURCE_TYPES } from './service.ts'

export const EventsQuery = Type.Object({
  ...PAGE_QUERY,
  type: Type.Optional(
    Enum(EVENT_TYPE_NAMES, {
      'x-message':
        'must be one event type, such as payment.successful. Only webhook endpoints take patterns such as payment.*.',
    }),
  ),
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
      description: 'Increases by one with every event of the resource: drop older versions.',
    }),
  }),
  data: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'The record as the API returned it at that moment, without secrets.',
  }),
})
