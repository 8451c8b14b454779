// What a merchant has configured, remembered by each process for a few seconds: a change is in force everywhere as soon as a
// revoked API key has ended everywhere. Merchants that are asked for at the same moment share a question.

import { createBatcher } from './batch.ts'
import type { Clock } from './clock.ts'
import { createMemory, type Memory } from './memory.ts'

const REMEMBERED_MS = 5_000
// Most have configured nothing and take some hundred bytes.
const MAX_MERCHANTS = 20_000
const MERCHANTS_AT_ONCE = 200

export interface MerchantMemoryOptions<Value> {
  clock: Clock
  /** One answer for each merchant, in their order. */
  readMany: (merchantIds: readonly string[]) => Promise<readonly Value[]>
  renewedUntil: AbortSignal | undefined
}

export function createMerchantMemory<Value>(options: MerchantMemoryOptions<Value>): Memory<Value> {
  const { clock, readMany, renewedUntil } = options
  const read = createBatcher({
    run: readMany,
    maxSize: MERCHANTS_AT_ONCE,
    // A flood of webhook addresses that nobody has keeps one connection busy, and no more.
    concurrency: 1,
    isolates: () => false,
  })
  return createMemory({
    clock,
    rememberedMs: REMEMBERED_MS,
    maxEntries: MAX_MERCHANTS,
    read,
    renewedUntil,
  })
}
