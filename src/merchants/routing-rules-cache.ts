import type { RoutingRules } from '../core/routing-rules.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { findSettings } from './queries.ts'
import { readRules } from './routing.ts'

/** Caches the routing rules of each merchant for a few seconds. An unknown merchant has none. */
export function createRoutingRules(
  { db, clock }: { db: Db; clock: Clock },
  refreshUntil?: AbortSignal,
): (merchantId: string) => Promise<RoutingRules> {
  const rules = createTenantCache({
    clock,
    loadMany: async (merchantIds) =>
      (await findSettings(db, merchantIds)).map((settings) => readRules(settings?.routing)),
    refreshUntil,
  })
  return rules.get
}
