import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createBatcher, type Patience } from './batch.ts'

/** A batcher whose runs are recorded and end when the test says so. */
function rig(options: {
  maxSize?: number
  concurrency?: number
  patience?: Patience
  fails?: (items: readonly number[]) => unknown
}) {
  const runs: { items: readonly number[]; end: () => void }[] = []
  const give = createBatcher<number, string>({
    maxSize: options.maxSize ?? 64,
    concurrency: options.concurrency ?? 1,
    patience: options.patience,
    isolates: (error) => !(error instanceof RangeError),
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
  return { give, runs, endAll, sizes: () => runs.map(({ items }) => items.length) }
}

describe('the group commit', () => {
  it('lets who comes alone go at once, alone', async () => {
    const { give, runs, endAll } = rig({})
    const answer = give(1)
    await nextTurn()
    assert.deepEqual(runs[0]?.items, [1])
    await endAll()
    assert.equal(await answer, 'did 1')
  })

  it('lets those who arrive together travel together, and answers each what is theirs', async () => {
    const { give, sizes, endAll } = rig({})
    const answers = Promise.all([1, 2, 3].map(give))
    await nextTurn()
    assert.deepEqual(sizes(), [3])
    await endAll()
    assert.deepEqual(await answers, ['did 1', 'did 2', 'did 3'])
  })

  it('gathers who comes while a batch is under way', async () => {
    const { give, sizes, endAll } = rig({})
    const first = give(1)
    await nextTurn()
    const others = Promise.all([2, 3, 4].map(give))
    await nextTurn()
    assert.deepEqual(sizes(), [1], 'nobody overtakes')
    await endAll()
    await Promise.all([first, others])
    assert.deepEqual(sizes(), [1, 3])
  })

  it('never makes a batch larger, nor more batches at once, than it was told', async () => {
    const { give, sizes, endAll } = rig({ maxSize: 2, concurrency: 2 })
    const answers = Promise.all([1, 2, 3, 4, 5].map(give))
    await nextTurn()
    assert.deepEqual(sizes(), [2, 2], 'the fifth waits for a free place')
    await endAll()
    await answers
    assert.deepEqual(sizes(), [2, 2, 1])
  })

  it('tries each alone after a failure in company, so that one row spoils nobody’s batch', async () => {
    const { give, runs, endAll } = rig({
      fails: (items) => (items.includes(2) ? new Error('row 2 is wrong') : undefined),
    })
    const answers = Promise.allSettled([1, 2, 3].map(give))
    await nextTurn()
    await endAll()
    const [first, second, third] = await answers
    assert.deepEqual(first, { status: 'fulfilled', value: 'did 1' })
    assert.match(String(second?.status === 'rejected' && second.reason), /row 2 is wrong/)
    assert.deepEqual(third, { status: 'fulfilled', value: 'did 3' })
    assert.deepEqual(
      runs.map(({ items }) => items),
      [[1, 2, 3], [1], [2], [3]],
    )
  })

  it('tries few alone at once, so that they do not take every connection', async () => {
    const { give, runs, sizes, endAll } = rig({
      fails: (items) => (items.length > 1 ? new Error('not together') : undefined),
    })
    const answers = Promise.all(Array.from({ length: 20 }, (_, n) => give(n)))
    await nextTurn()
    runs[0]?.end()
    await nextTurn()
    assert.deepEqual(sizes(), [20, 1, 1, 1, 1])
    runs[2]?.end()
    await nextTurn()
    assert.deepEqual(sizes(), [20, 1, 1, 1, 1, 1], 'the next one does not wait for all of them')
    await endAll()
    assert.equal((await answers).length, 20)
  })

  it('tells everybody an error that is everybody’s, without asking again', async () => {
    const { give, runs, endAll } = rig({ fails: () => new RangeError('no server') })
    const answers = Promise.allSettled([1, 2].map(give))
    await nextTurn()
    await endAll()
    for (const answer of await answers) {
      assert.match(String(answer.status === 'rejected' && answer.reason), /no server/)
    }
    assert.equal(runs.length, 1)
  })

  it('runs each batch as part of a request that is in it', async () => {
    const contexts = new AsyncLocalStorage<number>()
    const ran: { items: readonly number[]; within: number | undefined }[] = []
    const give = createBatcher<number, number>({
      maxSize: 2,
      concurrency: 1,
      isolates: () => false,
      run: async (items) => {
        ran.push({ items, within: contexts.getStore() })
        await nextTurn()
        return items
      },
    })
    // More than one batch waits all the time, so that the queue is never empty.
    const ask = async (n: number) => {
      for (let again = 0; again < 4; again++) await contexts.run(n * 10 + again, () => give(n * 10 + again))
    }
    await Promise.all([1, 2, 3, 4, 5, 6].map(ask))
    assert.equal(ran.flatMap(({ items }) => items).length, 24)
    for (const { items, within } of ran)
      assert.ok(within !== undefined && items.includes(within), `${items} ran within ${within}`)
  })

  it('goes on after a failure', async () => {
    let broken = true
    const { give, endAll } = rig({ fails: () => (broken ? new RangeError('no server') : undefined) })
    const lost = assert.rejects(give(1), /no server/)
    await nextTurn()
    await endAll()
    await lost
    broken = false
    const answer = give(2)
    await nextTurn()
    await endAll()
    assert.equal(await answer, 'did 2')
  })

  describe('with patience', () => {
    /** Sleepers wake up when the test says that so many milliseconds are over. */
    function sleepyClock() {
      const sleepers: { ms: number; wake: () => void }[] = []
      const sleep = (ms: number, signal?: AbortSignal) =>
        new Promise<void>((wake) => {
          sleepers.push({ ms, wake })
          signal?.addEventListener('abort', () => wake())
        })
      const pass = async (ms: number) => {
        for (const sleeper of sleepers.splice(0)) {
          if (sleeper.ms <= ms) sleeper.wake()
          else sleepers.push(sleeper)
        }
        await nextTurn()
        await nextTurn()
      }
      return { clock: { sleep }, pass }
    }

    it('gathers a moment after each batch, and lets nobody wait who comes alone', async () => {
      const { clock, pass } = sleepyClock()
      const patience = { clock, gatherMs: 3, besideAfterMs: 25, enough: 4 }
      const { give, runs, sizes } = rig({ concurrency: 2, patience })
      const first = give(1)
      await nextTurn()
      assert.deepEqual(sizes(), [1])
      const second = give(2)
      runs[0]?.end()
      assert.equal(await first, 'did 1')
      await nextTurn()
      const third = give(3)
      await nextTurn()
      assert.deepEqual(sizes(), [1], 'a third may join the second')
      await pass(3)
      assert.deepEqual(sizes(), [1, 2])
      runs[1]?.end()
      assert.deepEqual(await Promise.all([second, third]), ['did 2', 'did 3'])
    })

    it('never waits for company that has not shown itself', async () => {
      const { clock } = sleepyClock()
      const patience = { clock, gatherMs: 3, besideAfterMs: 25, enough: 4 }
      const { give, runs } = rig({ concurrency: 2, patience })
      for (const n of [0, 1, 2]) {
        const answer = give(n)
        await nextTurn()
        assert.equal(runs.length, n + 1)
        runs[n]?.end()
        assert.equal(await answer, `did ${n}`)
        await nextTurn()
      }
    })

    it('waits no longer when enough have gathered', async () => {
      const { clock, pass } = sleepyClock()
      const patience = { clock, gatherMs: 3, besideAfterMs: 25, enough: 4 }
      const { give, endAll, sizes } = rig({ concurrency: 2, patience })
      const answers = [give(1)]
      await nextTurn()
      answers.push(...[2, 3, 4].map(give))
      await nextTurn()
      assert.deepEqual(sizes(), [1])
      answers.push(give(5))
      await nextTurn()
      assert.deepEqual(sizes(), [1, 4])
      await endAll()
      await pass(3)
      assert.equal((await Promise.all(answers)).length, 5)
    })

    it('begins another beside one that takes long, and no more than it was told', async () => {
      const { clock, pass } = sleepyClock()
      const patience = { clock, gatherMs: 3, besideAfterMs: 25, enough: 4 }
      const { give, runs, sizes } = rig({ concurrency: 2, patience })
      const stuck = give(1)
      await nextTurn()
      const second = give(2)
      await nextTurn()
      assert.deepEqual(sizes(), [1])
      await pass(25)
      assert.deepEqual(sizes(), [1, 1])
      const third = give(3)
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
  })
})
