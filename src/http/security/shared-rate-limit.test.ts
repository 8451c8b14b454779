import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../kit/clock.ts'
import { createSharedRateLimiter, type SyncRateLimits } from './shared-rate-limit.ts'

const LIMIT = { perSecond: 10, burst: 20 }

/** A clock whose sleeps end when the test says so. */
function setUp() {
  const state = { ms: 0, isDown: false, warnings: 0 }
  const sleepers: (() => void)[] = []
  const clock: Clock = {
    now: () => new Date(state.ms),
    sleep: () => new Promise((resolve) => void sleepers.push(resolve)),
  }
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  const sync: SyncRateLimits = async (at, usages) => {
    if (state.isDown) throw new Error('the database is unreachable')
    return usages.map(({ owner, spent, perSecond, burst }) => {
      const known = buckets.get(owner) ?? { tokens: burst, atMs: at.getTime() }
      const refilled = known.tokens + ((at.getTime() - known.atMs) / 1_000) * perSecond
      const tokens = Math.min(burst, refilled) - spent
      buckets.set(owner, { tokens, atMs: at.getTime() })
      return { owner, tokens }
    })
  }
  const write = () => {
    state.warnings += 1
  }
  const log = { write }
  const limiter = () => createSharedRateLimiter({ clock, log, sync })
  /** Lets every process synchronize. */
  const syncAll = async () => {
    state.ms += 100
    for (const wake of sleepers.splice(0)) wake()
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  }
  return { state, limiter, syncAll }
}

const takeMany = (limiter: ReturnType<typeof createSharedRateLimiter>, count: number) =>
  Array.from({ length: count }, () => limiter.take('key', LIMIT)).filter(({ allowed }) => allowed).length

describe('a rate limit that processes share', () => {
  it('counts in each process the requests of all, a tenth of a second later', async () => {
    const { limiter, syncAll } = setUp()
    const [one, other] = [limiter(), limiter()]
    assert.equal(takeMany(one, 12), 12)
    assert.equal(takeMany(other, 4), 4)
    await syncAll()
    // The process that synchronized last knows of both: 20 - 16. The first learns it at its next synchronization.
    assert.equal(takeMany(other, 10), 4)
  })

  it('lets several processes exceed the limit for a moment, and pays it back', async () => {
    const { limiter, syncAll } = setUp()
    const limiters = [limiter(), limiter()]
    let allowed = 0
    for (let tenth = 0; tenth < 100; tenth += 1) {
      for (const one of limiters) allowed += takeMany(one, 50)
      await syncAll()
    }
    // Ten seconds: the burst, ten a second, and the debt at the end.
    assert.ok(allowed >= 115 && allowed <= 145, String(allowed))
  })

  it('continues with local buckets while the database is unreachable, and synchronizes afterwards', async () => {
    const { state, limiter, syncAll } = setUp()
    const [one, other] = [limiter(), limiter()]
    state.isDown = true
    assert.equal(takeMany(one, 15), 15)
    await syncAll()
    assert.equal(state.warnings, 1)
    assert.equal(takeMany(one, 15), 6, 'five that were left, and one that has come in')
    state.isDown = false
    await syncAll()
    other.take('key', LIMIT)
    await syncAll()
    assert.equal(other.take('key', LIMIT).allowed, false)
  })

  it('never reports negative remaining requests', async () => {
    const { limiter, syncAll } = setUp()
    const [one, other] = [limiter(), limiter()]
    takeMany(one, 20)
    takeMany(other, 20)
    await syncAll()
    const { allowed, remaining, retryAfterSeconds } = other.take('key', LIMIT)
    assert.deepEqual(
      { allowed, remaining, retryAfterSeconds },
      { allowed: false, remaining: 0, retryAfterSeconds: 3 },
    )
  })
})
