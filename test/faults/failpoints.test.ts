// F-01 to F-05, F-07 to F-09, F-11 and F-52: every failpoint of the registry is hit by every action, on the operations that
// pass it. The client comes again, others take over what was left and stumble too, those that hung wake up, and everything
// has ended right, once. When the deployment ends, the invariants and both sides' books are compared.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { FAILPOINT_ACTIONS, FAILPOINTS, type Failpoint } from '../../src/kit/failpoints.ts'
import { eventually } from '../support/process.ts'
import { createTestFailpoints } from '../support/test-failpoints.ts'
import { countOpenWork, expireLeases, SHORT_TIMEOUTS, startHarness } from './failpoints/harness.ts'
import type { Case } from './failpoints/operations.ts'
import { listRequestPoints, listWorkerPoints } from './failpoints/points.ts'

const harness = await startHarness({ after })
const { deployment, healthy, failing, failpoints } = harness
const requestPoints = listRequestPoints()
const workerPoints = listWorkerPoints()

const hits = new Set<string>()

/** How each case goes on, by the name of its test. */
const continuations = new Map<string, () => Promise<void>>()

// A process takes a second to start: a few at once keep the processors busy, all of them would wait for each other.
const PROCESSES_AT_ONCE = 4

async function startKilledAt(point: Failpoint, role: 'api' | 'worker') {
  return deployment.startService({ ...SHORT_TIMEOUTS, COWRY_FAILPOINTS: `${point}=kill` }, role)
}

/** The client sees a broken connection and knows nothing. */
async function killDuring(point: Failpoint, { send }: Case): Promise<void> {
  const service = await startKilledAt(point, 'api')
  await assert.rejects(send(service.api), TypeError)
  assert.deepEqual(await service.ended, { code: null, signal: 'SIGKILL' })
  hits.add(`${point}=kill`)
}

async function killAtRequests(): Promise<void> {
  const points = requestPoints.values()
  const killNext = async () => {
    for (const { point, fault, operations } of points) {
      const [{ what, operation, expectedState }] = operations
      const one = await operation(harness)
      await killDuring(point, one)
      const seen = await one.readState()
      continuations.set(`${point}=kill during ${what}: ${expectedState} (${fault})`, async () => {
        assert.equal(seen, expectedState)
        await one.retry()
        await one.assertCompleted()
      })
    }
  }
  await Promise.all(Array.from({ length: PROCESSES_AT_ONCE }, killNext))
}

async function throwAtRequests(): Promise<void> {
  for (const { point, fault, operations } of requestPoints) {
    for (const { what, operation, expectedState } of operations) {
      const one = await operation(harness)
      const triggered = failpoints.arm(point, 'throw')
      const { http, text } = await one.send(failing.api)
      await triggered
      hits.add(`${point}=throw`)
      const seen = await one.readState()
      continuations.set(`${point}=throw during ${what}: ${expectedState} (${fault})`, async () => {
        // What was recorded before may be answered as it stands.
        assert.ok(http === 500 || http === 201, text)
        assert.equal(seen, expectedState)
        await one.retry()
        await one.assertCompleted()
      })
    }
  }
}

async function hangAtRequests(): Promise<void> {
  for (const { point, fault, operations, holdsRows } of requestPoints) {
    for (const { what, operation, expectedState } of operations) {
      const one = await operation(harness)
      const triggered = failpoints.arm(point, 'hang')
      const answered = one.send(failing.api)
      const release = await triggered
      hits.add(`${point}=hang`)
      const seen = await one.readState()
      if (holdsRows) {
        release()
        await answered
      }
      continuations.set(`${point}=hang during ${what}: ${expectedState} (${fault}, F-52)`, async () => {
        assert.equal(seen, expectedState)
        await one.retry()
        await one.assertCompleted()
        // Whoever wakes up after others have brought it to its end changes nothing any more.
        release()
        const { http, text } = await answered
        assert.ok(http < 500, text)
        await one.assertCompleted()
      })
    }
  }
}

async function killWorkers(): Promise<void> {
  for (const { point, fault, prepareWork } of workerPoints) {
    const left = await prepareWork(harness)
    const worker = await startKilledAt(point, 'worker')
    assert.deepEqual(await worker.ended, { code: null, signal: 'SIGKILL' })
    hits.add(`${point}=kill`)
    continuations.set(`${point}=kill in a worker (${fault})`, () => left.assertCompleted())
  }
}

