// A deployment of processes: one database, the sandbox provider with its durable log of executions, and any number of
// service processes. At the end the service's records are reconciled with the provider's, which reveals double charges
// and lost payments in every test.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Db, sql } from '../../src/kit/db/db.ts'
import { type Api, createApi } from './api.ts'
import { type Cleanup, testDatabaseUrl } from './database.ts'
import { assertInvariants } from './invariants.ts'
import { type Ended, eventually, type RunningProcess, runCowry, startProcess, tempFolder } from './process.ts'
import { connectTestDb } from './test-db.ts'

export const SANDBOX_SECRET = 'the-secret-of-a-sandbox-of-the-tests'

export interface Fault {
  kind: string
  on: 'charge' | 'checkout' | 'verify' | 'refund'
  times: number
  ms?: number
}

export interface ServiceProcess extends RunningProcess {
  /** Useless for a worker, which does not listen. */
  url: string
  dataDir: string
  /** An API client with the demo merchant's key. */
  api: Api
}

export interface SandboxProcess {
  url: string
  addFault(fault: Fault): Promise<void>
  clearFaults(): Promise<void>
  executions(paymentId: string): Promise<unknown[]>
  /** Completes a checkout as its payer would. */
  completeAsPayer(key: string, instrument: string): Promise<void>
  kill(): Promise<void>
  /** Restarts it on the same port with the same data. */
  restart(): Promise<void>
}

/** The records of both sides about a payment. */
export interface PaymentSnapshot {
  status: string
  reason: string | null
  executions: number
  credits: number
  events: string[]
  attempts: string[]
}

type Role = 'all' | 'api' | 'worker'

export interface Deployment {
  databaseUrl: string
  db: Db
  sandbox: SandboxProcess
  startService(env?: Record<string, string>, role?: Role): Promise<ServiceProcess>
  /** Runs a service that kills itself in its background work, which may be before it is ready. */
  runService(env: Record<string, string>, role: Role): Promise<Ended>
  snapshotOf(paymentId: string): Promise<PaymentSnapshot>
  /** Waits until the outcome of the payment is final. */
  awaitFinal(paymentId: string, withinMs?: number): Promise<PaymentSnapshot>
  idOf(reference: string): Promise<string | undefined>
  /** The key of the latest attempt at the gateway. */
  keyOf(paymentId: string): Promise<string>
  /** How often the resolver has claimed the latest attempt. */
  pollsOf(paymentId: string): Promise<number>
  /** Expires the lease of the payment's attempt. */
  endLease(paymentId: string): Promise<void>
  /** The proof of each state transition. */
  proofsOf(paymentId: string): Promise<(string | null)[]>
}

/** The settings of a service with the provider inside, as `cowry serve` starts it. */
export const EMBEDDED_SANDBOX = { COWRY_SANDBOX_URL: '' }

/** A charge that was executed exactly once. */
export const CHARGED_ONCE: PaymentSnapshot = {
  status: 'successful',
  reason: null,
  executions: 1,
  credits: 1,
  events: ['charge.processing', 'charge.successful'],
  attempts: ['succeeded'],
}

export async function startDeployment(t: Cleanup): Promise<Deployment> {
  const services: (() => Promise<void>)[] = []
  const rest: (() => Promise<void>)[] = []
  t.after(async () => {
    const failures: unknown[] = []
    const run = (work: () => Promise<void>) => work().catch((error: unknown) => void failures.push(error))
    if (deployment) await run(() => reconcileWithProvider(db, sandboxFolder))
    await Promise.all(services.map(run))
    for (const work of rest) await run(work)
    if (failures.length > 0) throw failures[0]
  })
  let deployment: Deployment | undefined
  const restCleanup: Cleanup = { after: (fn) => void rest.push(fn) }
  const sandboxFolder = await tempFolder({ after: (fn) => void rest.unshift(fn) }, 'sandbox')
  const sandbox = await startSandbox({ after: (fn) => void rest.unshift(fn) }, sandboxFolder)
  let db: Db
  rest.push(async () => db?.close())
  const databaseUrl = await testDatabaseUrl(restCleanup)
  db = connectTestDb({ url: databaseUrl, poolSize: 4, applicationName: 'cowry-test' })

  const snapshotOf = async (paymentId: string): Promise<PaymentSnapshot> => {
    const [row] = await db.query(selectSnapshot, [paymentId])
    if (!row) throw new Error(`there is no payment ${paymentId}`)
    return { ...row, executions: (await sandbox.executions(paymentId)).length }
  }
  const latestAttempt = async (paymentId: string) => {
    const [row] = await db.query(selectLatestAttempt, [paymentId])
    if (!row) throw new Error(`there is no attempt at payment ${paymentId}`)
    return row
  }
  const serviceCleanup: Cleanup = { after: (fn) => void services.push(fn) }
  const serviceEnv = (dataDir: string, env: Record<string, string>) => ({
    PORT: '0',
    DATABASE_URL: databaseUrl,
    COWRY_DATA_DIR: dataDir,
    COWRY_SANDBOX_URL: sandbox.url,
    COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
    COWRY_RATE_LIMIT: '0',
    COWRY_POOL_SIZE: '8',
    ...env,
  })
  deployment = {
    databaseUrl,
    db,
    sandbox,
    snapshotOf,
    async startService(env = {}, role = 'all') {
      const dataDir = await tempFolder(restCleanup, 'service')
      const running = await startProcess(serviceCleanup, ['serve', '--role', role], serviceEnv(dataDir, env))
      const { url, demoKey } = running.facts
      return { ...running, url, dataDir, api: createApi(url, { 'x-api-key': demoKey }) }
    },
    async runService(env, role) {
      const dataDir = await tempFolder(restCleanup, 'service')
      const { code, signal } = await runCowry(
        serviceCleanup,
        ['serve', '--role', role],
        serviceEnv(dataDir, env),
      )
      return { code, signal }
    },
    awaitFinal: (paymentId, withinMs = 30_000) =>
      eventually(
        () => snapshotOf(paymentId),
        ({ status }) => !['pending', 'processing'].includes(status),
        withinMs,
      ),
    async idOf(reference) {
      const [row] = await db.query(selectByReference, [reference])
      return row?.id
    },
    keyOf: async (paymentId) => (await latestAttempt(paymentId)).key,
    pollsOf: async (paymentId) => (await latestAttempt(paymentId)).polls,
    async endLease(paymentId) {
      await db.query(endLease, [paymentId])
    },
    async proofsOf(paymentId) {
      return (await db.query(selectProofs, [paymentId])).map(({ proof }) => proof)
    },
  }
  return deployment
}

