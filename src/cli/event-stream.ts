// The events of a merchant as they come, by asking for them again and again. Events of many processes do not become visible
// exactly in the order of their times, so each look goes back a little and drops what was seen.

import type { MerchantClient } from './merchant-client.ts'

/** An event as it is delivered, and as the API shows it. */
export interface StreamedEvent {
  id: string
  type: string
  createdAt: string
  resource: { type: string; uuid: string; version: number }
}

export interface EventStream {
  /** From here on: what there is already is not told. */
  begin(): Promise<void>
  /** What came since the last look, oldest first. */
  next(): Promise<StreamedEvent[]>
}

export type RequestEvents = Pick<MerchantClient, 'call'>['call']

// The transactions of the service end after 15 s at the latest, and its machines agree on the time.
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

/** What no look goes back to any more. */
function evictBefore(seen: Map<string, number>, beforeMs: number): void {
  for (const [id, at] of seen) if (at < beforeMs) seen.delete(id)
}

/** Moves of one resource in the same millisecond are told apart by their versions. */
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
