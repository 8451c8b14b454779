import type { RoutingRules } from '../core/routing-rules.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { findSettings } from './queries.ts'
import { readRules } from './routing.ts'
import { knownCountry } from './settings.ts'

interface RoutingSettings {
  rules: RoutingRules
  /** Where payments that name no country are collected; null: not set. */
  country: string | null
}

/** Caches what routing needs of each merchant's settings for a few seconds. An unknown merchant has none. */
export function createRoutingSettings(
  { db, clock }: { db: Db; clock: Clock },
  refreshUntil?: AbortSignal,
): (merchantId: string) => Promise<RoutingSettings> {
  const settings = createTenantCache({
    clock,
    loadMany: async (merchantIds) => (await findSettings(db, merchantIds)).map(toRoutingSettings),
    refreshUntil,
  })
  return settings.get
}

function toRoutingSettings(stored: Readonly<Record<string, unknown>> | undefined): RoutingSettings {
  const { country, routing } = stored ?? {}
  return { rules: readRules(routing), country: knownCountry(typeof country === 'string' ? country : null) }
}
