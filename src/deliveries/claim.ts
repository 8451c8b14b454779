// The delivery worker's choice: goes round over the endpoints that have something due, and takes for each what the lanes
// give it. Whoever was served last comes last, so that none waits for another's backlog.

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

/** What a process remembers between its claims. */
export interface ClaimState {
  pools: ConcurrencyPools
  /** Who was served last. */
  cursor: EndpointCursor
}

export const newClaimState = (): ClaimState => ({ pools: createConcurrencyPools(), cursor: START_CURSOR })

// A process that finds others busy with the same looks again at once, but not for ever.
const MAX_SCANS = 50
const MAX_EMPTY_SCANS = 3

// Calls whose ends are written together make room together, instead of each for a claim of its own.
const LINGER_MS = 2

/** Claims what is due; each answer is the work of one delivery, and of the versions right behind it. */
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
  // A round that began in the middle goes on from the beginning, once.
  let passesLeft = state.cursor === START_CURSOR ? 1 : 2
  let emptyScans = 0
  for (let scans = 0; scans < MAX_SCANS && passesLeft > 0; scans += 1) {
    const now = app.clock.now()
    if (!state.pools.hasCapacity(now)) return []
    const { due, next } = await findDueEndpoints(app.db, now, state.cursor)
    const allotments = state.pools.allocate(due, limit, now)
    const last = allotments.at(-1)
    const { claimed, deferred, exhausted } = last
      ? await claimDueDeliveries(app.db, now, allotments)
      : EMPTY_CLAIM
    for (const delivery of exhausted) reportDeadLetter(app, delivery)
    if (claimed.length > 0) {
      state.cursor = last ?? START_CURSOR
      return claimed
    }
    emptyScans = deferred + exhausted.length > 0 ? 0 : emptyScans + 1
    // Behind what was put off, given up, or is in others' hands for this moment, there may be more.
    if (last && emptyScans < MAX_EMPTY_SCANS) continue
    state.cursor = next ?? START_CURSOR
    if (next === undefined) passesLeft -= 1
  }
  return []
}

const EMPTY_CLAIM: ClaimResult = { claimed: [], deferred: 0, exhausted: [] }

function reportDeadLetter(app: DeliveriesApp, delivery: ClaimResult['exhausted'][number]): void {
  app.counters.add('webhook_delivery_attempts', 'crashed')
  app.log.write('webhook.delivery_dead_lettered', idsOf(delivery))
}
