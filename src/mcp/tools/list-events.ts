import { Type } from 'typebox'
import { EVENT_TYPE_NAMES, EVENT_TYPES } from '../../core/event-types.ts'
import { Enum } from '../../kit/http/schema.ts'
import { type Envelope, requireSuccess } from '../api.ts'
import { readTool } from '../tool.ts'
import { Cursor, counted, RecordUuid, Time } from './fields.ts'

/** The fields that tools use; src/events/schema.ts describes the record. */
export interface EventRecord {
  id: string
  type: string
  createdAt: string
  resource: { type: string; uuid: string; version: number }
}

export const EVENTS_PATH = '/api/v1/events'

export const listEvents = readTool({
  name: 'list_events',
  title: 'List events',
  description:
    'The events of the merchant, newest first. Webhook endpoints get those that they subscribe to. explain_webhooks says how their deliveries went; replay_event sends one again.',
  scopes: ['webhooks:read'],
  input: {
    type: Type.Optional(Enum(EVENT_TYPE_NAMES, { description: 'Only events of this type.' })),
    resource: Type.Optional(RecordUuid('Only events of this payment, refund or other record.')),
    createdFrom: Type.Optional(Time('From this time on.')),
    createdTo: Type.Optional(Time('Until this time.')),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: '20 if absent.' })),
    cursor: Type.Optional(Cursor),
  },
  async run({ call, publicUrl }, { limit = 20, ...query }) {
    const { data, meta }: Envelope<EventRecord[]> = await requireSuccess(call, {
      method: 'GET',
      path: EVENTS_PATH,
      query: { ...query, limit },
    })
    const events = data.map(({ id, type, createdAt, resource }) => ({
      ...{ id, type, createdAt, resource },
      meaning: Object.entries(EVENT_TYPES).find(([name]) => name === type)?.[1],
      api: `${publicUrl}${EVENTS_PATH}/${id}`,
    }))
    return {
      headline: `${counted(events.length, 'event')} shown of ${meta.totalIsCapped ? 'more than ' : ''}${meta.total}.`,
      data: { events, nextCursor: meta.nextCursor },
    }
  },
})
