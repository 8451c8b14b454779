// The delivery worker's claim loop. It round-robins over the endpoints with due deliveries and claims as many as the
// concurrency pools allot to each, so that no endpoint waits for the backlog of another.

import type { DeliveriesApp } from './app.ts'
import {
  type ClaimResult,
  claimDueDeliveries,
  type EndpointCursor,
  findDueEndpoints,
  START_CURSOR,
} from './claim-queries.ts'
import { deliverInOrder, idsOf } from './deliver.ts'
import type { ClaimedDelivery } from './delivery.ts'
import { type ConcurrencyPools, createConcurrencyPools } from './pools.ts'

/** The state that a process keeps between claims. */
export interface ClaimState {
  pools: ConcurrencyPools
  /** The endpoint that was served last. */
  cursor: EndpointCursor
}

export const newClaimState = (): ClaimState => ({ pools: createConcurrencyPools(), cursor: START_CURSOR })

// If other processes hold the locks of the same deliveries, scan again at once, but only a few times.
const MAX_SCANS = 50
const MAX_EMPTY_SCANS = 3

// Results are written in batches. A short linger lets one claim fill all the slots that a batch has released.
const LINGER_MS = 2

/** Claims due deliveries. Each returned function makes one delivery and then the next versions of its resource. */
export async function claimDeliveries(
  app: DeliveriesApp,
  limit: number,
  state: ClaimState,
): Promise<(() => Promise<void>)[]> {
  await app.clock.sleep(LINGER_MS)
  const claimed = await claimRoundRobin(app, limit, state)
  const now = app.clock.now()
  return claimed.map((delivery) => {
    const slot = state.pools.acquire(delivery.endpointId, delivery.failingSince !== null, now)
    return async () => {
      try {
        await deliverInOrder(app, delivery, slot)
      } finally {
        slot.release()
      }
    }
  })
}

async function claimRoundRobin(
  app: DeliveriesApp,
  limit: number,
  state: ClaimState,
): Promise<ClaimedDelivery[]> {
  // A pass that began in the middle wraps around to the beginning once.
  let passesLeft = state.cursor === START_CURSOR ? 1 : 2
  let emptyScans = 0
  for (let scans = 0; scans < MAX_SCANS && passesLeft > 0; scans += 1) {
    const now = app.clock.now()
    if (!state.pools.hasCapacity(now)) return []
    const { due, next } = await findDueEndpoints(app.db, now, state.cursor)
    const allotments = state.pools.allocate(due, limit, now)
    const last = allotments.at(-1)
    const { claimed, deferred, crashed } = last
      ? await claimDueDeliveries(app.db, now, allotments)
      : EMPTY_CLAIM
    for (const delivery of crashed) reportDeadLetter(app, delivery)
    if (claimed.length > 0) {
      state.cursor = last ?? START_CURSOR
      return claimed
    }
    emptyScans = deferred + crashed.length > 0 ? 0 : emptyScans + 1
    // There may be more due deliveries behind deferred, dead-lettered or locked ones.
    if (last && emptyScans < MAX_EMPTY_SCANS) continue
    state.cursor = next ?? START_CURSOR
    if (next === undefined) passesLeft -= 1
  }
  return []
}

const EMPTY_CLAIM: ClaimResult = { claimed: [], deferred: 0, crashed: [] }

function reportDeadLetter(app: DeliveriesApp, delivery: ClaimResult['crashed'][number]): void {
  app.counters.add('webhook_delivery_attempts', 'crashed')
  app.log.write('webhook.delivery_dead_lettered', idsOf(delivery))
}
