import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CONCURRENCY, createConcurrencyPools } from './pools.ts'

const NOW = new Date('2026-03-14T09:26:53.589Z')
const later = (ms: number) => new Date(NOW.getTime() + ms)

const due = (count: number, name = 'e', isFailing = false) =>
  Array.from({ length: count }, (_, n) => ({ merchantId: 'm', endpointId: `${name}${n}`, isFailing }))

const quotasOf = (allotments: { quota: number }[]) => allotments.map(({ quota }) => quota)
const sum = (quotas: number[]) => quotas.reduce((total, quota) => total + quota, 0)

/** Pools in which every one of them has a call under way since NOW. */
function busy(endpoints: ReturnType<typeof due>) {
  const pools = createConcurrencyPools()
  const calls = endpoints.map(({ endpointId, isFailing }) => pools.acquire(endpointId, isFailing, NOW))
  return { pools, calls }
}

describe('the pools of a process', () => {
  it('give one call to who has not answered yet, and eight to who has', () => {
    const pools = createConcurrencyPools()
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [1, 1])
    const call = pools.acquire('e0', false, NOW)
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [1], 'the other one')
    call.responded(later(100))
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [7, 1])
    call.release()
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [8, 1])
  })

  it('deal one for each first, and keep the last places for those that are known to answer', () => {
    const { pools, calls } = busy(due(2))
    for (const call of calls) {
      call.responded(later(10))
      call.release()
    }
    assert.deepEqual(quotasOf(pools.allocate(due(2), 4, NOW)), [2, 2])
    assert.deepEqual(quotasOf(pools.allocate([...due(2), ...due(1, 'other')], 64, NOW)), [8, 8])
    const many = pools.allocate([...due(500, 'other'), ...due(2)], CONCURRENCY, NOW)
    assert.equal(sum(quotasOf(many)), 128 + 16)
  })

  it('leave quota for others when all that fail have something due', () => {
    const failing = due(1_000, 'failing', true)
    const allotments = createConcurrencyPools().allocate([...failing, ...due(50)], CONCURRENCY, NOW)
    assert.equal(allotments.filter(({ endpointId }) => endpointId.startsWith('failing')).length, 128)
    assert.equal(allotments.filter(({ endpointId }) => endpointId.startsWith('e')).length, 50)
  })

  it('give one call to who fails, until it is known that it fails quickly', () => {
    const { pools, calls } = busy(due(1, 'e', true))
    assert.deepEqual(pools.allocate(due(1, 'e', true), 100, NOW), [])
    calls[0]?.responded(later(10))
    assert.deepEqual(quotasOf(pools.allocate(due(1, 'e', true), 100, NOW)), [7])
  })

  it('make quota as soon as those that were called are late', () => {
    const { pools } = busy(due(192))
    assert.deepEqual(pools.allocate(due(10, 'other'), 100, later(1_999)), [])
    assert.equal(sum(quotasOf(pools.allocate(due(10, 'other'), 100, later(2_000)))), 10)
    assert.deepEqual(
      pools.allocate(due(1, 'failing', true), 100, later(2_000)),
      [],
      'but not for more of their kind',
    )
  })

  it('remember who was slow, until it is not', () => {
    const { pools, calls } = busy(due(1))
    calls[0]?.responded(later(5_000))
    calls[0]?.release()
    const rest = busy(due(128, 'failing', true)).pools
    assert.equal(rest.allocate(due(1), 100, NOW).length, 1)
    for (const { endpointId } of due(128, 'failing', true)) pools.acquire(endpointId, true, NOW)
    assert.deepEqual(pools.allocate(due(1), 100, NOW), [])
    const again = pools.acquire('e0', false, NOW)
    again.responded(later(10))
    again.release()
    assert.deepEqual(quotasOf(pools.allocate(due(1), 8, NOW)), [8])
  })

  it('say when nobody could be given a turn', () => {
    const { pools, calls } = busy([...due(192), ...due(128, 'failing', true)])
    assert.equal(pools.hasCapacity(NOW), false)
    calls[0]?.release()
    assert.equal(pools.hasCapacity(NOW), true)
  })
})
