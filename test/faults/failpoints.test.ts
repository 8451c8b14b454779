// F-01 to F-05, F-07 to F-09, F-11 and F-52: every failpoint of the registry fires with every action, in the operations
// that pass it. The client retries, other processes take over and fail too, and hung processes resume. Each operation
// must complete exactly once. At the end the test checks the invariants and reconciles our records with the provider's.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { FAILPOINT_ACTIONS, FAILPOINTS, type Failpoint } from '../../src/kit/failpoints.ts'
import type { Api } from '../support/api.ts'
import { eventually } from '../support/process.ts'
import { FORM } from '../support/scale.ts'
import { createTestFailpoints } from '../support/test-failpoints.ts'
import { countOpenWork, expireLeases, SHORT_TIMEOUTS, startHarness } from './failpoints/harness.ts'
import type { Case } from './failpoints/operations.ts'
import { ELSEWHERE, listRequestPoints, listWorkerPoints } from './failpoints/points.ts'

const harness = await startHarness({ after })
const { deployment, healthy, failing, failpoints } = harness
const requestPoints = listRequestPoints()
const workerPoints = listWorkerPoints()

// Few processes are killed, each while all its operations hang. The longest form starts a process for each point, which
// kills itself there.
const IS_LONG = FORM === 'long'

// The quick form runs one operation at each point with each action, the others with another action: kill has the first.
const QUICK_OPERATION = { throw: 1, hang: 2 }

function operationsFor(action: 'throw' | 'hang', { operations }: (typeof requestPoints)[number]) {
  const quick = QUICK_OPERATION[action] % operations.length
  return operations.filter((_, index) => FORM !== 'quick' || index === quick)
}

const hits = new Set<string>()

// A hanging delivery occupies the endpoint's slot in its process, so it hangs in a process of its own.
const OCCUPIES_ENDPOINT: readonly Failpoint[] = ['delivery.after_claim']

/** The rest of each case, keyed by the title of its test. */
const continuations = new Map<string, () => Promise<void>>()

// A process takes a second to start: a few at once use all processors, and more would only wait for each other.
const PROCESSES_AT_ONCE = 4

const killedAt = (point: Failpoint) => ({ ...SHORT_TIMEOUTS, COWRY_FAILPOINTS: `${point}=kill` })

/** Sends until the service is free to serve it: a busy one refuses a request before it reaches any point. */
const sendUntilFree = ({ send }: Case, api: Api) =>
  eventually(
    () => send(api),
    ({ http }) => http !== 503,
    TRIGGERED_WITHIN_MS,
  )

/** The client sees a broken connection and does not know the outcome. */
async function losesResponse(point: Failpoint, sent: ReturnType<Case['send']>): Promise<void> {
  const response = await sent.catch((error: unknown) => error)
  assert.ok(response instanceof TypeError, `${point} got a response: ${JSON.stringify(response)}`)
}

async function killDuring(point: Failpoint, one: Case): Promise<void> {
  const service = await deployment.startService(killedAt(point), 'api')
  await losesResponse(point, sendUntilFree(one, service.api))
  assert.deepEqual(await service.ended, { code: null, signal: 'SIGKILL' })
}

type KilledPoint = (typeof requestPoints)[number]

async function recordKill({ point, fault, operations }: KilledPoint, one: Case): Promise<void> {
  hits.add(`${point}=kill`)
  const [{ what, expectedState }] = operations
  const seen = await one.readState()
  continuations.set(`${point}=kill during ${what}: ${expectedState} (${fault})`, async () => {
    assert.equal(seen, expectedState)
    await one.retry()
    await one.assertCompleted()
  })
}

/** Each operation in a process of its own, which kills itself at the point. */
async function killAtRequests(): Promise<void> {
  const points = requestPoints.values()
  const killNext = async () => {
    for (const entry of points) {
      const one = await entry.operations[0].operation(harness)
      await killDuring(entry.point, one)
      await recordKill(entry, one)
    }
  }
  await Promise.all(Array.from({ length: PROCESSES_AT_ONCE }, killNext))
}

/** All operations in one process, which is killed when each of them hangs at its point. */
async function killAtAllRequests(): Promise<void> {
  const dying = await harness.startHanging('api')
  const underWay: { entry: KilledPoint; one: Case; lost: Promise<void> }[] = []
  // One that holds rows is the last, so that none waits for them.
  for (const entry of requestPoints.toSorted((a, b) => Number(a.holdsRows ?? 0) - Number(b.holdsRows ?? 0))) {
    const one = await entry.operations[0].operation(harness)
    await dying.arm(entry.point)
    underWay.push({ entry, one, lost: losesResponse(entry.point, sendUntilFree(one, dying.api)) })
    await dying.awaitReached([entry.point])
  }
  await dying.kill()
  for (const { entry, one, lost } of underWay) {
    await lost
    await recordKill(entry, one)
  }
}

