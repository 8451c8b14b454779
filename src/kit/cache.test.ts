import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import { createCache } from './cache.ts'

const contexts = new AsyncLocalStorage<string>()

function setup(maxEntries = 10, refreshUntil?: AbortSignal) {
  let now = 1_000_000
  const asked: string[] = []
  const askedIn: (string | undefined)[] = []
  let fails = false
  let blocked: Promise<void> | undefined
  let sleepers: { ms: number; wake: () => void }[] = []
  const cache = createCache({
    clock: {
      now: () => new Date(now),
      sleep: (ms, signal) =>
        new Promise((wake) => {
          sleepers.push({ ms, wake })
          signal?.addEventListener('abort', () => wake())
        }),
    },
    ttlMs: 5_000,
    maxEntries,
    load: async (key) => {
      asked.push(key)
      const result = key === 'absent' ? undefined : `${key} ${asked.length}`
      askedIn.push(contexts.getStore())
      await blocked
      if (fails) throw new Error('no reply')
      return result
    },
    refreshUntil,
  })
  return {
    cache,
    asked,
    askedIn,
    /** Every load resolves only when the test calls the result. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      blocked = promise
      return () => {
        blocked = undefined
        resolve()
      }
    },
    sleeps: () => sleepers.map(({ ms }) => ms),
    pass: (ms: number) => {
      now += ms
    },
    /** Ends the sleep before the next refresh round, and lets the round finish. */
    async round() {
      const woken = sleepers
      sleepers = []
      for (const { ms, wake } of woken) {
        now += ms
        wake()
      }
      await new Promise(setImmediate)
    },
    fail: (does: boolean) => {
      fails = does
    },
  }
}

describe('a cache', () => {
  it('loads once for concurrent callers, and again after the TTL', async () => {
    const { cache, asked, pass } = setup()
    assert.deepEqual(await Promise.all([cache.get('a'), cache.get('a')]), ['a 1', 'a 1'])
    pass(4_999)
    assert.equal(await cache.get('a'), 'a 1')
    pass(1)
    assert.equal(await cache.get('a'), 'a 2')
    assert.equal(asked.length, 2)
  })

  it('loads again after the clock was set back, and after an invalidation', async () => {
    const { cache, pass } = setup()
    await cache.get('a')
    pass(-1)
    assert.equal(await cache.get('a'), 'a 2')
    cache.invalidate('a')
    assert.equal(await cache.get('a'), 'a 3')
  })

  it('does not keep a failure', async () => {
    const { cache, fail } = setup()
    fail(true)
    await assert.rejects(cache.get('a'))
    fail(false)
    assert.equal(await cache.get('a'), 'a 2')
  })

  it('holds at most so many entries', async () => {
    const { cache, asked } = setup(2)
    for (const key of ['a', 'b', 'c']) await cache.get(key)
    await cache.get('c')
    await cache.get('b')
    assert.equal(asked.length, 3, 'the two latest are remembered')
    await cache.get('a')
    assert.equal(asked.length, 4, 'the oldest went')
  })
})

describe('a cache that refreshes its entries', () => {
  const ended = new AbortController()
  const settled = () => new Promise(setImmediate)

  /** An entry that was read twice counts as in use. */
  async function setupInUse(until = ended.signal) {
    const made = setup(10, until)
    await made.cache.get('a')
    await made.cache.get('a')
    return made
  }

  it('reloads entries in use before their TTL ends, so that no caller waits', async () => {
    const { cache, asked, round, sleeps } = await setupInUse()
    assert.deepEqual(sleeps(), [2_500], 'half of the time that an answer is good for')
    for (let rounds = 0; rounds < 4; rounds++) await round()
    assert.equal(asked.length, 5)
    assert.equal(await cache.get('a'), 'a 5', 'ten seconds later it is there, and new')
    assert.equal(asked.length, 5)
  })

  it('stops refreshing an entry that was not read for half a minute, and then sleeps', async () => {
    const { cache, asked, round, sleeps } = await setupInUse()
    for (let rounds = 0; rounds < 20; rounds++) await round()
    assert.equal(asked.length, 12, 'the question and eleven rounds below 30 s')
    assert.deepEqual(sleeps(), [])
    await cache.get('a')
    await cache.get('a')
    assert.deepEqual(sleeps(), [2_500], 'and begins again')
  })

  it('does not refresh an entry that was read once, or that is undefined', async () => {
    const { cache, asked, round, sleeps } = setup(10, ended.signal)
    await cache.get('a')
    assert.deepEqual(sleeps(), [])
    await cache.get('absent')
    await cache.get('absent')
    await round()
    assert.deepEqual(asked, ['a', 'absent'])
  })

  it('keeps the old value until its TTL if a refresh fails', async () => {
    const { cache, fail, pass, round } = await setupInUse()
    fail(true)
    await round()
    assert.equal(await cache.get('a'), 'a 1')
    pass(2_500)
    await assert.rejects(cache.get('a'), /no reply/)
  })

  it('does not restore an entry that was invalidated during its refresh', async () => {
    const { cache, asked, round, hold } = await setupInUse()
    const release = hold()
    await round()
    assert.equal(asked.length, 2, 'the round has asked')
    cache.invalidate('a')
    release()
    await settled()
    assert.equal(cache.size, 0)
  })

  it('starts no round before the last one has finished', async () => {
    const { asked, round, hold, sleeps } = await setupInUse()
    const release = hold()
    await round()
    await round()
    assert.equal(asked.length, 2)
    assert.deepEqual(sleeps(), [])
    release()
    await settled()
    assert.deepEqual(sleeps(), [2_500])
  })

  it('refreshes outside the async context of any request', async () => {
    const { cache, askedIn, round } = setup(10, ended.signal)
    await contexts.run('a request', () => cache.get('a'))
    await contexts.run('a request', () => cache.get('a'))
    await round()
    await round()
    assert.deepEqual(askedIn, ['a request', undefined, undefined])
  })

  it('stops refreshing when its signal aborts', async () => {
    const ending = new AbortController()
    const { cache, asked, round, sleeps } = await setupInUse(ending.signal)
    ending.abort()
    await round()
    assert.equal(asked.length, 1)
    await cache.get('a')
    assert.deepEqual(sleeps(), [])
  })
})
