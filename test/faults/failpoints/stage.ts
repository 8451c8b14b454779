// Where the failpoints are played: one database, the provider as a process with its durable log, and the service several
// times in this process: one that stumbles at requests, one that is well, and in the end a worker that stumbles. Those that
// are killed are processes of their own.

import assert from 'node:assert/strict'
import { sql } from '../../../src/kit/db.ts'
import type { Failpoints } from '../../../src/kit/failpoints.ts'
import { saveMethod } from '../../support/builders.ts'
import { type Consumer, startConsumer } from '../../support/consumer.ts'
import type { Ending } from '../../support/database.ts'
import { type Installation, SANDBOX_SECRET, startInstallation } from '../../support/installation.ts'
import { ACCOUNTS, made, WALLET } from '../../support/p2p.ts'
import { type TestService, testService } from '../../support/service.ts'
import { createTraps, type Traps } from '../../support/traps.ts'

// Shorter than usual, and money is settled as soon as it has come.
export const BRIEF = { COWRY_GATEWAY_TIMEOUT_MS: '5000', COWRY_SETTLEMENT_HOURS: '0' }

export interface Stage {
  installation: Installation
  healthy: TestService
  /** Serves requests, and stumbles where a trap is set. */
  stumbling: TestService
  traps: Traps
  consumer: Consumer
  /** Of a saved card that can be charged. */
  token: string
  /** Background work in this process, that stumbles where a trap is set. */
  startWorker(traps: Traps): Promise<TestService>
}

export async function raiseStage(t: Ending): Promise<Stage> {
  // Those in this process end before the database that the installation takes away.
  const endings: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of endings.toReversed()) await end()
  })
  const own: Ending = { after: (end) => void endings.push(end) }
  const installation = await startInstallation(t)
  const start = (role: 'api' | 'worker', failpoints?: Failpoints) =>
    testService(own, {
      databaseUrl: installation.databaseUrl,
      role,
      failpoints,
      // They are checked once, for everybody, when the installation ends.
      checksInvariants: false,
      env: {
        ...BRIEF,
        COWRY_SANDBOX_URL: installation.sandbox.url,
        COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
        COWRY_RATE_LIMIT: '0',
      },
    })
  const traps = createTraps()
  const [healthy, stumbling] = [await start('api'), await start('api', traps)]
  const consumer = await startConsumer(own)
  const endpoint = await made(healthy.api.post('/api/v1/webhooks/endpoints', { url: consumer.url }))
  consumer.trust(endpoint.secret)
  await made(healthy.api.post(ACCOUNTS, WALLET))
  const token = await saveMethod(healthy.api, 'card_success')
  const startWorker = (workerTraps: Traps) => start('worker', workerTraps)
  return { installation, healthy, stumbling, traps, consumer, token, startWorker }
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

/** As if every lease had just run out. */
export async function endEveryLease({ installation }: Stage): Promise<void> {
  await installation.db.query(endLeases)
}

const countOpen = sql<{ payments: number; refunds: number; deliveries: number; settlements: number }>`
select
  (select count(*)::integer from payments where status = 'processing') as payments,
  (select count(*)::integer from refunds where status = 'pending') as refunds,
  (select count(*)::integer from deliveries where status = 'pending') as deliveries,
  (select count(*)::integer from pending_settlements where due_at <= now()) as settlements`

/** What nobody has brought to its end yet. */
export async function listOpen({ installation }: Stage) {
  const [open] = await installation.db.query(countOpen)
  assert.ok(open)
  return open
}
