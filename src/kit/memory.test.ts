import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMemory } from './memory.ts'

function rig(maxEntries = 10) {
  let now = 1_000_000
  const asked: string[] = []
  let fails = false
  const memory = createMemory({
    clock: { now: () => new Date(now), sleep: () => Promise.resolve() },
    rememberedMs: 5_000,
    maxEntries,
    read: async (key) => {
      asked.push(key)
      if (fails) throw new Error('nobody answers')
      return `${key} ${asked.length}`
    },
  })
  return {
    memory,
    asked,
    pass: (ms: number) => {
      now += ms
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
