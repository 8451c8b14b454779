import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from './clock.ts'
import { type PolledJob, startDuePoll } from './due-poll.ts'
import type { Random } from './random.ts'

const QUICK = { name: 'quick', intervalMs: 200 }
const SLOW = { name: 'slow', intervalMs: 600 }

const random: Random = { fraction: () => 0.5, bytes: (count) => new Uint8Array(count), uuid: () => '' }

const TICK_MS = 200

/** A poll whose ticks pass when the test says so. Times are in milliseconds from the start. */
function setup() {
  const stopping = new AbortController()
  const woken: string[] = []
  let [polls, writes, nowMs] = [0, 0, 0]
  let tick = () => {}
  let found: Record<string, number> | Error = {}
  const clock: Clock = {
    now: () => new Date(nowMs),
    sleep: (_ms, signal) =>
      new Promise((end) => {
        tick = end
        signal?.addEventListener('abort', () => end())
      }),
  }
  const find = async () => {
    polls += 1
    if (found instanceof Error) throw found
    return new Map(Object.entries(found).map(([name, atMs]) => [name, new Date(atMs)]))
  }
  const dueJobs = { names: ['quick', 'slow'], find, writeCount: () => writes }
  const poll = startDuePoll({ clock, random }, dueJobs, stopping.signal)
  return {
    ...{ poll, stopping, woken },
    polls: () => polls,
    wait(job: PolledJob, signal = stopping.signal) {
      void poll.waitForWork(job, signal).then(() => woken.push(job.name))
    },
    /** This process records what is found from then on. */
    write(next: typeof found) {
      writes += 1
      found = next
    },
    /** Another process does. */
    change(next: typeof found) {
      found = next
    },
    async pass(ticks: number) {
      for (let passed = 0; passed < ticks; passed += 1) {
        nowMs += TICK_MS
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
    const { wait, pass, write, polls, woken } = setup()
    wait(QUICK)
    wait(SLOW)
    write({ slow: 0 })
    await pass(2)
    assert.deepEqual(woken, [])
    await pass(1)
    assert.deepEqual([woken, polls()], [['slow'], 1])
    write({ slow: 0, quick: 0 })
    await pass(1)
    assert.deepEqual([woken, polls()], [['slow', 'quick'], 2])
  })

  it('makes one statement a second while nothing happens', async () => {
    const { wait, pass, polls, woken } = setup()
    wait(QUICK)
    wait(SLOW)
    await pass(300)
    assert.deepEqual([woken, polls()], [[], 60])
  })

  it('finds what this process recorded at the next tick, and what another one did within a second', async () => {
    const { wait, pass, write, change, woken } = setup()
    wait(QUICK)
    await pass(1)
    write({ quick: 0 })
    await pass(1)
    assert.deepEqual(woken, ['quick'])
    change({})
    wait(QUICK)
    await pass(5)
    change({ quick: 0 })
    await pass(5)
    assert.deepEqual(woken, ['quick', 'quick'])
  })

  it('wakes a job when its time comes, without another statement', async () => {
    const { wait, pass, write, polls, woken } = setup()
    wait(QUICK)
    write({ quick: 3 * TICK_MS })
    await pass(2)
    assert.deepEqual([woken, polls()], [[], 1])
    await pass(1)
    assert.deepEqual([woken, polls()], [['quick'], 1])
  })

  it('wakes a job that could not claim what is due only after the next poll', async () => {
    const { wait, pass, write, polls, woken } = setup()
    write({ quick: 0 })
    wait(QUICK)
    await pass(1)
    wait(QUICK)
    await pass(4)
    assert.deepEqual([woken, polls()], [['quick'], 1])
    await pass(1)
    assert.deepEqual([woken, polls()], [['quick', 'quick'], 2])
  })

  it('asks nothing while no job waits', async () => {
    const { pass, write, polls } = setup()
    write({ quick: 0 })
    await pass(10)
    assert.equal(polls(), 0)
  })

  it('wakes the jobs if the poll fails, so that each reports the error', async () => {
    const { wait, pass, change, woken } = setup()
    wait(QUICK)
    change(new Error('the database did not answer'))
    await pass(1)
    assert.deepEqual(woken, ['quick'])
  })

  it('stops waiting when the signal of a job aborts, and ends when its own does', async () => {
    const { poll, wait, pass, write, polls, woken, stopping } = setup()
    const taskEnd = new AbortController()
    wait(QUICK, taskEnd.signal)
    taskEnd.abort()
    write({ quick: 0 })
    await pass(1)
    assert.deepEqual([woken, polls()], [['quick'], 0])
    wait(SLOW)
    stopping.abort()
    await poll.ended
    await nextTurn()
    assert.deepEqual(woken, ['quick', 'slow'])
  })
})
