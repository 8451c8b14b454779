import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ApiError } from '../../core/errors.ts'
import { createRunningRequests, MAX_WAIT_MS, MOST_RUNNING } from './running.ts'

/** A clock whose sleeps end by the test alone. */
function manualClock() {
  const ends: (() => void)[] = []
  return {
    ends,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((done) => {
        assert.equal(ms, MAX_WAIT_MS)
        ends.push(done)
        signal?.addEventListener('abort', () => done())
      }),
  }
}

/** Starts as many requests as may run, and returns what ends each. */
function occupy(run: (work: () => Promise<number>) => Promise<number>) {
  const ends: ((value: number) => void)[] = []
  const results = Array.from({ length: MOST_RUNNING }, () => run(() => new Promise((end) => ends.push(end))))
  return { ends, results }
}

describe('the running requests of a person', () => {
  it('run at once up to the limit, and the next one as soon as one ends', async () => {
    const running = createRunningRequests(manualClock())
    const { ends, results } = occupy((work) => running.run('amina', work))
    assert.equal(ends.length, MOST_RUNNING)
    let isStarted = false
    const next = running.run('amina', async () => {
      isStarted = true
      return 7
    })
    await Promise.resolve()
    assert.equal(isStarted, false)
    ends.shift()?.(1)
    assert.equal(await next, 7)
    for (const end of ends) end(1)
    assert.deepEqual(await Promise.all(results), new Array(MOST_RUNNING).fill(1))
  })

  it('do not delay another person', async () => {
    const running = createRunningRequests(manualClock())
    const { ends } = occupy((work) => running.run('amina', work))
    assert.equal(await running.run('kofi', async () => 3), 3)
    for (const end of ends) end(1)
  })

  it('are refused after a short wait, which starts none later', async () => {
    const clock = manualClock()
    const running = createRunningRequests(clock)
    const { ends, results } = occupy((work) => running.run('amina', work))
    const refused = running.run('amina', () => assert.fail('it was refused'))
    for (const end of clock.ends) end()
    await assert.rejects(refused, (error) => error instanceof ApiError && error.code === 'rate_limited')
    for (const end of ends) end(1)
    await Promise.all(results)
    assert.equal(await running.run('amina', async () => 5), 5)
  })

  it('make room for the next one when they fail', async () => {
    const running = createRunningRequests(manualClock())
    const fail = () => Promise.reject(new Error('no'))
    for (let n = 0; n <= MOST_RUNNING; n += 1) await assert.rejects(running.run('amina', fail))
    assert.equal(await running.run('amina', async () => 5), 5)
  })
})
