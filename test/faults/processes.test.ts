// Roles, stalled processes, clients that disconnect, shutdown and uncaught errors: F-07, F-12, F-51 and F-90.

import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { chargeBody, saveMethod } from '../support/builders.ts'
import {
  CHARGED_ONCE,
  EMBEDDED_SANDBOX,
  type ServiceProcess,
  startDeployment,
} from '../support/deployment.ts'
import { eventually, ROOT } from '../support/process.ts'

const CHARGE = '/api/v1/charges/recurring'
const SHORT_TIMEOUTS = { COWRY_GATEWAY_TIMEOUT_MS: '500' }

const deployment = await startDeployment({ after })
const { sandbox } = deployment
const main = await deployment.startService({}, 'api')
const [card, losing, slow] = await Promise.all([
  saveMethod(main.api, 'card_success'),
  saveMethod(main.api, 'card_lost_answer_later'),
  saveMethod(main.api, 'card_slow_later'),
])

/** The charge with a reference, once it is at the provider. */
async function executed(reference: string): Promise<string> {
  const find = async () => {
    const id = await deployment.idOf(reference)
    return id !== undefined && (await sandbox.executions(id)).length > 0 ? id : ''
  }
  return eventually(find, (id) => id !== '', 10_000)
}

/** Charges that the gateway delays, and their pending responses. */
async function chargesUnderWay(service: ServiceProcess, count: number) {
  await sandbox.addFault({ kind: 'slow_ms', on: 'charge', times: count, ms: 1_000 })
  const bodies = Array.from({ length: count }, () => chargeBody(card))
  const answers = Promise.all(bodies.map((body) => service.api.post(CHARGE, body)))
  await Promise.all(bodies.map(({ reference }) => executed(reference)))
  return { answers }
}

// Started by the first test that needs it, and shared until a test needs a worker of its own.
let worker: ServiceProcess

describe('roles', () => {
  it('a process with the role api never resolves payments, and a worker does', async () => {
    const { body } = await main.api.post(CHARGE, chargeBody(losing))
    const { uuid } = body.data
    // The first status check would come after a second.
    await delay(2_500)
    assert.equal((await deployment.snapshotOf(uuid)).status, 'processing')

    worker = await deployment.startService({}, 'worker')
    assert.deepEqual(await deployment.awaitFinal(uuid, 10_000), CHARGED_ONCE)
  })

  it('a worker does not listen on a port, and publishes no address', async () => {
    assert.equal(worker.facts.url, null)
    await assert.rejects(access(join(worker.dataDir, 'server.json')), { code: 'ENOENT' })
    await access(join(main.dataDir, 'server.json'))
  })
})

describe('a process that stalls longer than its lease (F-07)', () => {
  it('a process that stalls during a charge is taken over, and nothing happens twice when it resumes', async () => {
    const zombie = await deployment.startService(SHORT_TIMEOUTS, 'api')
    const body = chargeBody(slow)
    const answer = zombie.api.post(CHARGE, body)
    const id = await executed(body.reference)
    process.kill(zombie.pid, 'SIGSTOP')
    assert.deepEqual(await deployment.awaitFinal(id), CHARGED_ONCE)

    process.kill(zombie.pid, 'SIGCONT')
    const { http, body: answered } = await answer
    assert.equal(http, 201)
    assert.equal(answered.data.uuid, id)
    assert.deepEqual(await deployment.snapshotOf(id), CHARGED_ONCE)
    assert.equal((await zombie.api.get(`/api/v1/charges/${id}`)).body.data.status, 'successful')
    await zombie.kill('SIGTERM')
    assert.deepEqual(await worker.kill('SIGTERM'), { code: 0, signal: null })
  })

  it('a process that stalls during a status check is taken over, and nothing happens twice when it resumes', async () => {
    const { body } = await main.api.post(CHARGE, chargeBody(losing))
    const { uuid } = body.data
    await sandbox.addFault({ kind: 'slow_ms', on: 'verify', times: 1, ms: 400 })
    const zombie = await deployment.startService(SHORT_TIMEOUTS, 'worker')
    await eventually(
      () => deployment.pollsOf(uuid),
      (polls) => polls === 1,
      10_000,
    )
    process.kill(zombie.pid, 'SIGSTOP')
    assert.equal((await deployment.snapshotOf(uuid)).status, 'processing')
    await deployment.endLease(uuid)
    const successor = await deployment.startService(SHORT_TIMEOUTS, 'worker')
    assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)

    process.kill(zombie.pid, 'SIGCONT')
    assert.deepEqual(await zombie.kill('SIGTERM'), { code: 0, signal: null })
    assert.deepEqual(await deployment.snapshotOf(uuid), CHARGED_ONCE)
    await successor.kill('SIGTERM')
  })
})

