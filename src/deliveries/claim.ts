// The delivery worker's choice: goes round over the endpoints that have something due, and takes for each what the lanes
// give it. Whoever was served last comes last, so that none waits for another's backlog.

import type { WebhooksApp } from './app.ts'
import {
  BEGINNING,
  type Claim,
  type ClaimedDelivery,
  claimDueDeliveries,
  findDueEndpoints,
  type Place,
} from './claim-queries.ts'
import { deliverInOrder, namesOf } from './deliver.ts'
import { createLanes, type Lanes } from './lanes.ts'

/** What a process remembers between its claims. */
export interface Rounds {
  lanes: Lanes
  /** Who was served last. */
  place: Place
}

export const newRounds = (): Rounds => ({ lanes: createLanes(), place: BEGINNING })

// A process that finds others busy with the same looks again at once, but not for ever.
const MAX_LOOKS = 50
const LOOKS_IN_VAIN = 3

// Calls whose ends are written together make room together, instead of each for a claim of its own.
const GATHER_MS = 2

/** Claims what is due; each answer is the work of one delivery, and of the versions right behind it. */
export async function claimDeliveries(
  app: WebhooksApp,
  limit: number,
  rounds: Rounds,
): Promise<(() => Promise<void>)[]> {
  await app.clock.sleep(GATHER_MS)
  const claimed = await claimOnRound(app, limit, rounds)
  const now = app.clock.now()
  return claimed.map((delivery) => {
    const call = rounds.lanes.enter(delivery.endpointId, delivery.failingSince !== null, now)
    return async () => {
      try {
        await deliverInOrder(app, delivery, call)
      } finally {
        call.leave()
      }
    }
  })
}

async function claimOnRound(app: WebhooksApp, limit: number, rounds: Rounds): Promise<ClaimedDelivery[]> {
  // A round that began in the middle goes on from the beginning, once.
  let roundsLeft = rounds.place === BEGINNING ? 1 : 2
  let vain = 0
  for (let looks = 0; looks < MAX_LOOKS && roundsLeft > 0; looks += 1) {
    const now = app.clock.now()
    if (!rounds.lanes.hasRoom(now)) return []
    const { due, next } = await findDueEndpoints(app.db, now, rounds.place)
    const turns = rounds.lanes.deal(due, limit, now)
    const last = turns.at(-1)
    const { claimed, held, spent } = last ? await claimDueDeliveries(app.db, now, turns) : NOTHING
    for (const delivery of spent) giveUp(app, delivery)
    if (claimed.length > 0) {
      rounds.place = last ?? BEGINNING
      return claimed
    }
    vain = held + spent.length > 0 ? 0 : vain + 1
    // Behind what was put off, given up, or is in others' hands for this moment, there may be more.
    if (last && vain < LOOKS_IN_VAIN) continue
    rounds.place = next ?? BEGINNING
    if (next === undefined) roundsLeft -= 1
  }
  return []
}

const NOTHING: Claim = { claimed: [], held: 0, spent: [] }

function giveUp(app: WebhooksApp, delivery: Claim['spent'][number]): void {
  app.counters.add('webhook_delivery_attempts', 'crashed')
  app.log.error('a delivery broke off at every try and was given up', namesOf(delivery))
}
