import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createSingleFlight } from './single-flight.ts'

describe('single flight', () => {
  it('runs one call for all callers of a key that come while it runs', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    let calls = 0
    const share = createSingleFlight<number>()
    const call = () => {
      calls += 1
      return promise
    }
    const answers = [share('a', call), share('a', call), share('b', call)]
    resolve(7)
    assert.deepEqual(await Promise.all(answers), [7, 7, 7])
    assert.equal(calls, 2)
  })

  it('starts anew after an answer, and after an error', async () => {
    const share = createSingleFlight<number>()
    assert.equal(await share('a', async () => 1), 1)
    await assert.rejects(
      share('a', async () => Promise.reject(new Error('broken'))),
      /broken/,
    )
    assert.equal(await share('a', async () => 2), 2)
  })
})