const selectSnapshot = sql<Omit<PaymentSnapshot, 'executions'>>`
select
  p.status,
  p.status_reason as reason,
  (select count(*)::integer from ledger_entries e where e.payment_id = p.id and e.kind = 'capture') as credits,
  (select json_agg(v.type order by v.version) from events v where v.resource_id = p.id) as events,
  (select coalesce(json_agg(a.status order by a.number), '[]') from attempts a where a.payment_id = p.id) as attempts
from payments p
where p.id = $1`

const selectByReference = sql<{ id: string }>`
select id
from payments
where reference = $1`

const selectLatestAttempt = sql<{ key: string; polls: number }>`
select gateway_key as key, polls
from attempts
where payment_id = $1
order by number desc
limit 1`

const endLease = sql<unknown>`
update attempts
set due_at = now()
where payment_id = $1 and due_at is not null`

const selectProofs = sql<{ proof: string | null }>`
select proof
from moves
where payment_id = $1
order by version`

async function startSandbox(t: Cleanup, folder: string): Promise<SandboxProcess> {
  const port = await findFreePort()
  const start = () =>
    startProcess(t, ['sandbox', '--port', String(port), '--data-dir', folder], {
      COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
      // The port is closed, so no webhook arrives: only status checks find outcomes.
      COWRY_PUBLIC_URL: 'http://127.0.0.1:9',
    })
  let running = await start()
  const url: string = running.facts.data.url
  const api = createApi(url, { authorization: `Bearer ${SANDBOX_SECRET}` })
  return {
    url,
    async addFault(fault) {
      const answer = await api.post('/v1/faults', fault)
      assert.equal(answer.http, 201, answer.text)
    },
    async clearFaults() {
      await api.send('DELETE', '/v1/faults')
    },
    async executions(paymentId) {
      const answer = await api.get(`/v1/executions?order=${paymentId}`)
      assert.equal(answer.http, 200, answer.text)
      return answer.body
    },
    async completeAsPayer(key, instrument) {
      const answer = await api.post(`/v1/payments/${key}/simulate`, { instrument })
      assert.equal(answer.http, 200, answer.text)
    },
    async kill() {
      await running.kill('SIGKILL')
      // Wait until every service has seen its connections close: a request on an open one could count as sent.
      await delay(100)
    },
    async restart() {
      running = await start()
    },
  }
}

/** Below the range of ephemeral ports, so that the port is still free after a restart. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}

// P2P payments go to the merchant directly, so no provider has a record of them.
const selectPayments = sql<{ id: string; status: string; reason: string | null }>`
select id, status, status_reason as reason
from payments
where gateway <> 'p2p'`

const PAID = ['successful', 'partially_refunded', 'refunded']

/** I6 and more: every payment that the provider executed is paid here once, and no other payment is paid. */
async function reconcileWithProvider(db: Db, sandboxFolder: string): Promise<void> {
  await assertInvariants({ db })
  const executed = await countExecutions(db, sandboxFolder)
  const payments = await db.query(selectPayments)
  const isRight = ({ id, status, reason }: (typeof payments)[number]) => {
    const times = executed.get(id) ?? 0
    // Payments in manual review may have been executed at the provider.
    if (reason === 'amount_mismatch') return times <= 1
    return times === (PAID.includes(status) ? 1 : 0)
  }
  const wrong = payments.filter((payment) => !isRight(payment))
  assert.deepEqual(
    wrong.map((payment) => ({ ...payment, executions: executed.get(payment.id) ?? 0 })),
    [],
    'the records of the service and of the provider agree',
  )
  const known = new Set(payments.map(({ id }) => id))
  assert.deepEqual(
    [...executed.keys()].filter((id) => !known.has(id)),
    [],
    'the provider executed no payment that is unknown to the service',
  )
}

const selectEmbeddedExecutions = sql<{ order: string }>`
select order_id as order
from sandbox.records
where record ->> 'paid' is not null`

/** How often a provider executed each payment: from its journal, or from the table of a provider inside a service. */
async function countExecutions(db: Db, folder: string): Promise<Map<string, number>> {
  const counts = await readExecutions(join(folder, 'sandbox.jsonl'))
  for (const { order } of await db.query(selectEmbeddedExecutions))
    counts.set(order, (counts.get(order) ?? 0) + 1)
  return counts
}

/** How often the provider with this journal executed each payment. */
export async function readExecutions(journal: string): Promise<Map<string, number>> {
  const lines = (await readFile(journal, 'utf8')).trim().split('\n')
  const latest = new Map<string, { order: string; paid: string | null }>()
  for (const line of lines.filter((text) => text !== '')) {
    const record = JSON.parse(line)
    latest.set(record.key, record)
  }
  const counts = new Map<string, number>()
  for (const { order, paid } of latest.values())
    if (paid !== null) counts.set(order, (counts.get(order) ?? 0) + 1)
  return counts
}
