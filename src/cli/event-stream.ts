// Polls the API for new events of a merchant. Events of several processes do not become visible exactly in the order
// of their times, so each poll overlaps the previous one and drops known events.

import type { MerchantClient } from './merchant-client.ts'

/** An event as delivered, and as the API returns it. */
export interface StreamedEvent {
  id: string
  type: string
  createdAt: string
  resource: { type: string; uuid: string; version: number }
}

export interface EventStream {
  /** Starts the stream here: existing events are skipped. */
  begin(): Promise<void>
  /** The events since the last poll, oldest first. */
  next(): Promise<StreamedEvent[]>
}

export type RequestEvents = Pick<MerchantClient, 'call'>['call']

// A transaction of the service takes at most 15 s, and its machines have synchronized clocks.
const OVERLAP_MS = 20_000

export function createEventStream(requestEvents: () => RequestEvents): EventStream {
  const seen = new Map<string, number>()
  let newestMs: number | undefined
  const poll = async (): Promise<StreamedEvent[]> => {
    const from = newestMs === undefined ? undefined : new Date(newestMs - OVERLAP_MS)
    const fresh = (await readFrom(requestEvents(), from)).filter(({ id }) => !seen.has(id))
    for (const { id, createdAt } of fresh) {
      const at = Date.parse(createdAt)
      seen.set(id, at)
      newestMs = Math.max(newestMs ?? at, at)
    }
    evictBefore(seen, (newestMs ?? 0) - OVERLAP_MS)
    return fresh.sort(compareEvents)
  }
  return {
    async begin() {
      const [newest] = await readPage(requestEvents(), { sort: 'createdAt:desc', limit: '1' }).then(
        ({ data }) => data,
      )
      if (newest) newestMs = Date.parse(newest.createdAt)
      if (newest) await poll()
    },
    next: poll,
  }
}

/** Drops the ids of events that no later poll can return. */
function evictBefore(seen: Map<string, number>, beforeMs: number): void {
  for (const [id, at] of seen) if (at < beforeMs) seen.delete(id)
}

/** Versions order the changes of one resource within the same millisecond. */
function compareEvents(one: StreamedEvent, other: StreamedEvent): number {
  return (
    compare(one.createdAt, other.createdAt) ||
    compare(one.resource.uuid, other.resource.uuid) ||
    one.resource.version - other.resource.version
  )
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

async function readFrom(requestEvents: RequestEvents, from: Date | undefined): Promise<StreamedEvent[]> {
  const events: StreamedEvent[] = []
  const window = { sort: 'createdAt:asc', limit: '100', ...(from && { createdFrom: from.toISOString() }) }
  let cursor: string | null = null
  do {
    const page: EventPage = await readPage(requestEvents, { ...window, ...(cursor && { cursor }) })
    events.push(...page.data)
    cursor = page.nextCursor
  } while (cursor !== null)
  return events
}

interface EventPage {
  data: StreamedEvent[]
  nextCursor: string | null
}

async function readPage(requestEvents: RequestEvents, query: Record<string, string>): Promise<EventPage> {
  const { data, meta } = await requestEvents('GET', `/api/v1/events?${new URLSearchParams(query)}`)
  // A boundary: the merchants' API describes its records in src/deliveries/schema.ts.
  return { data: data as StreamedEvent[], nextCursor: (meta as { nextCursor: string | null }).nextCursor }
}
