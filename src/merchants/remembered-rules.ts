import type { RoutingRules } from '../core/routing-rules.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db.ts'
import { createMemory } from '../kit/memory.ts'
import { findMerchant } from './queries.ts'
import { readRules } from './routing.ts'

// As long as a gateway account that was changed may be in force elsewhere.
const REMEMBERED_MS = 5_000
const MAX_MERCHANTS = 20_000

/** The rules of a merchant, at most some seconds old; none for a merchant that is not there. */
export function createRoutingRules(app: {
  db: Db
  clock: Clock
}): (merchantId: string) => Promise<RoutingRules> {
  const rules = createMemory({
    clock: app.clock,
    rememberedMs: REMEMBERED_MS,
    maxEntries: MAX_MERCHANTS,
    read: async (merchantId: string) => readRules((await findMerchant(app.db, merchantId))?.settings.routing),
  })
  return (merchantId) => rules.get(merchantId)
}