async function throwAtRequests(): Promise<void> {
  for (const entry of requestPoints) {
    const { point, fault } = entry
    for (const { what, operation, expectedState } of operationsFor('throw', entry)) {
      const one = await operation(harness)
      const triggered = failpoints.arm(point, 'throw')
      const { http, text } = await sendUntilFree(one, failing.api)
      await triggered
      hits.add(`${point}=throw`)
      const seen = await one.readState()
      continuations.set(`${point}=throw during ${what}: ${expectedState} (${fault})`, async () => {
        // A response may already show the record as it was written before the failure.
        assert.ok(http === 500 || http === 201, text)
        assert.equal(seen, expectedState)
        await one.retry()
        await one.assertCompleted()
      })
    }
  }
}

async function hangAtRequests(): Promise<void> {
  for (const entry of requestPoints) {
    const { point, fault, holdsRows } = entry
    for (const { what, operation, expectedState } of operationsFor('hang', entry)) {
      const one = await operation(harness)
      const triggered = failpoints.arm(point, 'hang')
      const answered = sendUntilFree(one, failing.api)
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
        // A process that resumes after another has completed the operation changes nothing.
        release()
        const { http, text } = await answered
        assert.ok(http < 500, text)
        await one.assertCompleted()
      })
    }
  }
}

/** Each worker in turn; it kills itself at the point. */
async function killWorkers(): Promise<void> {
  for (const { point, fault, prepareWork } of workerPoints) {
    const left = await prepareWork(harness)
    assert.deepEqual(await deployment.runService(killedAt(point), 'worker'), {
      code: null,
      signal: 'SIGKILL',
    })
    hits.add(`${point}=kill`)
    continuations.set(`${point}=kill in a worker (${fault})`, () => left.assertCompleted())
  }
}

/** Few workers, each killed when it hangs at all its points. */
async function killWorkersAtAllPoints(): Promise<void> {
  const isAlone = ({ point }: (typeof workerPoints)[number]) => OCCUPIES_ENDPOINT.includes(point)
  for (const entries of [workerPoints.filter((entry) => !isAlone(entry)), workerPoints.filter(isAlone)]) {
    for (const { point, fault, prepareWork } of entries) {
      const { assertCompleted } = await prepareWork(harness)
      continuations.set(`${point}=kill in a worker (${fault})`, assertCompleted)
    }
    const points = entries.map(({ point }) => point)
    const worker = await harness.startHanging('worker', points)
    await worker.awaitReached(points)
    await worker.kill()
    for (const point of points) hits.add(`${point}=kill`)
  }
}

// So many of its commits fail, for any kind of work: outcomes, links, refunds.
const BROKEN_COMMITS = 6
const TRIGGERED_WITHIN_MS = 60_000
const releases: (() => void)[] = []

/** Sets a failpoint for each pair, and starts a worker that hits all of them and continues. */
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
  // A failed commit leaves its row leased, and a failpoint may depend on that row.
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
  const isAlone = ([point, action]: (typeof all)[number]) =>
    OCCUPIES_ENDPOINT.includes(point) && action === 'hang'
  await startFailingWorker(all.filter((failpoint) => !isAlone(failpoint)))
  await startFailingWorker(all.filter(isAlone))
  await harness.startWorker(createTestFailpoints())
  await expireLeases(harness)
}

// Each case polls both sides; cases that wait for a free process complete meanwhile.
const CASES_AT_ONCE = 6

async function failEverywhere(): Promise<void> {
  await (IS_LONG ? killAtRequests() : killAtAllRequests())
  await throwAtRequests()
  await hangAtRequests()
  await (IS_LONG ? killWorkers() : killWorkersAtAllPoints())
  await failInWorkers()
}

// A test below reports this error: throwing here would leave the started processes running.
const setupError = await failEverywhere().then(
  () => undefined,
  (error: unknown) => error,
)

it('every failpoint can be reached', () => assert.ifError(setupError))

describe('a process that fails at a failpoint (F-01, F-02, F-03, F-04, F-05, F-07, F-08, F-09, F-11, F-52)', {
  concurrency: CASES_AT_ONCE,
}, () => {
  for (const [name, goOn] of continuations) it(`after ${name}, the operation completes exactly once`, goOn)
})

describe('after all failpoints fired', () => {
  it('no operation is left open, also after hung processes resumed', async () => {
    const nothing = { payments: 0, refunds: 0, deliveries: 0, settlements: 0 }
    for (const release of releases) release()
    await expireLeases(harness)
    const isDone = (open: typeof nothing) => Object.values(open).every((count) => count === 0)
    assert.deepEqual(await eventually(() => countOpenWork(harness), isDone, 60_000), nothing)
    assert.deepEqual(harness.consumer.errors, [])
  })

  it('every failpoint of the registry fired with every action', () => {
    const isHere = (point: Failpoint) => !ELSEWHERE.some((one) => one === point)
    const wanted = FAILPOINTS.filter(isHere).flatMap((point) =>
      FAILPOINT_ACTIONS.map((action) => `${point}=${action}`),
    )
    assert.deepEqual([...hits].toSorted(), wanted.toSorted())
  })

  it('the service that hung and threw still serves requests', async () => {
    const [one, other] = await Promise.all([failing, healthy].map(({ url }) => fetch(`${url}/readyz`)))
    assert.deepEqual([one?.status, other?.status], [200, 200])
  })
})
