// F-01 to F-05, F-07 to F-09, F-11 and F-52: every failpoint of the registry is hit by every action, on the operations that
// pass it. The client comes again, others take over what was left and stumble too, those that hung wake up, and everything
// has ended right, once. When the deployment ends, the invariants and both sides' books are compared.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { FAILPOINT_ACTIONS, FAILPOINTS, type Failpoint } from '../../src/kit/failpoints.ts'
import { eventually } from '../support/process.ts'
import { createTestFailpoints } from '../support/test-failpoints.ts'
import type { Case } from './failpoints/operations.ts'
import { listRequestPoints, listWorkerPoints } from './failpoints/points.ts'
import { BRIEF, endEveryLease, listOpen, raiseStage } from './failpoints/stage.ts'

const stage = await raiseStage({ after })
const { deployment, healthy, stumbling, traps } = stage
const requestPoints = listRequestPoints()
const workerPoints = listWorkerPoints()

const hits = new Set<string>()

/** How each case goes on, by the name of its test. */
const sequels = new Map<string, () => Promise<void>>()

// A process takes a second to start: a few at once keep the processors busy, all of them would wait for each other.
const PROCESSES_AT_ONCE = 4

async function startDying(point: Failpoint, role: 'api' | 'worker') {
  return deployment.startService({ ...BRIEF, COWRY_FAILPOINTS: `${point}=kill` }, role)
}

/** The client sees a broken connection and knows nothing. */
async function dieOver(point: Failpoint, { send }: Case): Promise<void> {
  const service = await startDying(point, 'api')
  await assert.rejects(send(service.api), TypeError)
  assert.deepEqual(await service.ended, { code: null, signal: 'SIGKILL' })
  hits.add(`${point}=kill`)
}

async function killAtRequests(): Promise<void> {
  const points = requestPoints.values()
  const killNext = async () => {
    for (const { point, fault, passed } of points) {
      const [{ what, operation, left }] = passed
      const one = await operation(stage)
      await dieOver(point, one)
      const seen = await one.look()
      sequels.set(`${point}=kill during ${what}: ${left} (${fault})`, async () => {
        assert.equal(seen, left)
        await one.again()
        await one.ended()
      })
    }
  }
  await Promise.all(Array.from({ length: PROCESSES_AT_ONCE }, killNext))
}

async function throwAtRequests(): Promise<void> {
  for (const { point, fault, passed } of requestPoints) {
    for (const { what, operation, left } of passed) {
      const one = await operation(stage)
      const sprung = traps.arm(point, 'throw')
      const { http, text } = await one.send(stumbling.api)
      await sprung
      hits.add(`${point}=throw`)
      const seen = await one.look()
      sequels.set(`${point}=throw during ${what}: ${left} (${fault})`, async () => {
        // What was recorded before may be answered as it stands.
        assert.ok(http === 500 || http === 201, text)
        assert.equal(seen, left)
        await one.again()
        await one.ended()
      })
    }
  }
}

async function hangAtRequests(): Promise<void> {
  for (const { point, fault, passed, holdsRows } of requestPoints) {
    for (const { what, operation, left } of passed) {
      const one = await operation(stage)
      const sprung = traps.arm(point, 'hang')
      const answered = one.send(stumbling.api)
      const release = await sprung
      hits.add(`${point}=hang`)
      const seen = await one.look()
      if (holdsRows) {
        release()
        await answered
      }
      sequels.set(`${point}=hang during ${what}: ${left} (${fault}, F-52)`, async () => {
        assert.equal(seen, left)
        await one.again()
        await one.ended()
        // Whoever wakes up after others have brought it to its end changes nothing any more.
        release()
        const { http, text } = await answered
        assert.ok(http < 500, text)
        await one.ended()
      })
    }
  }
}

async function killWorkers(): Promise<void> {
  for (const { point, fault, leave } of workerPoints) {
    const left = await leave(stage)
    const worker = await startDying(point, 'worker')
    assert.deepEqual(await worker.ended, { code: null, signal: 'SIGKILL' })
    hits.add(`${point}=kill`)
    sequels.set(`${point}=kill in a worker (${fault})`, () => left.ended())
  }
}

