// `cowry serve --workers 2`: two processes share one port as one service. Every request here opens a new connection,
// so that either worker may accept it.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { createServer } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf } from '../../bench/processes.ts'
import { connectDb } from '../../src/kit/db/db.ts'
import { createApi } from '../support/api.ts'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { assertOnlyAcknowledged, chargeUntilRefused } from '../support/charge-load.ts'
import { testDatabaseUrl } from '../support/database.ts'
import { assertInvariants } from '../support/invariants.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { awaitExit, eventually, runCowry, startProcess, tempFolder } from '../support/process.ts'
import { ADMIN_TOKEN } from '../support/service.ts'

const databaseUrl = await testDatabaseUrl({ after })
const env = {
  PORT: '0',
  DATABASE_URL: databaseUrl,
  COWRY_DATA_DIR: await tempFolder({ after }, 'workers'),
  COWRY_ADMIN_TOKEN: ADMIN_TOKEN,
  COWRY_POOL_SIZE: '6',
  COWRY_LOG_LEVEL: 'info',
}
const service = await startProcess({ after }, ['serve', '--workers', '2'], env)
const { url, demoKey } = service.facts
const api = createApi(url, { 'x-api-key': demoKey })
const admin = createApi(url, { authorization: `Bearer ${ADMIN_TOKEN}` })

interface FreshAnswer {
  http: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  body: any
}

