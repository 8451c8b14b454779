// What a merchant has configured, remembered by each process for a few seconds: a change is in force everywhere as soon as a
// revoked API key has ended everywhere. Merchants that are asked for at the same moment share a question.

import { type Cache, createCache } from './cache.ts'
import type { Clock } from './clock.ts'
import { createBatcher } from './db/batch.ts'

const TTL_MS = 5_000
// Most have configured nothing and take some hundred bytes.
const MAX_MERCHANTS = 20_000
const MAX_BATCH = 200

export interface TenantCacheOptions<Value> {
  clock: Clock
  /** One answer for each merchant, in their order. */
  loadMany: (merchantIds: readonly string[]) => Promise<readonly Value[]>
  refreshUntil: AbortSignal | undefined
}

export function createTenantCache<Value>(options: TenantCacheOptions<Value>): Cache<Value> {
  const { clock, loadMany, refreshUntil } = options
  const load = createBatcher({
    run: loadMany,
    maxSize: MAX_BATCH,
    // A flood of webhook addresses that nobody has keeps one connection busy, and no more.
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