// So many of its commits break off, whatever they are about: settlements, links, refunds.
const BROKEN_COMMITS = 6
const SPRUNG_IN_MS = 60_000
const releases: (() => void)[] = []

/** Sets a trap for each, and starts a worker that stumbles over all of them and goes on. */
async function startStumbling(set: readonly (readonly [Failpoint, 'throw' | 'hang'])[]): Promise<void> {
  const workerTraps = createTestFailpoints()
  const left = new Set(set.map(([point, action]) => `${point}=${action}`))
  for (const [point, action] of set) {
    void workerTraps.arm(point, action).then((release) => {
      releases.push(release)
      hits.add(`${point}=${action}`)
      left.delete(`${point}=${action}`)
    })
  }
  for (const point of ['transaction.before_commit', 'transaction.after_commit'] as const)
    for (let n = 0; n < BROKEN_COMMITS; n += 1) void workerTraps.arm(point, 'throw')
  await stage.startWorker(workerTraps)
  // What a broken commit left behind is under lease, and may be what a trap waits for.
  const lookAgain = setInterval(() => void endEveryLease(stage).catch(() => undefined), 5_000)
  await eventually(
    () => [...left],
    ({ length }) => length === 0,
    SPRUNG_IN_MS,
  ).finally(() => clearInterval(lookAgain))
}

async function stumbleInWorkers(): Promise<void> {
  for (const { point, fault, leave } of workerPoints) {
    for (const action of ['throw', 'hang']) {
      const { ended } = await leave(stage)
      sequels.set(`${point}=${action} in a worker (${fault})`, ended)
    }
  }
  const all = workerPoints.flatMap(({ point }) => [[point, 'throw'] as const, [point, 'hang'] as const])
  // A delivery that hangs holds the endpoint's place in its own process, so each has a process of its own.
  const isAlone = ([point, action]: (typeof all)[number]) =>
    point === 'delivery.after_claim' && action === 'hang'
  await startStumbling(all.filter((trap) => !isAlone(trap)))
  await startStumbling(all.filter(isAlone))
  await stage.startWorker(createTestFailpoints())
  await endEveryLease(stage)
}

// Each asks both sides again and again; those that wait for their turn come to their end meanwhile.
const CASES_AT_ONCE = 6

async function stumbleEverywhere(): Promise<void> {
  await killAtRequests()
  await throwAtRequests()
  await hangAtRequests()
  await killWorkers()
  await stumbleInWorkers()
}

// Told below, as a test: an error out here would leave everything running that was started.
const trouble = await stumbleEverywhere().then(
  () => undefined,
  (error: unknown) => error,
)

it('every point can be stumbled at', () => assert.ifError(trouble))

describe('a process that gets no further (F-01, F-02, F-03, F-04, F-05, F-07, F-08, F-09, F-11, F-52)', {
  concurrency: CASES_AT_ONCE,
}, () => {
  for (const [name, goOn] of sequels) it(`at ${name}, and it ends right, once`, goOn)
})

describe('afterwards', () => {
  it('nothing is left open, also when those that hung have woken up', async () => {
    const nothing = { payments: 0, refunds: 0, deliveries: 0, settlements: 0 }
    for (const release of releases) release()
    await endEveryLease(stage)
    const isDone = (open: typeof nothing) => Object.values(open).every((count) => count === 0)
    assert.deepEqual(await eventually(() => listOpen(stage), isDone, 60_000), nothing)
    assert.deepEqual(stage.consumer.errors, [])
  })

  it('every point of the registry was hit by every action', () => {
    const wanted = FAILPOINTS.flatMap((point) => FAILPOINT_ACTIONS.map((action) => `${point}=${action}`))
    assert.deepEqual([...hits].toSorted(), wanted.toSorted())
  })

  it('the service that hung and threw serves as before', async () => {
    const [one, other] = await Promise.all([stumbling, healthy].map(({ url }) => fetch(`${url}/readyz`)))
    assert.deepEqual([one?.status, other?.status], [200, 200])
  })
})
