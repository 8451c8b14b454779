import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from './clock.ts'
import { type Job, startJobs } from './jobs.ts'
import type { Log } from './observability/log.ts'
import type { Random } from './random.ts'

const INTERVAL_MS = 500

/** Jobs whose sleeps are recorded and end when the test says so. */
function setup(jobs: Job[]) {
  const sleeps: { ms: number; end: () => void }[] = []
  const errors: string[] = []
  const clock: Clock = {
    now: () => new Date(0),
    sleep: (ms, signal) =>
      new Promise((end) => {
        sleeps.push({ ms, end })
        if (signal?.aborted) end()
        signal?.addEventListener('abort', () => end())
      }),
  }
  // The middle of the jitter, so that a delay has its nominal length.
  const random: Random = { fraction: () => 0.5, bytes: (count) => new Uint8Array(count), uuid: () => '' }
  const log: Log = {
    write: (key, fields) => void errors.push(`${key}: ${fields?.job}: ${fields?.error}`),
  }
  const runner = startJobs({ clock, random, log }, jobs)
  return {
    runner,
    errors,
    delays: () => sleeps.map(({ ms }) => ms),
    async wake() {
      sleeps.at(-1)?.end()
      await settle()
    },
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
}

/** A task that ends when the test says so. */
function longTask() {
  const end = Promise.withResolvers<void>()
  const task = { isStarted: false, isEnded: false, end: end.resolve, fail: end.reject, run: async () => {} }
  task.run = async () => {
    task.isStarted = true
    await end.promise
    task.isEnded = true
  }
  return task
}

/** A job that claims from a queue, and records the capacity that it was offered. */
function taskJob(queue: (() => Promise<void>)[], concurrency: number, claimsAfterEach = false) {
  const limits: number[] = []
  const job: Job = {
    name: 'tasks',
    intervalMs: INTERVAL_MS,
    concurrency,
    claimsAfterEach,
    claim: async (limit) => {
      limits.push(limit)
      return queue.splice(0, limit)
    },
  }
  return { job, limits }
}

describe('a job that works in batches', () => {
  it('polls again at once while work is due, and sleeps when there is none', async () => {
    const amounts = [3, 2, 0, 0]
    let runs = 0
    const run = async () => amounts[runs++] ?? 0
    const { runner, delays, wake } = setup([{ name: 'bulk', intervalMs: INTERVAL_MS, run }])
    await settle()
    assert.equal(runs, 3)
    assert.deepEqual(delays(), [INTERVAL_MS])
    await wake()
    assert.equal(runs, 4)
    await runner.stop()
    assert.equal(runs, 4)
  })

  it('backs off after an error, logs it, and continues', async () => {
    let runs = 0
    const run = async () => {
      runs += 1
      if (runs === 1) throw new Error('no server')
      return 0
    }
    const { runner, delays, errors, wake } = setup([{ name: 'bulk', intervalMs: INTERVAL_MS, run }])
    await settle()
    assert.deepEqual(errors, ['job.failed: bulk: no server'])
    assert.deepEqual(delays(), [2_000])
    await wake()
    assert.equal(runs, 2)
    await runner.stop()
  })

  it('a job that fails does not stop the others', async () => {
    let runs = 0
    const broken: Job = {
      name: 'broken',
      intervalMs: INTERVAL_MS,
      run: () => Promise.reject(new Error('broken')),
    }
    const sound: Job = { name: 'sound', intervalMs: INTERVAL_MS, run: async () => (runs++ < 3 ? 1 : 0) }
    const { runner } = setup([broken, sound])
    await settle()
    assert.equal(runs, 4)
    await runner.stop()
  })
})

describe('a job that works in tasks', () => {
  it('polls again when a task ends if it asks for that, and sleeps on otherwise', async () => {
    for (const claimsAfterEach of [true, false]) {
      const [task, other] = [longTask(), longTask()]
      const { job, limits } = taskJob([task.run, other.run], 5, claimsAfterEach)
      const { runner, delays } = setup([job])
      await settle()
      assert.deepEqual(limits, [5, 3])
      task.end()
      await settle()
      assert.deepEqual(limits, claimsAfterEach ? [5, 3, 4] : [5, 3])
      assert.equal(delays().length, claimsAfterEach ? 2 : 1)
      const stopped = runner.stop()
      other.end()
      await stopped
    }
  })

  it('claims more work while a task hangs', async () => {
    const hanging = longTask()
    const queue = [hanging.run]
    const { job, limits } = taskJob(queue, 3)
    const { runner, wake } = setup([job])
    await settle()
    assert.ok(hanging.isStarted)
    const next = longTask()
    queue.push(next.run)
    await wake()
    assert.ok(next.isStarted, 'the next task did not wait')
    assert.deepEqual(limits, [3, 2, 2, 1], 'each claim is as large as there is room')
    hanging.end()
    next.end()
    await runner.stop()
  })

  it('claims nothing while its capacity is used, and continues as soon as a task ends', async () => {
    const [first, second, third] = [longTask(), longTask(), longTask()]
    const { job, limits } = taskJob([first.run, second.run, third.run], 2)
    const { runner } = setup([job])
    await settle()
    assert.deepEqual([first.isStarted, second.isStarted, third.isStarted], [true, true, false])
    assert.deepEqual(limits, [2])
    second.end()
    await settle()
    assert.ok(third.isStarted)
    for (const task of [first, third]) task.end()
    await runner.stop()
  })

  it('finishes its tasks before it stops, and claims nothing more', async () => {
    const hanging = longTask()
    const { job, limits } = taskJob([hanging.run], 2)
    const { runner } = setup([job])
    await settle()
    let isStopped = false
    const stopping = runner.stop().then(() => {
      isStopped = true
    })
    await settle()
    assert.equal(isStopped, false)
    const claims = limits.length
    hanging.end()
    await stopping
    assert.ok(hanging.isEnded)
    assert.equal(limits.length, claims)
  })

  it('stops also while its capacity is used', async () => {
    const hanging = longTask()
    const { job, limits } = taskJob([hanging.run], 1)
    const { runner } = setup([job])
    await settle()
    const stopping = runner.stop()
    hanging.end()
    await stopping
    assert.ok(hanging.isEnded)
    assert.deepEqual(limits, [1])
  })

  it('logs that a task failed, and continues with the others', async () => {
    const [broken, sound] = [longTask(), longTask()]
    const { job } = taskJob([broken.run, sound.run], 2)
    const { runner, errors } = setup([job])
    await settle()
    broken.fail(new Error('broken'))
    sound.end()
    await settle()
    assert.deepEqual(errors, ['job.failed: tasks: broken'])
    assert.ok(sound.isEnded)
    await runner.stop()
  })

  it('backs off after a failed claim, and continues', async () => {
    const task = longTask()
    let claims = 0
    const claim = async () => {
      claims += 1
      if (claims === 1) throw new Error('no server')
      return claims === 2 ? [task.run] : []
    }
    const { runner, delays, errors, wake } = setup([
      { name: 'p', intervalMs: INTERVAL_MS, concurrency: 2, claim },
    ])
    await settle()
    assert.deepEqual(errors, ['job.failed: p: no server'])
    assert.deepEqual(delays(), [2_000])
    await wake()
    assert.ok(task.isStarted)
    task.end()
    await runner.stop()
  })
})
