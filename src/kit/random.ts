// Randomness is an argument everywhere, so that a simulation can be replayed from its seed.

import { randomBytes, randomFillSync } from 'node:crypto'
import { uuidV7 } from '../core/ids.ts'
import type { Clock } from './clock.ts'

export interface Random {
  bytes(count: number): Uint8Array
  /** A number in [0, 1), for jitter. */
  fraction(): number
  /** A fresh UUIDv7. */
  uuid(): string
}

// One call yields bytes for many identifiers and secrets: a call for ten bytes costs more than the UUID.
const POOL_BYTES = 4096

export function systemRandom(clock: Clock): Random {
  const pool = new Uint8Array(POOL_BYTES)
  let used = POOL_BYTES
  const take = (count: number): Uint8Array => {
    // It throws for what is no count.
    if (!Number.isInteger(count) || count < 0 || count > POOL_BYTES) return randomBytes(count)
    if (used + count > POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const taken = pool.slice(used, used + count)
    // No byte is used twice, and the pool keeps none that was taken.
    pool.fill(0, used, used + count)
    used += count
    return taken
  }
  return {
    bytes: take,
    fraction: () => Number(Buffer.from(take(6)).readUIntBE(0, 6)) / 2 ** 48,
    uuid: () => uuidV7(clock.now(), take(10)),
  }
}

/** A delay with 20 % jitter to both sides, so that many waiters do not wake at the same time. */
export function jittered(random: Random, ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * random.fraction()))
}