// So many of its commits break off, whatever they are about: settlements, links, refunds.
const BROKEN_COMMITS = 6
const TRIGGERED_WITHIN_MS = 60_000
const releases: (() => void)[] = []

/** Sets a trap for each, and starts a worker that stumbles over all of them and goes on. */
async function startFailingWorker(set: readonly (readonly [Failpoint, 'throw' | 'hang'])[]): Promise<void> {
  const workerFailpoints = createTestFailpoints()
  const left = new Set(set.map(([point, action]) => `${point}=${action}`))
  for (const [point, action] of set) {
    void workerFailpoints.arm(point, action).then((release) => {
      releases.push(release)
      hits.add(`${point}=${action}`)
      left.delete(`${point}=${action}`)
    })
  }
  for (const point of ['transaction.before_commit', 'transaction.after_commit'] as const)
    for (let n = 0; n < BROKEN_COMMITS; n += 1) void workerFailpoints.arm(point, 'throw')
  await harness.startWorker(workerFailpoints)
  // What a broken commit left behind is under lease, and may be what a trap waits for.
  const leaseTimer = setInterval(() => void expireLeases(harness).catch(() => undefined), 5_000)
  await eventually(
    () => [...left],
    ({ length }) => length === 0,
    TRIGGERED_WITHIN_MS,
  ).finally(() => clearInterval(leaseTimer))
}

async function failInWorkers(): Promise<void> {
  for (const { point, fault, prepareWork } of workerPoints) {
    for (const action of ['throw', 'hang']) {
      const { assertCompleted } = await prepareWork(harness)
      continuations.set(`${point}=${action} in a worker (${fault})`, assertCompleted)
    }
  }
  const all = workerPoints.flatMap(({ point }) => [[point, 'throw'] as const, [point, 'hang'] as const])
  // A delivery that hangs holds the endpoint's place in its own process, so each has a process of its own.
  const isAlone = ([point, action]: (typeof all)[number]) =>
    point === 'delivery.after_claim' && action === 'hang'
  await startFailingWorker(all.filter((failpoint) => !isAlone(failpoint)))
  await startFailingWorker(all.filter(isAlone))
  await harness.startWorker(createTestFailpoints())
  await expireLeases(harness)
}

// Each asks both sides again and again; those that wait for their turn come to their end meanwhile.
const CASES_AT_ONCE = 6

async function failEverywhere(): Promise<void> {
  await killAtRequests()
  await throwAtRequests()
  await hangAtRequests()
  await killWorkers()
  await failInWorkers()
}

// Told below, as a test: an error out here would leave everything running that was started.
const setupError = await failEverywhere().then(
  () => undefined,
  (error: unknown) => error,
)

it('every point can be stumbled at', () => assert.ifError(setupError))

describe('a process that gets no further (F-01, F-02, F-03, F-04, F-05, F-07, F-08, F-09, F-11, F-52)', {
  concurrency: CASES_AT_ONCE,
}, () => {
  for (const [name, goOn] of continuations) it(`at ${name}, and it ends right, once`, goOn)
})

describe('afterwards', () => {
  it('nothing is left open, also when those that hung have woken up', async () => {
    const nothing = { payments: 0, refunds: 0, deliveries: 0, settlements: 0 }
    for (const release of releases) release()
    await expireLeases(harness)
    const isDone = (open: typeof nothing) => Object.values(open).every((count) => count === 0)
    assert.deepEqual(await eventually(() => countOpenWork(harness), isDone, 60_000), nothing)
    assert.deepEqual(harness.consumer.errors, [])
  })

  it('every point of the registry was hit by every action', () => {
    const wanted = FAILPOINTS.flatMap((point) => FAILPOINT_ACTIONS.map((action) => `${point}=${action}`))
    assert.deepEqual([...hits].toSorted(), wanted.toSorted())
  })

  it('the service that hung and threw serves as before', async () => {
    const [one, other] = await Promise.all([failing, healthy].map(({ url }) => fetch(`${url}/readyz`)))
    assert.deepEqual([one?.status, other?.status], [200, 200])
  })
})
