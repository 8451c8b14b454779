import { Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../../core/event-types.ts'
import { Enum } from '../../kit/http/schema.ts'
import { type CallApi, type Envelope, requireSuccess } from '../api.ts'
import { type ToolAnswer, type ToolContext, writeTool } from '../tool.ts'
import { counted, RecordUuid, Time } from './fields.ts'
import { EVENTS_PATH, type EventRecord } from './list-events.ts'

const Endpoint = Type.Optional(
  RecordUuid('Only to this webhook endpoint. Absent: to every enabled one that subscribes to it.'),
)
const DEDUPLICATES = 'Receivers get the same id and body again, and must ignore what they have processed.'

export const replayEvent = writeTool({
  name: 'replay_event',
  title: 'Replay an event',
  description: `Sends one event again to the webhook endpoints. ${DEDUPLICATES}`,
  scopes: ['webhooks:write'],
  isDestructive: false,
  input: { event: RecordUuid('The id of the event; list_events finds it.'), endpoint: Endpoint },
  async prepare({ call, publicUrl }, { event: uuid, endpoint }) {
    const path = `${EVENTS_PATH}/${uuid}`
    const { data }: Envelope<EventRecord> = await requireSuccess(call, { method: 'GET', path })
    const { type, createdAt, resource } = data
    return {
      summary: `The event ${type} of ${createdAt} about the ${resource.type} ${resource.uuid} would be sent again to ${endpoint === undefined ? 'every enabled endpoint that subscribes to it' : `the endpoint ${endpoint}`}.`,
      arguments: { event: uuid, endpoint },
      facts: { event: { id: uuid, type, createdAt, resource }, api: `${publicUrl}${path}` },
    }
  },
  request: ({ event, endpoint }) => ({
    method: 'POST',
    path: `${EVENTS_PATH}/${event}/replay`,
    body: { endpoint },
  }),
  describe: describeReplay,
})

export const replayEvents = writeTool({
  name: 'replay_events',
  title: 'Replay the events of a period',
  description: `Sends the events of a period again, oldest first, for example after an outage of the receiver. ${DEDUPLICATES}`,
  scopes: ['webhooks:write'],
  isDestructive: false,
  input: {
    from: Time('From this time, inclusive.'),
    to: Time('Before this time.'),
    types: Type.Optional(
      Type.Array(Enum(EVENT_TYPE_NAMES), {
        minItems: 1,
        maxItems: 20,
        description: 'Only events of these types.',
      }),
    ),
    endpoint: Endpoint,
    onlyUndelivered: Type.Optional(
      Type.Boolean({ description: 'Leaves out what an endpoint has received; at most 30 days back.' }),
    ),
  },
  async prepare({ call }, input) {
    const { from, to, types, endpoint, onlyUndelivered } = input
    const { total, isCapped } = await countEvents(call, input)
    const count = isCapped ? `More than ${total} events` : `At most ${counted(total, 'event')}`
    const ofTypes = types ? ` of the types ${types.join(', ')}` : ''
    const target =
      endpoint === undefined
        ? 'every enabled endpoint that subscribes to them'
        : `the endpoint ${endpoint}, if it subscribes to them`
    return {
      summary: `${count}${ofTypes} from ${from} to ${to} would be sent again to ${target}${onlyUndelivered ? ', except what was delivered' : ''}.`,
      arguments: input,
      facts: { eventsInPeriod: total },
    }
  },
  request: (body) => ({ method: 'POST', path: `${EVENTS_PATH}/replay`, body }),
  describe: describeReplay,
})

interface Period {
  from: string
  to: string
  types?: readonly string[]
}

/** The events of the period, of the types if there are any. The list filters by one type, and its end is inclusive. */
async function countEvents(call: CallApi, { from, to, types }: Period) {
  const endMs = Date.parse(to) - 1
  // The API explains a time that it cannot read.
  const createdTo = Number.isNaN(endMs) ? to : new Date(endMs).toISOString()
  let total = 0
  let isCapped = false
  for (const type of types ? new Set(types) : [undefined]) {
    const query = { createdFrom: from, createdTo, type, limit: 1 }
    const { meta }: Envelope<EventRecord[]> = await requireSuccess(call, {
      method: 'GET',
      path: EVENTS_PATH,
      query,
    })
    total += meta.total
    isCapped ||= meta.totalIsCapped
  }
  return { total, isCapped }
}

function describeReplay(
  { publicUrl }: ToolContext,
  { message, data }: Envelope<Record<string, unknown>>,
): ToolAnswer {
  const { uuid, status, events, deliveries } = data
  return {
    headline: message,
    data: {
      // queued while events are still being sent.
      state: status,
      replay: { uuid, status, events, deliveries },
      api: `${publicUrl}/api/v1/webhooks/replays/${uuid}`,
    },
  }
}
