// Randomness comes in as an argument everywhere, so that a simulation replays from its seed.

import { randomBytes } from 'node:crypto'
import { uuidV7 } from '../core/ids.ts'
import type { Clock } from './clock.ts'

export interface Random {
  bytes(count: number): Uint8Array
  /** A number in [0, 1), for jitter. */
  fraction(): number
  /** A fresh UUIDv7. */
  uuid(): string
}

// One system call fills many identifiers: asking the kernel ten bytes at a time costs more than the UUID.
const POOL_BYTES = 4096

export function systemRandom(clock: Clock): Random {
  let pool = new Uint8Array(0)
  let used = 0
  const take = (count: number): Uint8Array => {
    if (used + count > pool.length) {
      pool = randomBytes(POOL_BYTES)
      used = 0
    }
    used += count
    return pool.subarray(used - count, used)
  }
  return {
    bytes: (count) => randomBytes(count),
    fraction: () => Number(Buffer.from(take(6)).readUIntBE(0, 6)) / 2 ** 48,
    uuid: () => uuidV7(clock.now(), take(10)),
  }
}

/** A delay spread by a fifth to both sides, so that many waiters do not wake in the same moment. */
export function jittered(random: Random, ms: number): number {
  return Math.round(ms * (0.8 + 0.4 * random.fraction()))
}
