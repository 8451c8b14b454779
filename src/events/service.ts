// The outbox. An event is written in the transaction that makes the move it tells of; payments write theirs inside their
// own statements, everybody else by recordEvents.

import type { EventType } from '../core/event-types.ts'
import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Tx } from '../kit/db.ts'
import type { Random } from '../kit/random.ts'
import { insertEvents } from './queries.ts'

export type ResourceType =
  | 'payment'
  | 'charge'
  | 'refund'
  | 'customer'
  | 'payment_method'
  | 'payment_link'
  | 'p2p_payment'
  | 'settlement'
  | 'webhook_endpoint'

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
export interface News extends Pick<EventFacts, 'type' | 'resource' | 'data'> {
  merchantId: string
}

/** Writes events with the moves they tell of: `tx` is the transaction of the moves. */
export async function recordEvents(
  app: { clock: Clock; random: Random },
  tx: Tx,
  mode: Mode,
  news: readonly News[],
): Promise<void> {
  if (news.length === 0) return
  const createdAt = app.clock.now()
  const rows = news.map(({ merchantId, type, resource, data }) => {
    const id = app.random.uuid()
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
}
