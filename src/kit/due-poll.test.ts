import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from './clock.ts'
import { type PolledJob, startDuePoll } from './due-poll.ts'
import type { Random } from './random.ts'

const QUICK = { name: 'quick', intervalMs: 200 }
const SLOW = { name: 'slow', intervalMs: 600 }

const random: Random = { fraction: () => 0.5, bytes: (count) => new Uint8Array(count), uuid: () => '' }

/** A poll whose sleeps end when the test says so. */
function setup() {
  const stopping = new AbortController()
  const woken: string[] = []
  let polls = 0
  let tick = () => {}
  let respond: () => Promise<Set<string>> = async () => new Set()
  const clock: Clock = {
    now: () => new Date(0),
    sleep: (_ms, signal) =>
      new Promise((end) => {
        tick = end
        signal?.addEventListener('abort', () => end())
      }),
  }
  const find = () => {
    polls += 1
    return respond()
  }
  const poll = startDuePoll({ clock, random }, { names: ['quick', 'slow'], find }, stopping.signal)
  return {
    ...{ poll, stopping, woken },
    polls: () => polls,
    wait(job: PolledJob, signal = stopping.signal) {
      void poll.waitForWork(job, signal).then(() => woken.push(job.name))
    },
    async pass(count: number, found: string[] | Error) {
      respond = found instanceof Error ? () => Promise.reject(found) : async () => new Set(found)
      for (let passed = 0; passed < count; passed += 1) {
        tick()
        for (let turn = 0; turn < 5; turn += 1) await nextTurn()
      }
    },
  }
}

describe('the shared poll of the jobs', () => {
  it('knows which jobs it polls for', () => {
    const { poll } = setup()
    assert.deepEqual(
      [QUICK, SLOW, { name: 'other', intervalMs: 200 }].map((job) => poll.isPolled(job)),
      [true, true, false],
    )
  })

  it('wakes only jobs that may have due work, each at its own interval', async () => {
    const { wait, pass, polls, woken } = setup()
    wait(QUICK)
    wait(SLOW)
    await pass(2, ['slow'])
    assert.deepEqual([woken, polls()], [[], 2])
    await pass(1, ['slow'])
    assert.deepEqual([woken, polls()], [['slow'], 3])
    await pass(1, ['quick', 'slow'])
    assert.deepEqual([woken, polls()], [['slow', 'quick'], 4])
  })

  it('asks nothing while no job waits', async () => {
    const { pass, polls } = setup()
    await pass(3, ['quick'])
    assert.equal(polls(), 0)
  })

  it('wakes the jobs if the poll fails, so that each reports the error', async () => {
    const { wait, pass, woken } = setup()
    wait(QUICK)
    await pass(1, new Error('the database did not answer'))
    assert.deepEqual(woken, ['quick'])
  })

  it('stops waiting when the signal of a job aborts, and ends when its own does', async () => {
    const { poll, wait, pass, polls, woken, stopping } = setup()
    const taskEnd = new AbortController()
    wait(QUICK, taskEnd.signal)
    taskEnd.abort()
    await pass(1, ['quick'])
    assert.deepEqual([woken, polls()], [['quick'], 0])
    wait(SLOW)
    stopping.abort()
    await poll.ended
    await nextTurn()
    assert.deepEqual(woken, ['quick', 'slow'])
  })
})
