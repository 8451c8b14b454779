// cowry events …: lists, shows and resends the events of a merchant.

import { type Command, InvalidArgumentError } from 'commander'
import { isEventType } from '../../core/event-types.ts'
import type { StreamedEvent } from '../event-stream.ts'
import type { KeyOption, MerchantClient } from '../merchant-client.ts'
import { type JsonOption, type PaginationOptions, withJson, withKey, withPagination } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError, type Envelope, renderTable } from '../terminal.ts'

interface ListOptions extends PaginationOptions, KeyOption {
  type?: string
  resource?: string
  from?: string
  to?: string
  cursor?: string
}

interface ReplayOptions extends JsonOption, KeyOption {
  from?: string
  to?: string
  endpoint?: string
}

export function addEventCommands(program: Command, shell: Shell): void {
  const events = program.command('events').description('List, show and resend the events of a merchant.')
  addList(events, shell)
  addShow(events, shell)
  addReplay(events, shell)
}

function addList(events: Command, shell: Shell): void {
  withKey(withJson(withPagination(events.command('list'))))
    .description('List events, newest first.')
    .option('--type <type>', 'only events of this type, such as payment.successful', eventType)
    .option('--resource <uuid>', 'only events of this payment, refund or other record')
    .option('--from <time>', 'from this time on, such as 2026-01-31T08:00:00Z')
    .option('--to <time>', 'up to this time')
    .option('--cursor <cursor>', 'the cursor of the next page, which the previous page printed')
    .action(async (options: ListOptions) => {
      const { type, resource, from, to, cursor, page, limit } = options
      const query = queryOf({ type, resource, createdFrom: from, createdTo: to, cursor, page, limit })
      const response = await shell.withMerchant(options, (merchant) =>
        merchant.call('GET', `/api/v1/events${query}`),
      )
      // A boundary: the merchants' API describes its records in src/deliveries/schema.ts.
      const { data, meta } = response as unknown as {
        data: StreamedEvent[]
        meta: { nextCursor: string | null }
      }
      shell.show(response, options, () => renderEvents(data, meta.nextCursor))
    })
}

function addShow(events: Command, shell: Shell): void {
  withKey(withJson(events.command('show')))
    .description('Show an event as it is sent, and its deliveries.')
    .argument('<uuid>', 'the event')
    .action(async (uuid: string, options: JsonOption & KeyOption) => {
      const path = `/api/v1/events/${encodeURIComponent(uuid)}`
      const { event, deliveries } = await shell.withMerchant(options, async (merchant) => ({
        event: await merchant.call('GET', path),
        deliveries: await merchant.call('GET', `${path}/deliveries`),
      }))
      const response = { ...event, data: { event: event.data, deliveries: deliveries.data } }
      // A boundary, as above.
      shell.show(
        response,
        options,
        () => `${JSON.stringify(event.data, null, 2)}\n\n${renderDeliveries(deliveries.data as Delivery[])}`,
      )
    })
}

function addReplay(events: Command, shell: Shell): void {
  withKey(withJson(events.command('replay')))
    .description(
      'Resend an event to its endpoints, or all events of a period. Consumers deduplicate them by id.',
    )
    .argument('[uuid]', 'the event')
    .option('--from <time>', 'instead of one event, all from this time on')
    .option('--to <time>', 'up to this time')
    .option('--endpoint <uuid>', 'only to this endpoint')
    .action(async (uuid: string | undefined, options: ReplayOptions) => {
      const { from, to } = options
      if ((uuid === undefined) !== (from !== undefined && to !== undefined))
        throw new CommandError('usage', 'Specify one event, or a period with --from and --to.')
      const response = await shell.withMerchant(options, (merchant) => replay(shell, merchant, uuid, options))
      shell.show(response, options, () => `${describeReplay(response.data as Replay)}\n`)
    })
}

interface Replay {
  uuid: string
  status: 'queued' | 'done'
  events: number
  deliveries: number
}

const REPLAY_POLL_MS = 500

/** Requests the replay, and waits until all its deliveries are scheduled. */
async function replay(
  shell: Shell,
  merchant: MerchantClient,
  uuid: string | undefined,
  { from, to, endpoint }: ReplayOptions,
): Promise<Envelope> {
  let response =
    uuid === undefined
      ? await merchant.call('POST', '/api/v1/events/replay', { from, to, endpoint })
      : await merchant.call('POST', `/api/v1/events/${encodeURIComponent(uuid)}/replay`, { endpoint })
  // A boundary, as above.
  for (let made = response.data as Replay; made.status === 'queued'; made = response.data as Replay) {
    await shell.clock.sleep(REPLAY_POLL_MS)
    response = await merchant.call('GET', `/api/v1/webhooks/replays/${made.uuid}`)
  }
  return response
}

function describeReplay({ events, deliveries }: Replay): string {
  return `${events} ${events === 1 ? 'event' : 'events'} in ${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'} will be sent again.`
}

function queryOf(fields: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, String(value))
  return query.size > 0 ? `?${query}` : ''
}

function renderEvents(events: StreamedEvent[], nextCursor: string | null): string {
  const rows = events.map(({ id, type, createdAt, resource }) => [
    createdAt,
    type,
    `${resource.type} ${resource.uuid} v${resource.version}`,
    id,
  ])
  const table = renderTable(['TIME', 'EVENT', 'RESOURCE', 'ID'], rows)
  return nextCursor === null ? table : `${table}\nMore: --cursor ${nextCursor}\n`
}

interface Delivery {
  url: string
  status: string
  message: string | null
  nextAttemptAt: string | null
  attempts: {
    at: string
    http: number | null
    error: string | null
    responseBody: string | null
    durationMs: number
  }[]
}

function renderDeliveries(deliveries: Delivery[]): string {
  if (deliveries.length === 0) return 'No endpoint subscribes to it.\n'
  const rows = deliveries.map(({ url, status, attempts, nextAttemptAt, message }) => [
    ...[url, status, attempts.length, nextAttemptAt, message],
  ])
  const overview = renderTable(['ENDPOINT', 'STATUS', 'ATTEMPTS', 'NEXT ATTEMPT', 'REASON'], rows)
  const attempted = deliveries.filter(({ attempts }) => attempts.length > 0)
  return [overview, ...attempted.map(renderAttempts)].join('\n')
}

function renderAttempts({ url, attempts }: Delivery): string {
  const rows = attempts.map(({ at, http, error, responseBody, durationMs }) => [
    ...[at, http ?? error, durationMs, responseBody && toOneLine(responseBody)],
  ])
  return `${url}\n${renderTable(['ATTEMPTED AT', 'ANSWER', 'MS', 'BODY'], rows)}`
}

const toOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

function eventType(text: string): string {
  if (!isEventType(text)) throw new InvalidArgumentError('docs/generated/events.md lists the types.')
  return text
}
