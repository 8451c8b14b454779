import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createSingleFlight } from './single-flight.ts'

const scope = {}

describe('single flight', () => {
  it('runs one call for all callers of a key that come while it runs', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    let calls = 0
    const share = createSingleFlight<number>()
    const call = () => {
      calls += 1
      return promise
    }
    const results = [share(scope, 'a', call), share(scope, 'a', call), share(scope, 'b', call)]
    resolve(7)
    assert.deepEqual(await Promise.all(results), [7, 7, 7])
    assert.equal(calls, 2)
  })

  it('keeps the calls of two scopes apart', async () => {
    const share = createSingleFlight<number>()
    const shared = [share({}, 'a', async () => 1), share({}, 'a', async () => 2)]
    assert.deepEqual(await Promise.all(shared), [1, 2])
  })

  it('starts anew after an answer, and after an error', async () => {
    const share = createSingleFlight<number>()
    assert.equal(await share(scope, 'a', async () => 1), 1)
    await assert.rejects(
      share(scope, 'a', async () => Promise.reject(new Error('broken'))),
      /broken/,
    )
    assert.equal(await share(scope, 'a', async () => 2), 2)
  })
})
