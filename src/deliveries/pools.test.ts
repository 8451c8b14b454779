import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CONCURRENCY, createConcurrencyPools } from './pools.ts'

const NOW = new Date('2026-03-14T09:26:53.589Z')
const later = (ms: number) => new Date(NOW.getTime() + ms)

const due = (count: number, name = 'e', isFailing = false) =>
  Array.from({ length: count }, (_, n) => ({ merchantId: 'm', endpointId: `${name}${n}`, isFailing }))

const quotasOf = (allotments: { quota: number }[]) => allotments.map(({ quota }) => quota)
const sum = (quotas: number[]) => quotas.reduce((total, quota) => total + quota, 0)

/** Pools in which each endpoint has a call in flight since NOW. */
function busy(endpoints: ReturnType<typeof due>) {
  const pools = createConcurrencyPools()
  const calls = endpoints.map(({ endpointId, isFailing }) => pools.acquire(endpointId, isFailing, NOW))
  return { pools, calls }
}

describe('the concurrency pools', () => {
  it('allot one call to an endpoint without a response so far, and eight after a response', () => {
    const pools = createConcurrencyPools()
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [1, 1])
    const call = pools.acquire('e0', false, NOW)
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [1], 'the other endpoint')
    call.responded(later(100))
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [7, 1])
    call.release()
    assert.deepEqual(quotasOf(pools.allocate(due(2), 100, NOW)), [8, 1])
  })

  it('allot one call to each endpoint first, and reserve the last ones for endpoints known to respond', () => {
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

  it('leave capacity for healthy endpoints when a thousand failing endpoints are due', () => {
    const failing = due(1_000, 'failing', true)
    const allotments = createConcurrencyPools().allocate([...failing, ...due(50)], CONCURRENCY, NOW)
    assert.equal(allotments.filter(({ endpointId }) => endpointId.startsWith('failing')).length, 128)
    assert.equal(allotments.filter(({ endpointId }) => endpointId.startsWith('e')).length, 50)
  })

  it('allot one call to a failing endpoint until it is known to fail quickly', () => {
    const { pools, calls } = busy(due(1, 'e', true))
    assert.deepEqual(pools.allocate(due(1, 'e', true), 100, NOW), [])
    calls[0]?.responded(later(10))
    assert.deepEqual(quotasOf(pools.allocate(due(1, 'e', true), 100, NOW)), [7])
  })

  it('free the healthy pool as soon as its calls are slow', () => {
    const { pools } = busy(due(192))
    assert.deepEqual(pools.allocate(due(10, 'other'), 100, later(1_999)), [])
    assert.equal(sum(quotasOf(pools.allocate(due(10, 'other'), 100, later(2_000)))), 10)
    assert.deepEqual(
      pools.allocate(due(1, 'failing', true), 100, later(2_000)),
      [],
      'but not for more suspect endpoints',
    )
  })

  it('keep a slow endpoint in the suspect pool until it responds quickly', () => {
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

  it('report when no call can be allotted', () => {
    const { pools, calls } = busy([...due(192), ...due(128, 'failing', true)])
    assert.equal(pools.hasCapacity(NOW), false)
    calls[0]?.release()
    assert.equal(pools.hasCapacity(NOW), true)
  })
})
