import { Type } from 'typebox'
import { type Envelope, requireSuccess, ToolError } from '../api.ts'
import { readTool, type ToolContext } from '../tool.ts'
import { untrusted } from '../untrusted.ts'
import { counted, RecordUuid } from './fields.ts'
import { EVENTS_PATH, type EventRecord } from './list-events.ts'

interface EndpointRecord {
  uuid: string
  url: string
  events: string[]
  status: string
  disabled: { reason: string; message: string; at: string } | null
  failingSince: string | null
}

interface DeliveryRecord {
  endpoint: string
  status: 'pending' | 'delivered' | 'dead'
  message: string | null
  nextAttemptAt: string | null
  attempts: { at: string; http: number | null; error: string | null; responseBody: string | null }[]
}

interface EventDelivery extends DeliveryRecord {
  event: EventRecord
}

/** The newest events show whether an endpoint works; each costs a request. */
const SAMPLED_EVENTS = 10

export const explainWebhooks = readTool({
  name: 'explain_webhooks',
  title: 'Explain webhook deliveries',
  description:
    'For each webhook endpoint of the merchant, or one of them: whether it works, is failing or was disabled, how the deliveries of the newest events went, the last failure, what it means, and what to do.',
  scopes: ['webhooks:read'],
  input: { endpoint: Type.Optional(RecordUuid('Only this endpoint.')) },
  async run(context, { endpoint }) {
    const path = '/api/v1/webhooks/endpoints'
    const { data }: Envelope<EndpointRecord[]> = await requireSuccess(context.call, { method: 'GET', path })
    const wanted = data.filter(({ uuid }) => endpoint === undefined || uuid === endpoint)
    if (endpoint !== undefined && wanted.length === 0)
      throw new ToolError('webhook_endpoint_not_found', 'There is no such webhook endpoint.')
    const deliveries = wanted.length === 0 ? [] : await sampleDeliveries(context)
    const endpoints = wanted.map((one) => ({
      ...explainEndpoint(
        one,
        deliveries.filter(({ endpoint: uuid }) => uuid === one.uuid),
      ),
      api: `${context.publicUrl}${path}/${one.uuid}`,
    }))
    return { headline: headlineOf(endpoints), data: { sampledEvents: SAMPLED_EVENTS, endpoints } }
  },
})

function headlineOf(endpoints: readonly { isWorking: boolean }[]): string {
  if (endpoints.length === 0) return 'There is no webhook endpoint: no event is delivered until you add one.'
  const broken = endpoints.filter(({ isWorking }) => !isWorking).length
  return `${counted(endpoints.length, 'webhook endpoint')}, ${broken === 0 ? 'none' : broken} of them with problems.`
}

async function sampleDeliveries({ call }: ToolContext): Promise<EventDelivery[]> {
  const { data: events }: Envelope<EventRecord[]> = await requireSuccess(call, {
    method: 'GET',
    path: EVENTS_PATH,
    query: { limit: SAMPLED_EVENTS },
  })
  const found: EventDelivery[] = []
  for (const event of events) {
    const { data }: Envelope<DeliveryRecord[]> = await requireSuccess(call, {
      method: 'GET',
      path: `${EVENTS_PATH}/${event.id}/deliveries`,
    })
    found.push(...data.map((delivery) => ({ ...delivery, event })))
  }
  return found
}

function explainEndpoint(endpoint: EndpointRecord, deliveries: readonly EventDelivery[]) {
  const { uuid, status, url, events, disabled, failingSince } = endpoint
  const count = (wanted: string) => deliveries.filter((one) => one.status === wanted).length
  const failure = lastFailureOf(deliveries)
  const isWorking = status === 'enabled' && failingSince === null
  return {
    ...{ uuid, status, isWorking, events },
    failingSince: failingSince ?? undefined,
    disabled: disabled ?? undefined,
    deliveries: { delivered: count('delivered'), pending: count('pending'), dead: count('dead') },
    lastFailure: failure,
    advice: adviceOf(endpoint, failure?.http ?? null, failure !== undefined),
    ...untrusted({ url }),
  }
}

function lastFailureOf(deliveries: readonly EventDelivery[]) {
  const failed = deliveries.flatMap(({ event, nextAttemptAt, attempts, message }) =>
    attempts
      .filter(({ http }) => http === null || http >= 300)
      .map((attempt) => ({ ...attempt, event, nextAttemptAt, message })),
  )
  const last = failed.toSorted((one, other) => one.at.localeCompare(other.at)).at(-1)
  if (!last) return undefined
  return {
    at: last.at,
    http: last.http,
    event: { id: last.event.id, type: last.event.type },
    nextAttemptAt: last.nextAttemptAt ?? undefined,
    deadBecause: last.message ?? undefined,
    ...untrusted({ error: last.error, responseBody: last.responseBody }),
  }
}

const REPAIR = 'Repair it, then send what was missed with replay_events and onlyUndelivered.'

/** What a status means here, by its first fit. */
const ADVICE: readonly [test: (http: number | null) => boolean, advice: string][] = [
  [
    (http) => http === null,
    `No response: the name does not resolve, the port is closed, TLS fails, or it took too long. Answer at once and do the work afterwards. ${REPAIR}`,
  ],
  [
    (http) => http === 401 || http === 403,
    `The server refuses the call: verify the signature with the secret of this endpoint, and let no login, firewall or bot protection stand before it. ${REPAIR}`,
  ],
  [
    (http) => http === 404 || http === 405,
    `The server has no such path for POST: check the address of the endpoint. ${REPAIR}`,
  ],
  [(http) => http === 410, `410 says that the address is gone for good. ${REPAIR}`],
  [(http) => http !== null && http < 400, `Redirects are not followed: set the final address. ${REPAIR}`],
  [
    (http) => http === 400 || http === 422,
    `The server rejects the body: accept every event type, also unknown ones, and verify the raw bytes. ${REPAIR}`,
  ],
  [(http) => http === 429, 'The server limits the rate: allow more, deliveries are retried.'],
]
const SERVER_FAILS = `The server fails: look into its log at the time of the attempt. ${REPAIR}`

function adviceOf({ status, failingSince }: EndpointRecord, http: number | null, hasFailed: boolean): string {
  if (status === 'enabled' && failingSince === null) return 'It works; nothing to do.'
  const advice = ADVICE.find(([test]) => test(http))?.[1] ?? SERVER_FAILS
  const cause = hasFailed ? advice : REPAIR
  return status === 'enabled'
    ? cause
    : `It is ${status}: nothing is sent. Enable it after the repair. ${cause}`
}
