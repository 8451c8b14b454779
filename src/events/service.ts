// The outbox. An event is written in the transaction that makes the move it tells of; payments write theirs inside their
// own statements, everybody else by recordEvents. Merchants read it back as it was written.

import { ApiError } from '../core/errors.ts'
import type { EventType } from '../core/event-types.ts'
import type { Merchant, Mode } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import type { Clock } from '../kit/clock.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db.ts'
import { type ListQuery, pageOf, windowOf } from '../kit/pagination.ts'
import type { Random } from '../kit/random.ts'
import type { EventRow } from './event.ts'
import { insertEvents } from './queries.ts'
import { countEvents, findEvent, listEventRows } from './read-queries.ts'

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
] as const

export type ResourceType = (typeof RESOURCE_TYPES)[number]

export interface EventFacts {
  id: string
  type: EventType
  mode: Mode
  createdAt: Date
  /** `version` grows by one with every event of a resource, so that a consumer can drop what is stale. */
  resource: { type: ResourceType; uuid: string; version: number }
  /**
   * The record as the API shows it, without what is a secret at rest (access code, recurring token): a stored event must
   * not open what the tables keep sealed.
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

/** What happened to a resource of a merchant. */
export interface EventInput extends Pick<EventFacts, 'type' | 'resource' | 'data'> {
  merchantId: string
  /** Absent: a new one. */
  id?: string
}

/** Writes events with the moves they tell of: `tx` is the transaction of the moves. */
export async function recordEvents(
  app: { clock: Clock; random: Random },
  tx: Tx,
  mode: Mode,
  events: readonly EventInput[],
): Promise<EventRow[]> {
  if (events.length === 0) return []
  const createdAt = app.clock.now()
  const rows = events.map(({ merchantId, type, resource, data, id = app.random.uuid() }) => {
    const body = toEventBody({ id, type, mode, createdAt, resource, data })
    const { type: resource_type, uuid: resource_id, version } = resource
    return {
      merchant_id: merchantId,
      id,
      type,
      resource_type,
      resource_id,
      version,
      body,
      created_at: createdAt,
    }
  })
  await insertEvents(tx, rows)
  return rows.map(({ id, body }) => ({ id, createdAt, body }))
}

export async function requireEvent(app: { db: Tx }, merchant: Merchant, id: string): Promise<EventRow> {
  const event = await findEvent(app.db, merchant.id, id)
  if (!event) throw new ApiError('event_not_found')
  return event
}

/** The events of a merchant, of one type or of one resource where that is asked for. */
export async function listEvents(
  app: { db: Db; cursors: Signer },
  merchant: Merchant,
  query: ListQuery & { type?: string; resource?: string },
): Promise<{ rows: EventRow[]; meta: PageMeta }> {
  const filter = { type: query.type, resource: query.resource }
  const scope = `events:${merchant.id}:${filter.type ?? ''}:${filter.resource ?? ''}`
  const window = windowOf(app.cursors, scope, query)
  const oneMore = { ...window, limit: window.limit + 1 }
  const [rows, counted] = await Promise.all([
    listEventRows(app.db, merchant.id, filter, oneMore, RESOURCE_TYPES),
    countEvents(app.db, merchant.id, filter, window, RESOURCE_TYPES),
  ])
  return pageOf(app.cursors, scope, window, rows, counted)
}
