// The deployment for failpoints: one database, the provider as a process with its durable log, and several services in
// this process: one that fails in requests, a healthy one, and at the end a failing worker. Services that are killed
// are separate processes.

import assert from 'node:assert/strict'
import { sql } from '../../../src/kit/db/db.ts'
import type { Failpoint, Failpoints } from '../../../src/kit/failpoints.ts'
import { saveMethod } from '../../support/builders.ts'
import { type Consumer, startConsumer } from '../../support/consumer.ts'
import type { Cleanup } from '../../support/database.ts'
import { type Deployment, SANDBOX_SECRET, startDeployment } from '../../support/deployment.ts'
import { ACCOUNTS, dataOf, WALLET } from '../../support/p2p.ts'
import { type TestService, testService } from '../../support/service.ts'
import { createTestFailpoints, type TestFailpoints } from '../../support/test-failpoints.ts'
import { type HangingProcess, startHangingProcess } from './hanging.ts'

// Short timeouts, and immediate settlement.
export const SHORT_TIMEOUTS = { COWRY_GATEWAY_TIMEOUT_MS: '5000', COWRY_SETTLEMENT_HOURS: '0' }

export interface Harness {
  deployment: Deployment
  healthy: TestService
  /** Serves requests, and fails at armed failpoints. */
  failing: TestService
  failpoints: TestFailpoints
  consumer: Consumer
  /** The token of a saved card that can be charged. */
  token: string
  /** Starts background jobs in this process that fail at armed failpoints. */
  startWorker(failpoints: TestFailpoints): Promise<TestService>
  /** Starts a process that hangs at the next call of each point, and can be killed there. */
  startHanging(role: 'api' | 'worker', points?: readonly Failpoint[]): Promise<HangingProcess>
}

export async function startHarness(t: Cleanup): Promise<Harness> {
  // Services in this process end before the deployment drops the database.
  const endings: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of endings.toReversed()) await end()
  })
  const own: Cleanup = { after: (end) => void endings.push(end) }
  const deployment = await startDeployment(t)
  const { databaseUrl } = deployment
  const env = {
    ...SHORT_TIMEOUTS,
    COWRY_SANDBOX_URL: deployment.sandbox.url,
    COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
    COWRY_RATE_LIMIT: '0',
  }
  const start = (role: 'api' | 'worker', failpoints?: Failpoints) =>
    // Invariants are checked once, when the deployment ends.
    testService(own, { databaseUrl, role, failpoints, env, checksInvariants: false })
  const failpoints = createTestFailpoints()
  const [healthy, failing] = [await start('api'), await start('api', failpoints)]
  const consumer = await startConsumer(own)
  const endpoint = await dataOf(healthy.api.post('/api/v1/webhooks/endpoints', { url: consumer.url }))
  consumer.setSecret(endpoint.secret)
  await dataOf(healthy.api.post(ACCOUNTS, WALLET))
  const token = await saveMethod(healthy.api, 'card_success')
  const startWorker = (workerFailpoints: TestFailpoints) => start('worker', workerFailpoints)
  const startHanging: Harness['startHanging'] = (role, points = []) =>
    startHangingProcess(own, { databaseUrl, role, env, points })
  return { deployment, healthy, failing, failpoints, consumer, token, startWorker, startHanging }
}

const endLeases = sql<unknown>`
with attempt as (
  update attempts
  set due_at = now()
  where due_at < now() + interval '1 minute'
),
refund as (
  update refunds
  set due_at = now()
  where due_at < now() + interval '1 minute'
)
update deliveries
set due_at = now(), leased_until = now()
where leased_until is not null`

/** Expires every lease. */
export async function expireLeases({ deployment }: Harness): Promise<void> {
  await deployment.db.query(endLeases)
}

const countOpen = sql<{ payments: number; refunds: number; deliveries: number; settlements: number }>`
select
  (select count(*)::integer from payments where status = 'processing') as payments,
  (select count(*)::integer from refunds where status = 'pending') as refunds,
  (select count(*)::integer from deliveries where status = 'pending') as deliveries,
  (select count(*)::integer from pending_settlements where due_at <= now()) as settlements`

/** Work that is not complete yet. */
export async function countOpenWork({ deployment }: Harness) {
  const [open] = await deployment.db.query(countOpen)
  assert.ok(open)
  return open
}
