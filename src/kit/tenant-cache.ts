// A cache of per-merchant configuration: a change is in force in every process after its TTL. Concurrent misses of several merchants share one statement.

import { type Cache, createCache } from './cache.ts'
import type { Clock } from './clock.ts'
import { createBatcher } from './db/batch.ts'

const TTL_MS = 5_000
// Most merchants have configured nothing and take a few hundred bytes.
const MAX_MERCHANTS = 20_000
const MAX_BATCH = 200

export interface TenantCacheOptions<Value> {
  clock: Clock
  /** One value for each merchant, in their order. */
  loadMany: (merchantIds: readonly string[]) => Promise<readonly Value[]>
  refreshUntil: AbortSignal | undefined
}

export function createTenantCache<Value>(options: TenantCacheOptions<Value>): Cache<Value> {
  const { clock, loadMany, refreshUntil } = options
  const load = createBatcher({
    run: loadMany,
    maxSize: MAX_BATCH,
    // One batch at a time: many requests for unknown merchants occupy one connection, and no more.
    concurrency: 1,
    shouldSplit: () => false,
  })
  return createCache({
    clock,
    ttlMs: TTL_MS,
    maxEntries: MAX_MERCHANTS,
    load: load,
    refreshUntil,
  })
}
