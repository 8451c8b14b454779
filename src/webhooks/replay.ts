// Sending events once more: one of them, or all of a time. They carry the id and the body that they had, so a consumer
// that has taken them before knows it.

import type { EventType } from '../core/event-types.ts'
import type { Merchant } from '../core/merchant.ts'
import { requireEvent } from '../events/service.ts'
import type { Tx } from '../kit/db.ts'
import { createOnce, type Once } from '../kit/idempotency.ts'
import type { WebhooksApp } from './app.ts'
import { requireEnabled, requireEndpoint } from './endpoints.ts'
import {
  type DeliveryRow,
  findReplay,
  insertReplay,
  listDeliveryRows,
  type ReplayedRange,
  type ReplayRow,
  replayEvent,
  replayRange,
} from './replay-queries.ts'

// One statement writes them all, with twenty endpoints well inside its time.
export const MAX_REPLAYED_EVENTS = 5_000

export interface RangeInput {
  from: string
  to: string
  types?: EventType[]
  endpoint?: string
  onlyUndelivered?: boolean
}

export async function listDeliveries(
  app: WebhooksApp,
  merchant: Merchant,
  eventId: string,
): Promise<DeliveryRow[]> {
  await requireEvent(app, merchant, eventId)
  return listDeliveryRows(app.db, merchant.id, eventId)
}

export async function replayOne(
  app: WebhooksApp,
  merchant: Merchant,
  eventId: string,
  input: { endpoint?: string },
  key: string | undefined,
): Promise<Once<ReplayRow>> {
  const operation = 'POST /api/v1/events/{uuid}/replay'
  return replayOnce(app, merchant, { key, operation, input: { eventId, ...input } }, async (tx) => {
    await requireEvent({ db: tx }, merchant, eventId)
    const endpointId = await targetOf(tx, merchant, input.endpoint)
    const deliveries = await replayEvent(tx, merchant.id, app.clock.now(), eventId, endpointId)
    return { events: Math.min(deliveries, 1), deliveries, continueFrom: null }
  })
}

export async function replayMany(
  app: WebhooksApp,
  merchant: Merchant,
  input: RangeInput,
  key: string | undefined,
): Promise<Once<ReplayRow>> {
  const operation = 'POST /api/v1/events/replay'
  return replayOnce(app, merchant, { key, operation, input }, async (tx) => {
    const { types = null, onlyUndelivered = false } = input
    const endpointId = await targetOf(tx, merchant, input.endpoint)
    const [from, to] = [new Date(input.from), new Date(input.to)]
    const range = { from, to, types, endpointId, onlyUndelivered, limit: MAX_REPLAYED_EVENTS }
    return replayRange(tx, merchant.id, app.clock.now(), range)
  })
}

function replayOnce(
  app: WebhooksApp,
  { id: merchantId }: Merchant,
  claim: { key: string | undefined; operation: string; input: unknown },
  start: (tx: Tx) => Promise<ReplayedRange>,
): Promise<Once<ReplayRow>> {
  return createOnce(
    app,
    { merchantId, ...claim },
    {
      make: async (tx, id) => insertReplay(tx, merchantId, id, await start(tx), app.clock.now()),
      find: (id) => findReplay(app.db, merchantId, id),
    },
  )
}

async function targetOf(tx: Tx, merchant: Merchant, endpoint: string | undefined): Promise<string | null> {
  if (endpoint === undefined) return null
  const found = await requireEndpoint({ db: tx }, merchant, endpoint)
  requireEnabled(found)
  return found.id
}
