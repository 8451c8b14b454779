// The transactional outbox. An event is written in the transaction of the change that it reports. Payments write their events
// inside their own statements; every other slice calls recordEvents. Merchants read events back exactly as written.

import { ApiError } from '../core/errors.ts'
import type { EventType } from '../core/event-types.ts'
import { uuidTime } from '../core/ids.ts'
import type { Merchant, Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import { archivedBefore, noteArchive } from '../kit/db/lists/archive-boundary.ts'
import { type ListQuery, type Page, paginate } from '../kit/db/pagination.ts'
import type { Random } from '../kit/random.ts'
import type { EventRow } from './event.ts'
import { insertEvents } from './queries.ts'
import { findEvent, listEventRows } from './read-queries.ts'

export const RESOURCE_TYPES = [
  'payment',
  'charge',
  'refund',
  'customer',
  'payment_method',
  'payment_link',
  'p2p_payment',
  'settlement',
  'webhook_endpoint',
  'case',
] as const

export type ResourceType = (typeof RESOURCE_TYPES)[number]

export interface EventFacts {
  id: string
  type: EventType
  mode: Mode
  createdAt: Date
  /** `version` increases by one with every event of a resource, so that a consumer can drop stale events. */
  resource: { type: ResourceType; uuid: string; version: number }
  /**
   * The record as the API returns it, without secrets (access code, recurring token): the tables keep these sealed, so a
   * stored event must not hold them in plain text.
   */
  data: unknown
}

export const API_VERSION = '1.0'

export function toEventBody(event: EventFacts) {
  return {
    id: event.id,
    type: event.type,
    apiVersion: API_VERSION,
    mode: event.mode,
    createdAt: event.createdAt.toISOString(),
    resource: event.resource,
    data: event.data,
  }
}

/** A change of a merchant's resource, as the caller reports it. */
export interface EventInput extends Pick<EventFacts, 'type' | 'resource' | 'data'> {
  merchantId: string
  /** Absent: a new id. */
  id?: string
}

/** Writes events in `tx`, the transaction of the changes that they report. */
export async function recordEvents(
  app: { clock: Clock; random: Random },
  tx: Tx,
  mode: Mode,
  events: readonly EventInput[],
): Promise<EventRow[]> {
  if (events.length === 0) return []
  const createdAt = app.clock.now()
  const rows = events.map(({ merchantId, type, resource, data, id = app.random.uuid() }) => ({
    ...{ merchantId, id, type, createdAt },
    ...{ resourceType: resource.type, resourceId: resource.uuid, version: resource.version },
    body: toEventBody({ id, type, mode, createdAt, resource, data }),
  }))
  await insertEvents(tx, rows)
  return rows.map(({ id, body }) => ({ id, createdAt, body }))
}

export async function requireEvent(app: { db: Tx }, merchant: Merchant, id: string): Promise<EventRow> {
  const event = await findEvent(app.db, merchant.id, id)
  return event ?? throwMissing(await archivedBefore(app.db, merchant.id), uuidTime(id))
}

/** An event that may be archived meanwhile cannot be replayed. */
export async function requireReplayableEvent(tx: Tx, merchant: Merchant, id: string): Promise<void> {
  const { createdAt } = await requireEvent({ db: tx }, merchant, id)
  const boundary = await archivedBefore(tx, merchant.id)
  if (boundary !== null && createdAt < boundary) throwMissing(boundary, createdAt)
}

/** Of a period that is archived as a whole, no event can be replayed. */
export async function requireReplayablePeriod(tx: Tx, merchant: Merchant, to: Date): Promise<void> {
  const boundary = await archivedBefore(tx, merchant.id)
  if (boundary !== null && to <= boundary)
    throw new ApiError('invalid_state', { message: archivedMessage(boundary) })
}

function throwMissing(boundary: Date | null, at: Date): never {
  if (boundary === null || at >= boundary) throw new ApiError('event_not_found')
  throw new ApiError('event_not_found', { message: archivedMessage(boundary) })
}

const archivedMessage = (boundary: Date) =>
  `Events before ${boundary.toISOString().slice(0, 7)} are archived. Ask the operator.`

/** Lists the events of a merchant, optionally of one type or one resource. */
export async function listEvents(
  app: { db: Db; cursors: Signer },
  merchant: Merchant,
  query: ListQuery & { type?: string; resource?: string },
): Promise<Page<EventRow>> {
  const filter = { type: query.type, resource: query.resource }
  const scope = `events:${merchant.id}:${filter.type ?? ''}:${filter.resource ?? ''}`
  const page = await paginate(app.cursors, scope, query, (window) =>
    listEventRows(app.db, merchant.id, filter, window, RESOURCE_TYPES),
  )
  return noteArchive(app.db, merchant.id, query, page)
}
