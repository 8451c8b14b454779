import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import { createMemory } from './memory.ts'

const contexts = new AsyncLocalStorage<string>()

function rig(maxEntries = 10, renewedUntil?: AbortSignal) {
  let now = 1_000_000
  const asked: string[] = []
  const askedIn: (string | undefined)[] = []
  let fails = false
  let held: Promise<void> | undefined
  let sleepers: { ms: number; wake: () => void }[] = []
  const memory = createMemory({
    clock: {
      now: () => new Date(now),
      sleep: (ms, signal) =>
        new Promise((wake) => {
          sleepers.push({ ms, wake })
          signal?.addEventListener('abort', () => wake())
        }),
    },
    rememberedMs: 5_000,
    maxEntries,
    read: async (key) => {
      asked.push(key)
      const answer = key === 'nobody' ? undefined : `${key} ${asked.length}`
      askedIn.push(contexts.getStore())
      await held
      if (fails) throw new Error('nobody answers')
      return answer
    },
    renewedUntil,
  })
  return {
    memory,
    asked,
    askedIn,
    /** Whatever is asked is answered only when the result is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return () => {
        held = undefined
        resolve()
      }
    },
    sleeps: () => sleepers.map(({ ms }) => ms),
    pass: (ms: number) => {
      now += ms
    },
    /** Ends the sleep until the next round, and lets the round end. */
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

describe('a memory', () => {
  it('asks once for callers that come together, and again when the answer has aged', async () => {
    const { memory, asked, pass } = rig()
    assert.deepEqual(await Promise.all([memory.get('a'), memory.get('a')]), ['a 1', 'a 1'])
    pass(4_999)
    assert.equal(await memory.get('a'), 'a 1')
    pass(1)
    assert.equal(await memory.get('a'), 'a 2')
    assert.equal(asked.length, 2)
  })

  it('asks again after a clock that was set back, and after it was told to forget', async () => {
    const { memory, pass } = rig()
    await memory.get('a')
    pass(-1)
    assert.equal(await memory.get('a'), 'a 2')
    memory.forget('a')
    assert.equal(await memory.get('a'), 'a 3')
  })

  it('does not remember a failure', async () => {
    const { memory, fail } = rig()
    fail(true)
    await assert.rejects(memory.get('a'))
    fail(false)
    assert.equal(await memory.get('a'), 'a 2')
  })

  it('holds so many answers and no more', async () => {
    const { memory, asked } = rig(2)
    for (const key of ['a', 'b', 'c']) await memory.get(key)
    await memory.get('c')
    await memory.get('b')
    assert.equal(asked.length, 3, 'the two latest are remembered')
    await memory.get('a')
    assert.equal(asked.length, 4, 'the oldest went')
  })
})

describe('a memory that renews', () => {
  const ended = new AbortController()
  const settled = () => new Promise(setImmediate)

  /** One that has been asked for twice: such are in use. */
  async function rigInUse(until = ended.signal) {
    const made = rig(10, until)
    await made.memory.get('a')
    await made.memory.get('a')
    return made
  }

  it('asks anew for what is in use before it has aged, so that no caller waits', async () => {
    const { memory, asked, round, sleeps } = await rigInUse()
    assert.deepEqual(sleeps(), [2_500], 'half of the time that an answer is good for')
    for (let rounds = 0; rounds < 4; rounds++) await round()
    assert.equal(asked.length, 5)
    assert.equal(await memory.get('a'), 'a 5', 'ten seconds later it is there, and new')
    assert.equal(asked.length, 5)
  })

  it('lets go of what nobody has asked for in half a minute, and then rests', async () => {
    const { memory, asked, round, sleeps } = await rigInUse()
    for (let rounds = 0; rounds < 20; rounds++) await round()
    assert.equal(asked.length, 12, 'the question and eleven rounds below 30 s')
    assert.deepEqual(sleeps(), [])
    await memory.get('a')
    await memory.get('a')
    assert.deepEqual(sleeps(), [2_500], 'and begins again')
  })

  it('does not go on asking for what was asked for once, or is not there', async () => {
    const { memory, asked, round, sleeps } = rig(10, ended.signal)
    await memory.get('a')
    assert.deepEqual(sleeps(), [])
    await memory.get('nobody')
    await memory.get('nobody')
    await round()
    assert.deepEqual(asked, ['a', 'nobody'])
  })

  it('keeps the old answer while the new one fails, as long as it is good', async () => {
    const { memory, fail, pass, round } = await rigInUse()
    fail(true)
    await round()
    assert.equal(await memory.get('a'), 'a 1')
    pass(2_500)
    await assert.rejects(memory.get('a'), /nobody answers/)
  })

  it('does not bring back what was forgotten while it asked', async () => {
    const { memory, asked, round, hold } = await rigInUse()
    const release = hold()
    await round()
    assert.equal(asked.length, 2, 'the round has asked')
    memory.forget('a')
    release()
    await settled()
    assert.equal(memory.size, 0)
  })

  it('begins no round before the last one has its answers', async () => {
    const { asked, round, hold, sleeps } = await rigInUse()
    const release = hold()
    await round()
    await round()
    assert.equal(asked.length, 2)
    assert.deepEqual(sleeps(), [])
    release()
    await settled()
    assert.deepEqual(sleeps(), [2_500])
  })

  it('renews as part of no request', async () => {
    const { memory, askedIn, round } = rig(10, ended.signal)
    await contexts.run('a request', () => memory.get('a'))
    await contexts.run('a request', () => memory.get('a'))
    await round()
    await round()
    assert.deepEqual(askedIn, ['a request', undefined, undefined])
  })

  it('ends when it is told to', async () => {
    const ending = new AbortController()
    const { memory, asked, round, sleeps } = await rigInUse(ending.signal)
    ending.abort()
    await round()
    assert.equal(asked.length, 1)
    await memory.get('a')
    assert.deepEqual(sleeps(), [])
  })
})