it('a worker resolves payments also where the sandbox runs inside the service', async () => {
  const { api, kill } = await deployment.startService(EMBEDDED_SANDBOX, 'api')
  const { body } = await api.post(CHARGE, chargeBody(losing))
  assert.equal(body.data.status, 'processing')
  assert.deepEqual(await kill('SIGTERM'), { code: 0, signal: null })

  const embedded = await deployment.startService(EMBEDDED_SANDBOX, 'worker')
  const { status, credits } = await deployment.awaitFinal(body.data.uuid, 10_000)
  assert.deepEqual({ status, credits }, { status: 'successful', credits: 1 })
  await embedded.kill('SIGTERM')
})

it('a request whose client disconnects completes, and the retry gets the result (F-51)', async () => {
  const bodies = Array.from({ length: 20 }, () => chargeBody(card))
  await sandbox.addFault({ kind: 'slow_ms', on: 'charge', times: bodies.length, ms: 900 })
  const left = bodies.map((body, n) =>
    main.api.send('POST', CHARGE, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
      // Some clients disconnect before the request has arrived, some during the call to the gateway.
      signal: AbortSignal.timeout(n * 45),
    }),
  )
  for (const outcome of await Promise.allSettled(left)) assert.equal(outcome.status, 'rejected')
  const arrived = (await Promise.all(bodies.map(({ reference }) => deployment.idOf(reference)))).filter(
    (id) => id !== undefined,
  )
  assert.ok(arrived.length > 0, 'some requests had arrived')
  for (const id of arrived) assert.deepEqual(await deployment.awaitFinal(id, 5_000), CHARGED_ONCE)

  for (const retried of await Promise.all(bodies.map((body) => main.api.post(CHARGE, body)))) {
    assert.equal(retried.http, 201, retried.text)
    assert.deepEqual(await deployment.awaitFinal(retried.body.data.uuid), CHARGED_ONCE)
  }
})

describe('the end of a process', () => {
  it('SIGTERM completes open requests, rejects new ones, and exits with 0 (F-90)', async () => {
    const service = await deployment.startService({}, 'api')
    const { answers } = await chargesUnderWay(service, 16)
    const stopping = service.kill('SIGTERM')
    await eventually(
      () => fetch(`${service.url}/healthz`).catch((error) => error.cause.code),
      (answer) => answer === 'ECONNREFUSED',
      5_000,
    )
    for (const { http, headers, body } of await answers) {
      assert.equal(http, 201)
      assert.equal(body.data.status, 'successful')
      assert.equal(headers.get('connection'), 'close')
    }
    assert.deepEqual(await stopping, { code: 0, signal: null })
  })

  it('SIGTERM under load with the sandbox inside fails no charge and cuts no connection (F-90)', async () => {
    const service = await deployment.startService(EMBEDDED_SANDBOX)
    const seen = new Set<string>()
    const refused: string[] = []
    const client = async () => {
      for (;;) {
        const body = chargeBody(card)
        const answer = await service.api.post(CHARGE, body).catch(() => undefined)
        if (!answer) return refused.push(body.reference)
        seen.add(`${answer.http} ${answer.body.data?.status ?? answer.text}`)
      }
    }
    const clients = Promise.all(Array.from({ length: 16 }, client))
    await delay(500)
    assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
    await clients
    assert.deepEqual([...seen], ['201 successful'])
    // A request without a response was not accepted: nothing of it was stored.
    for (const reference of refused) assert.equal(await deployment.idOf(reference), undefined)
  })

  it('one of two processes that shuts down under load loses nothing and returns no 5xx (F-90)', async () => {
    const leaving = await deployment.startService({}, 'api')
    let isOver = false
    const codes = new Map<number, number>()
    const client = async () => {
      while (!isOver) {
        const body = chargeBody(card)
        // Like a client behind a load balancer: a request that one process did not accept goes to another.
        const answer = await leaving.api.post(CHARGE, body).catch(() => main.api.post(CHARGE, body))
        codes.set(answer.http, (codes.get(answer.http) ?? 0) + 1)
        assert.equal(answer.body.data?.status, 'successful', answer.text)
      }
    }
    const clients = Promise.all(Array.from({ length: 6 }, client))
    await delay(300)
    assert.deepEqual(await leaving.kill('SIGTERM'), { code: 0, signal: null })
    await delay(300)
    isOver = true
    await clients
    assert.deepEqual([...codes.keys()], [201])
    assert.ok((codes.get(201) ?? 0) >= 6)
  })

  for (const [signal, fault, key] of [
    ['SIGUSR2', 'uncaughtException', 'process.uncaught_exception'],
    ['SIGHUP', 'unhandledRejection', 'process.unhandled_rejection'],
  ] as const) {
    it(`${fault} is logged, open requests complete, and the process exits with 1 (F-12)`, async () => {
      const preload = join(ROOT, 'test/support/throw-on-signal.ts')
      const service = await deployment.startService({ NODE_OPTIONS: `--import=${preload}` }, 'api')
      const { answers } = await chargesUnderWay(service, 4)
      const ending = service.kill(signal)
      for (const { http, body } of await answers) {
        assert.equal(http, 201)
        assert.equal(body.data.status, 'successful')
      }
      assert.deepEqual(await ending, { code: 1, signal: null })
      assert.match(service.errors(), new RegExp(`"${key}".*a test (threw|rejected) this`))
    })
  }
})
