import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { createBatcher, createTurns, type Linger } from './batch.ts'

/** A batcher whose runs are recorded and end when the test says so. */
function setup(options: {
  maxSize?: number
  concurrency?: number
  stalledAfterMs?: number
  linger?: Linger
  fails?: (items: readonly number[]) => unknown
}) {
  const runs: { items: readonly number[]; end: () => void }[] = []
  const enqueue = createBatcher<number, string>({
    maxSize: options.maxSize ?? 64,
    concurrency: options.concurrency ?? 1,
    stalledAfterMs: options.stalledAfterMs,
    linger: options.linger,
    shouldSplit: (error) => !(error instanceof RangeError),
    run: async (items) => {
      await new Promise<void>((end) => runs.push({ items, end }))
      const failure = options.fails?.(items)
      if (failure) throw failure
      return items.map((item) => `did ${item}`)
    },
  })
  const endAll = async () => {
    for (let seen = -1; seen !== runs.length; ) {
      seen = runs.length
      for (const run of runs) run.end()
      await nextTurn()
      await nextTurn()
    }
  }
  return { enqueue, runs, endAll, sizes: () => runs.map(({ items }) => items.length) }
}

describe('the group commit', () => {
  it('does not count a batch that has run for longer than the limit', async () => {
    const { enqueue, endAll, sizes } = setup({ concurrency: 1, stalledAfterMs: 20 })
    const hanging = enqueue(1)
    await nextTurn()
    const next = enqueue(2)
    await nextTurn()
    assert.deepEqual(sizes(), [1])
    await delay(100)
    assert.deepEqual(sizes(), [1, 1])
    await endAll()
    assert.deepEqual(await Promise.all([hanging, next]), ['did 1', 'did 2'])
  })

  it('runs a single caller at once, in a batch of one', async () => {
    const { enqueue, runs, endAll } = setup({})
    const result = enqueue(1)
    await nextTurn()
    assert.deepEqual(runs[0]?.items, [1])
    await endAll()
    assert.equal(await result, 'did 1')
  })

  it('batches callers that arrive together, and returns each its own result', async () => {
    const { enqueue, sizes, endAll } = setup({})
    const results = Promise.all([1, 2, 3].map(enqueue))
    await nextTurn()
    assert.deepEqual(sizes(), [3])
    await endAll()
    assert.deepEqual(await results, ['did 1', 'did 2', 'did 3'])
  })

  it('collects the callers that arrive while a batch runs', async () => {
    const { enqueue, sizes, endAll } = setup({})
    const first = enqueue(1)
    await nextTurn()
    const others = Promise.all([2, 3, 4].map(enqueue))
    await nextTurn()
    assert.deepEqual(sizes(), [1], 'the queued callers wait')
    await endAll()
    await Promise.all([first, others])
    assert.deepEqual(sizes(), [1, 3])
  })

  it('starts the next batch before the callers of this one go on', async () => {
    const { enqueue, runs, endAll, sizes } = setup({})
    let sizesWhenGoingOn: number[] | undefined
    const first = enqueue(1).then(() => {
      sizesWhenGoingOn = sizes()
    })
    await nextTurn()
    const next = [enqueue(2), enqueue(3)]
    await nextTurn()
    runs[0]?.end()
    await first
    assert.deepEqual(sizesWhenGoingOn, [1, 2])
    await endAll()
    await Promise.all(next)
  })

  it('never exceeds the maximum batch size and the maximum number of concurrent batches', async () => {
    const { enqueue, sizes, endAll } = setup({ maxSize: 2, concurrency: 2 })
    const results = Promise.all([1, 2, 3, 4, 5].map(enqueue))
    await nextTurn()
    assert.deepEqual(sizes(), [2, 2], 'the fifth waits for a free place')
    await endAll()
    await results
    assert.deepEqual(sizes(), [2, 2, 1])
  })

  it('retries each item on its own after a failed batch, so that one bad row does not fail the others', async () => {
    const { enqueue, runs, endAll } = setup({
      fails: (items) => (items.includes(2) ? new Error('row 2 is wrong') : undefined),
    })
    const results = Promise.allSettled([1, 2, 3].map(enqueue))
    await nextTurn()
    await endAll()
    const [first, second, third] = await results
    assert.deepEqual(first, { status: 'fulfilled', value: 'did 1' })
    assert.match(String(second?.status === 'rejected' && second.reason), /row 2 is wrong/)
    assert.deepEqual(third, { status: 'fulfilled', value: 'did 3' })
    assert.deepEqual(
      runs.map(({ items }) => items),
      [[1, 2, 3], [1], [2], [3]],
    )
  })

  it('retries only a few items at once, so that they do not take every connection', async () => {
    const { enqueue, runs, sizes, endAll } = setup({
      fails: (items) => (items.length > 1 ? new Error('not together') : undefined),
    })
    const results = Promise.all(Array.from({ length: 20 }, (_, n) => enqueue(n)))
    await nextTurn()
    runs[0]?.end()
    await nextTurn()
    assert.deepEqual(sizes(), [20, 1, 1, 1, 1])
    runs[2]?.end()
    await nextTurn()
    assert.deepEqual(sizes(), [20, 1, 1, 1, 1, 1], 'the next one does not wait for all of them')
    await endAll()
    assert.equal((await results).length, 20)
  })

  it('rejects every caller with an error that concerns all of them, without a retry', async () => {
    const { enqueue, runs, endAll } = setup({ fails: () => new RangeError('no server') })
    const results = Promise.allSettled([1, 2].map(enqueue))
    await nextTurn()
    await endAll()
    for (const result of await results) {
      assert.match(String(result.status === 'rejected' && result.reason), /no server/)
    }
    assert.equal(runs.length, 1)
  })

  it('runs each batch in the async context of one of its requests', async () => {
    const contexts = new AsyncLocalStorage<number>()
    const ran: { items: readonly number[]; asyncContext: number | undefined }[] = []
    const enqueue = createBatcher<number, number>({
      maxSize: 2,
      concurrency: 1,
      shouldSplit: () => false,
      run: async (items) => {
        ran.push({ items, asyncContext: contexts.getStore() })
        await nextTurn()
        return items
      },
    })
    // More than one batch waits all the time, so that the queue is never empty.
    const enqueueRepeatedly = async (n: number) => {
      for (let again = 0; again < 4; again++)
        await contexts.run(n * 10 + again, () => enqueue(n * 10 + again))
    }
    await Promise.all([1, 2, 3, 4, 5, 6].map(enqueueRepeatedly))
    assert.equal(ran.flatMap(({ items }) => items).length, 24)
    for (const { items, asyncContext } of ran)
      assert.ok(
        asyncContext !== undefined && items.includes(asyncContext),
        `${items} ran asyncContext ${asyncContext}`,
      )
  })

  it('continues after a failure', async () => {
    let broken = true
    const { enqueue, endAll } = setup({ fails: () => (broken ? new RangeError('no server') : undefined) })
    const lost = assert.rejects(enqueue(1), /no server/)
    await nextTurn()
    await endAll()
    await lost
    broken = false
    const result = enqueue(2)
    await nextTurn()
    await endAll()
    assert.equal(await result, 'did 2')
  })

  describe('with linger', () => {
    /** A sleeper wakes up when the test says that so many milliseconds have passed. */
    function sleepyClock() {
      const sleepers: { ms: number; wake: () => void }[] = []
      let elapsedMs = 0
      const now = () => new Date(elapsedMs)
      const sleep = (ms: number) => new Promise<void>((wake) => void sleepers.push({ ms, wake }))
      const pass = async (ms: number) => {
        elapsedMs += ms
        for (const sleeper of sleepers.splice(0)) {
          if (sleeper.ms <= ms) sleeper.wake()
          else sleepers.push(sleeper)
        }
        await nextTurn()
        await nextTurn()
      }
      return { clock: { now, sleep }, pass }
    }

    it('lingers after each shared batch, and never delays a single caller', async () => {
      const { clock, pass } = sleepyClock()
      const linger = { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 4 }
      const { enqueue, runs, sizes } = setup({ concurrency: 2, linger })
      const first = enqueue(1)
      await nextTurn()
      assert.deepEqual(sizes(), [1])
      const second = enqueue(2)
      runs[0]?.end()
      assert.equal(await first, 'did 1')
      await nextTurn()
      const third = enqueue(3)
      await nextTurn()
      assert.deepEqual(sizes(), [1], 'a third may join the second')
      await pass(3)
      assert.deepEqual(sizes(), [1, 2])
      runs[1]?.end()
      assert.deepEqual(await Promise.all([second, third]), ['did 2', 'did 3'])
    })

    it('does not linger after a batch of one', async () => {
      const { clock } = sleepyClock()
      const linger = { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 4 }
      const { enqueue, runs } = setup({ concurrency: 2, linger })
      for (const n of [0, 1, 2]) {
        const result = enqueue(n)
        await nextTurn()
        assert.equal(runs.length, n + 1)
        runs[n]?.end()
        assert.equal(await result, `did ${n}`)
        await nextTurn()
      }
    })

    it('does not linger when half of the batch target is queued', async () => {
      const { clock } = sleepyClock()
      const linger = { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 4 }
      const { enqueue, endAll, runs, sizes } = setup({ concurrency: 2, linger })
      const first = enqueue(1)
      await nextTurn()
      const next = [2, 3].map(enqueue)
      await nextTurn()
      assert.deepEqual(sizes(), [1])
      runs[0]?.end()
      assert.equal(await first, 'did 1')
      await nextTurn()
      assert.deepEqual(sizes(), [1, 2])
      await endAll()
      assert.equal((await Promise.all(next)).length, 2)
    })

    it('stops lingering once the batch target is reached', async () => {
      const { clock, pass } = sleepyClock()
      const linger = { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 4 }
      const { enqueue, endAll, sizes } = setup({ concurrency: 2, linger })
      const results = [enqueue(1)]
      await nextTurn()
      results.push(...[2, 3, 4].map(enqueue))
      await nextTurn()
      assert.deepEqual(sizes(), [1])
      results.push(enqueue(5))
      await nextTurn()
      assert.deepEqual(sizes(), [1, 4])
      await endAll()
      await pass(3)
      assert.equal((await Promise.all(results)).length, 5)
    })

    it('starts another batch beside a slow one, up to the limit', async () => {
      const { clock, pass } = sleepyClock()
      const linger = { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 4 }
      const { enqueue, runs, sizes } = setup({ concurrency: 2, linger })
      const stuck = enqueue(1)
      await nextTurn()
      const second = enqueue(2)
      await nextTurn()
      assert.deepEqual(sizes(), [1])
      await pass(25)
      assert.deepEqual(sizes(), [1, 1])
      const third = enqueue(3)
      await pass(25)
      assert.deepEqual(sizes(), [1, 1], 'two at once are enough')
      runs[1]?.end()
      assert.equal(await second, 'did 2')
      await pass(3)
      assert.deepEqual(sizes(), [1, 1, 1])
      runs[2]?.end()
      assert.equal(await third, 'did 3')
      runs[0]?.end()
      assert.equal(await stuck, 'did 1')
    })

    /** After batches of one caller that took so long each, one more runs. */
    async function afterBatches(durations: readonly number[]) {
      const { clock, pass } = sleepyClock()
      const linger = { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 2 }
      const { enqueue, runs, sizes, endAll } = setup({ concurrency: 2, linger })
      for (const [index, ms] of durations.entries()) {
        const result = enqueue(index)
        await nextTurn()
        await pass(ms)
        runs[index]?.end()
        await result
        await nextTurn()
      }
      const running = enqueue(-1)
      await nextTurn()
      return { enqueue, pass, endAll, running, sizes: () => sizes().slice(durations.length) }
    }

    /** Two batchers of one database. */
    function setupTurns() {
      const { clock, pass } = sleepyClock()
      const linger = { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 4, turns: createTurns() }
      return { one: setup({ concurrency: 2, linger }), other: setup({ concurrency: 2, linger }), pass }
    }

    it('runs the batches of two batchers of a database in turns', async () => {
      const { one, other, pass } = setupTurns()
      const first = one.enqueue(1)
      await nextTurn()
      const waiting = [other.enqueue(2), other.enqueue(3), one.enqueue(4), one.enqueue(5)]
      await nextTurn()
      assert.deepEqual([one.sizes(), other.sizes()], [[1], []])
      one.runs[0]?.end()
      await first
      await pass(3)
      assert.deepEqual([one.sizes(), other.sizes()], [[1], [2]], 'the next turn is that of the other')
      other.runs[0]?.end()
      await nextTurn()
      await pass(3)
      assert.deepEqual([one.sizes(), other.sizes()], [[1, 2], [2]])
      await one.endAll()
      assert.equal((await Promise.all(waiting)).length, 4)
    })

    it('starts the batch of the other before its callers go on', async () => {
      const { one, other } = setupTurns()
      let sizesWhenGoingOn: number[] | undefined
      const first = one.enqueue(1).then(() => {
        sizesWhenGoingOn = other.sizes()
      })
      await nextTurn()
      const waiting = other.enqueue(2)
      await nextTurn()
      assert.deepEqual(other.sizes(), [])
      one.runs[0]?.end()
      await first
      assert.deepEqual(sizesWhenGoingOn, [1])
      await other.endAll()
      await waiting
    })

    it('gives a batcher its turn beside another whose batches are always full', async () => {
      const { one, other, pass } = setupTurns()
      const calls = [one.enqueue(0)]
      await nextTurn()
      calls.push(...[1, 2, 3, 4].map(one.enqueue))
      await nextTurn()
      assert.deepEqual(one.sizes(), [1, 4])
      calls.push(...[5, 6, 7, 8].map(one.enqueue), other.enqueue(9))
      await nextTurn()
      assert.deepEqual(other.sizes(), [])
      one.runs[0]?.end()
      await nextTurn()
      await nextTurn()
      assert.deepEqual([one.sizes(), other.sizes()], [[1, 4, 4], [1]])
      for (const batcher of [other, one, other]) await batcher.endAll()
      await pass(3)
      assert.equal((await Promise.all(calls)).length, 10)
    })

    it('does not wait for the turn of a batch that is slow, nor with a full batch', async () => {
      const { one, other, pass } = setupTurns()
      const slow = one.enqueue(1)
      await nextTurn()
      const next = [2, 3, 4, 5].map(other.enqueue)
      await nextTurn()
      assert.deepEqual(other.sizes(), [4])
      await other.endAll()
      next.push(other.enqueue(6))
      await pass(3)
      assert.deepEqual(other.sizes(), [4])
      await pass(25)
      assert.deepEqual(other.sizes(), [4, 1])
      await other.endAll()
      await one.endAll()
      assert.equal((await Promise.all([slow, ...next])).length, 6)
    })

    const SLOW = Array.from({ length: 20 }, () => 60)

    it('waits longer for a batch, and for more callers, if batches are usually slow', async () => {
      const { enqueue, pass, endAll, running, sizes } = await afterBatches(SLOW)
      const next = [1, 2, 3].map(enqueue)
      await pass(100)
      assert.deepEqual(sizes(), [1], 'the next batch waits for the slow one')
      next.push(enqueue(4))
      await nextTurn()
      assert.deepEqual(sizes(), [1, 4], 'four callers are worth another statement')
      await endAll()
      assert.equal((await Promise.all([running, ...next])).length, 5)
    })

    it('starts another batch beside one that takes three times as long as usual', async () => {
      const { enqueue, pass, endAll, running, sizes } = await afterBatches(SLOW)
      const next = enqueue(1)
      await pass(180)
      assert.deepEqual(sizes(), [1, 1])
      await endAll()
      assert.equal((await Promise.all([running, next])).length, 2)
    })

    it('does not take one batch that hung, or a jump of the clock, for the usual duration', async () => {
      const { enqueue, pass, endAll, running, sizes } = await afterBatches([3_600_000])
      const next = enqueue(1)
      await pass(40)
      assert.deepEqual(sizes(), [1, 1])
      await endAll()
      assert.equal((await Promise.all([running, next])).length, 2)
    })
  })
})
