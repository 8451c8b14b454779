// Events in the document: a union of one schema for each type, by which clients know what data has, and the webhook.

import type { TSchema } from 'typebox'
import { EVENT_TYPES, type EventType } from '../../core/event-types.ts'
import { EVENT_EXAMPLE } from '../../events/examples.ts'
import { EventRecord } from '../../events/schema.ts'
import { isSchema, type JsonSchema } from '../input/json-schema.ts'
import { type Components, pascalCase } from './components.ts'
import { documentedSchema } from './documented-schema.ts'

/** The record in the data of each type of event. */
export type EventData = Readonly<Record<EventType, TSchema>>

/** Writes the union under the name of the event's record, in place of its open data. */
export function addEvents(data: EventData, components: Components, paymentExample: unknown): void {
  const { type: _type, data: _data, ...common } = EventRecord.properties
  const head = documentedSchema(
    { type: 'object', required: Object.keys(common), properties: common },
    { components },
  )
  const base = components.add('schemas', 'EventBase', head)
  const references = Object.entries(data).map(([name, schema]) => {
    const properties = {
      type: { type: 'string', const: name, description: EVENT_TYPES[name as EventType] },
      data: documentedSchema(schema, { components }),
    }
    const own = { type: 'object', required: ['type', 'data'], properties }
    return [name, components.add('schemas', `${pascalCase(name)}Event`, { allOf: [base, own] })] as const
  })
  const mapping = Object.fromEntries(references.map(([name, { $ref }]) => [name, $ref]))
  const union = {
    description:
      'An event. The type says which record is in data: as the API returned it at that moment, without secrets.',
    oneOf: references.map(([, reference]) => reference),
    discriminator: { propertyName: 'type', mapping },
    ...(isSchema(paymentExample) && { examples: [{ ...EVENT_EXAMPLE, data: inEvents(paymentExample) }] }),
  }
  components.fix('schemas', 'Event', union)
}

/** In events, values that grant access are null. */
function inEvents(payment: JsonSchema): JsonSchema {
  const paymentMethod = isSchema(payment.paymentMethod) && { ...payment.paymentMethod, recurringToken: null }
  return { ...payment, accessCode: null, checkoutUrl: null, paymentMethod: paymentMethod || null }
}

const header = (name: string, description: string): JsonSchema => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

export const WEBHOOKS: JsonSchema = {
  event: {
    post: {
      operationId: 'webhooks.event',
      tags: ['Webhooks'],
      summary: 'An event is delivered to your endpoint',
      description:
        'At least once to each endpoint that is subscribed to the type. Verify the signature over the raw body (Standard Webhooks), store the id, and answer 2xx within 15 seconds; otherwise it is retried.',
      parameters: [
        header('webhook-id', 'The id of the event, the same in every attempt and replay.'),
        header('webhook-timestamp', 'The time of the attempt, in seconds since 1970. Refuse old ones.'),
        header('webhook-signature', 'Signatures over id, timestamp and body, separated by spaces.'),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Event' } } },
      },
      responses: { 200: { description: 'You have the event.' } },
      security: [],
    },
  },
}
