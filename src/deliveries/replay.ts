// Replays one event or all events of a period. A replay sends the same id and body, so a consumer that has already received
// the event can drop it.

import { ApiError, requireFound } from '../core/errors.ts'
import type { EventType } from '../core/event-types.ts'
import type { Merchant } from '../core/merchant.ts'
import { requireEvent, requireReplayableEvent, requireReplayablePeriod } from '../events/service.ts'
import type { Tx } from '../kit/db/db.ts'
import { createIdempotently, type IdempotentResult } from '../kit/db/idempotency.ts'
import { requireEnabled, requireEndpoint } from '../webhook-endpoints/endpoints.ts'
import type { DeliveriesApp } from './app.ts'
import type { DeliveryRow, ReplayRow } from './delivery.ts'
import { listDeliveryRows } from './delivery-queries.ts'
import { countQueuedReplays, findReplay, insertReplay, queueReplay, replayEvent } from './replay-queries.ts'

// Queued replays of all merchants are processed in turn, so one merchant must not queue many.
export const MAX_QUEUED_REPLAYS = 10

// The minimum retention of finished deliveries. Events themselves stay and can be replayed until they are archived.
export const RETENTION_DAYS = 30

export interface RangeInput {
  from: string
  to: string
  types?: EventType[]
  endpoint?: string
  onlyUndelivered?: boolean
}

export async function listDeliveries(
  app: DeliveriesApp,
  merchant: Merchant,
  eventId: string,
): Promise<DeliveryRow[]> {
  await requireEvent(app, merchant, eventId)
  return listDeliveryRows(app.db, merchant.id, eventId)
}

export async function replayOne(
  app: DeliveriesApp,
  merchant: Merchant,
  eventId: string,
  input: { endpoint?: string },
  key: string | undefined,
): Promise<IdempotentResult<ReplayRow>> {
  const operation = 'POST /api/v1/events/{uuid}/replay'
  const claim = { merchantId: merchant.id, key, operation, input: { eventId, ...input } }
  return createIdempotently(app, claim, {
    async make(tx, id) {
      await requireReplayableEvent(tx, merchant, eventId)
      const endpointId = await resolveTarget(tx, merchant, input.endpoint)
      const now = app.clock.now()
      const deliveries = await replayEvent(tx, merchant.id, now, eventId, endpointId)
      return insertReplay(tx, merchant.id, id, deliveries, now)
    },
    find: (id) => findReplay(app.db, merchant.id, id),
  })
}

/** Queues the replay. A job processes it in batches, because the range may hold any number of events. */
export async function replayRange(
  app: DeliveriesApp,
  merchant: Merchant,
  input: RangeInput,
  key: string | undefined,
): Promise<IdempotentResult<ReplayRow>> {
  const claim = { merchantId: merchant.id, key, operation: 'POST /api/v1/events/replay', input }
  return createIdempotently(app, claim, {
    async make(tx, id) {
      const { types = null, onlyUndelivered = false } = input
      const endpointId = await resolveTarget(tx, merchant, input.endpoint)
      await requireQueueCapacity(tx, merchant)
      const [from, to] = [new Date(input.from), new Date(input.to)]
      await requireReplayablePeriod(tx, merchant, to)
      const range = { from, to, types, endpointId, onlyUndelivered }
      return queueReplay(tx, merchant.id, id, range, app.clock.now())
    },
    find: (id) => findReplay(app.db, merchant.id, id),
  })
}

async function requireQueueCapacity(tx: Tx, merchant: Merchant): Promise<void> {
  if ((await countQueuedReplays(tx, merchant.id)) < MAX_QUEUED_REPLAYS) return
  const message = `${MAX_QUEUED_REPLAYS} replays are queued or running. Wait until one of them has finished.`
  throw new ApiError('invalid_state', { message })
}

export async function requireReplay(app: DeliveriesApp, merchant: Merchant, id: string): Promise<ReplayRow> {
  return requireFound(await findReplay(app.db, merchant.id, id), 'replay_not_found')
}

async function resolveTarget(
  tx: Tx,
  merchant: Merchant,
  endpoint: string | undefined,
): Promise<string | null> {
  if (endpoint === undefined) return null
  const found = await requireEndpoint({ db: tx }, merchant, endpoint)
  requireEnabled(found)
  return found.id
}