/** Over a new connection. */
function sendFresh(path: string, headers: Record<string, string>, body?: unknown): Promise<FreshAnswer> {
  return new Promise((resolve, reject) => {
    const options = { agent: false, method: body ? 'POST' : 'GET', headers }
    const sent = httpRequest(`${url}${path}`, options, async (answer) => {
      try {
        const text = (await answer.toArray()).join('')
        const isJson = answer.headers['content-type']?.includes('json')
        resolve({ http: answer.statusCode ?? 0, text, body: isJson ? JSON.parse(text) : undefined })
      } catch (error) {
        reject(error)
      }
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}

const fresh = (key: string, path: string, body?: unknown) =>
  sendFresh(
    path,
    { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
    body,
  )

const readMetrics = async () => (await sendFresh('/metrics', { authorization: `Bearer ${ADMIN_TOKEN}` })).text

const many = <Result>(count: number, work: () => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, work))

const BALANCE = '/api/v1/wallet/balance'
const workerPids = () => descendantsOf(service.pid)

async function newKey(rateLimit?: {
  perSecond: number
  burst: number
}): Promise<{ key: string; keyId: string }> {
  const merchant = await admin.post('/admin/v1/merchants', { name: 'Many Hands' })
  const path = `/admin/v1/merchants/${merchant.body.data.uuid}/keys`
  const made = await admin.post(path, { name: 'test', scopes: ['*'], rateLimit })
  assert.equal(made.http, 201, made.text)
  return { key: made.body.data.apiKey, keyId: made.body.data.keyId }
}

const LISTS = [
  '/api/v1/checkout/payments',
  '/api/v1/charges',
  '/api/v1/refunds',
  '/api/v1/payment-links',
  '/api/v1/p2p/payments',
  '/api/v1/p2p/accounts',
  '/api/v1/customers',
  '/api/v1/wallet/transactions',
  '/api/v1/webhooks/endpoints',
  '/api/v1/events',
  '/api/v1/api-keys',
]

describe('two workers', () => {
  it('serves every group of operations from two workers as one service', async () => {
    const merchant = await newKey()
    await makeOneOfEverything(createApi(url, { 'x-api-key': merchant.key }), 'Worker')
    for (const path of LISTS) {
      const [one, other] = await many(2, () => fresh(merchant.key, path))
      assert.equal(one?.http, 200, path)
      assert.ok(one?.body.data.length > 0, `${path} has something`)
      assert.deepEqual(other?.body, one?.body, path)
    }
    assert.equal((await fresh(merchant.key, '/api/v1/misc/currencies')).http, 200)
  })

  it('shows the log of both workers from either', async () => {
    // An idle worker accepts a connection, so several requests may be needed to reach both.
    const seen = await eventually(
      async () => {
        const id = `watched-${randomUUID()}`
        await many(20, () => sendFresh(BALANCE, { 'x-api-key': demoKey, 'x-request-id': id }))
        const path = `/admin/v1/logs?requestId=${id}`
        return (await sendFresh(path, { authorization: `Bearer ${ADMIN_TOKEN}` })).body.data
      },
      ({ lines }) => new Set(lines.map(({ process }: { process: string }) => process)).size === 2,
      20_000,
    )
    assert.equal(seen.processes.length, 3, 'the workers and their primary')
    assert.ok(seen.lines.length <= 20)
    const times = seen.lines.map(({ at }: { at: string }) => at)
    assert.deepEqual(times, times.toSorted())
    const soFar = seen.processes.map(({ process, next }: Record<string, unknown>) => `${process}:${next}`)
    const behind = await sendFresh(`/admin/v1/logs?after=${soFar.join(',')}`, {
      authorization: `Bearer ${ADMIN_TOKEN}`,
    })
    assert.ok(
      behind.body.data.lines.every(({ fields }: { fields: { route: string } }) => fields.route !== BALANCE),
      'lines already read are not returned again',
    )
  })

  it('answers from both workers, and exports the metrics of both at /metrics of either', async () => {
    const pattern =
      /^cowry_http_requests_total\{[^}]*route="\/api\/v1\/wallet\/balance"[^}]*worker="(\d)"\} (\d+)$/gm
    // An idle worker accepts a connection, so several requests may be needed to reach both.
    const text = await eventually(
      async () => {
        await many(30, () => fresh(demoKey, BALANCE))
        return readMetrics()
      },
      (metrics) => new Set([...metrics.matchAll(pattern)].map(([, worker]) => worker)).size === 2,
      10_000,
    )
    assert.match(text, /^cowry_worker_up\{worker="2"\} 1$/m)
    assert.equal(text.match(/^# TYPE process_resident_memory_bytes /gm)?.length, 1)
    assert.equal(text.match(/^cowry_database_up 1$/gm)?.length, 1)
  })

  it('executes one reference once, whichever worker gets the request', async () => {
    const body = initiateBody()
    const answers = await many(20, () => fresh(demoKey, '/api/v1/checkout/initiate-payment', body))
    assert.deepEqual([...new Set(answers.map(({ http }) => http))], [201])
    assert.equal(new Set(answers.map((answer) => answer.body.data.uuid)).size, 1)

    const charge = chargeBody(await saveMethod(api, 'card_success'))
    const charges = await many(12, () => fresh(demoKey, '/api/v1/charges/recurring', charge))
    assert.deepEqual([...new Set(charges.map(({ http }) => http))], [201])
    const executed = await api.get(`/api/v1/sandbox/executions?reference=${charge.reference}`)
    assert.equal(executed.body.data.length, 1, executed.text)
  })

  it('shares one rate limit between two workers', async () => {
    const { key } = await newKey({ perSecond: 1, burst: 20 })
    let allowed = 0
    const startedAt = Date.now()
    // Slowly, because the workers sync ten times a second. Two workers without sync would accept 40 requests,
    // and two more with every second.
    for (let round = 0; round < 30; round += 1) {
      const answers = await many(2, () => fresh(key, BALANCE))
      allowed += answers.filter(({ http }) => http === 200).length
      await delay(150)
    }
    // An idle worker accepts a connection: send all at once, so that neither accepts all.
    allowed += (await many(30, () => fresh(key, BALANCE))).filter(({ http }) => http === 200).length
    const refilled = (Date.now() - startedAt) / 1_000
    assert.ok(allowed >= 20 && allowed <= 28 + refilled, `${allowed} were accepted in ${refilled} s`)
  })

  it('rejects a revoked key in both workers within five seconds', async () => {
    const { key, keyId } = await newKey()
    assert.deepEqual(
      (await many(4, () => fresh(key, BALANCE))).map(({ http }) => http),
      [200, 200, 200, 200],
    )
    const revoked = await admin.post(`/admin/v1/keys/${keyId}/revoke`, {})
    assert.equal(revoked.http, 200, revoked.text)
    await eventually(
      async () => (await many(6, () => fresh(key, BALANCE))).filter(({ http }) => http === 200).length,
      (accepted) => accepted === 0,
      5_000,
    )
  })

  it('keeps serving when one worker dies, and starts another', async () => {
    const before = workerPids()
    assert.equal(before.length, 2)
    const [killedPid = 0] = before
    process.kill(killedPid, 'SIGKILL')
    await awaitExit([killedPid])
    assert.deepEqual(
      (await many(6, () => fresh(demoKey, BALANCE))).map(({ http }) => http),
      Array(6).fill(200),
      'the other worker accepts a new connection',
    )
    await eventually(
      readMetrics,
      (text) =>
        /^cowry_worker_restarts_total 1$/m.test(text) && /^cowry_worker_up\{worker="1"\} 1$/m.test(text),
      20_000,
    )
    assert.equal(workerPids().length, 2)
    assert.match(service.errors(), /cluster\.worker_exited/)
    const watched = await sendFresh('/admin/v1/logs?level=error', { authorization: `Bearer ${ADMIN_TOKEN}` })
    const keys = watched.body.data.lines.map(({ key }: { key: string }) => key)
    assert.ok(keys.includes('cluster.worker_exited'), 'the operator’s API shows it too')
  })

  it('SIGTERM under load completes the accepted requests of both workers, and leaves no process behind (F-90)', async () => {
    const load = chargeUntilRefused(api, await saveMethod(api, 'card_success'))
    await eventually(load.acknowledged, ({ length }) => length >= 20, 20_000)
    const pids = workerPids()
    assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
    await load.ended
    await awaitExit(pids)
    const db = connectDb({ url: databaseUrl, poolSize: 2 })
    try {
      await assertOnlyAcknowledged(db, load)
      await assertInvariants({ db })
    } finally {
      await db.close()
    }
  })
})

describe('workers that fail to start', () => {
  it('reports once that workers cannot start, and leaves no process running', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => void taken.close())
    await once(taken, 'listening')
    const address = taken.address()
    assert.ok(address && typeof address === 'object')
    const { code, err } = await runCowry(t, ['serve', '--workers', '2'], {
      ...env,
      PORT: String(address.port),
    })
    assert.equal(code, 1)
    assert.equal(err.match(/something else listens there/g)?.length, 1, err)
    assert.doesNotMatch(err, /\n\s+at /)
  })

  it('rejects a number of workers that is not sensible for a machine', async (t) => {
    const { code, err } = await runCowry(t, ['serve', '--workers', '0'], env)
    assert.equal(code, 1)
    assert.match(err, /whole number from 1 to 64/)
  })
})
