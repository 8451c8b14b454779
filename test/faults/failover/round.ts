// One round: a pair of servers, a service, a provider and sixteen clients. The primary is lost in one mode, the standby
// is promoted, and the acknowledgements are compared with its records.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connectDb, type Db, sql } from '../../../src/kit/db/db.ts'
import { checkInvariants } from '../../../src/kit/db/invariants.ts'
import { createApi } from '../../support/api.ts'
import type { Cleanup } from '../../support/database.ts'
import { readExecutions, SANDBOX_SECRET } from '../../support/deployment.ts'
import { eventually, startProcess, tempFolder } from '../../support/process.ts'
import { type Acknowledgement, type Load, makeClients, startLoad } from './load.ts'
import type { Mode } from './modes.ts'
import { startPair } from './pair.ts'
import type { Base } from './postgres-servers.ts'

export interface RoundReport {
  mode: string
  fault: string
  acknowledged: number
  /** Acknowledged records that are missing or no longer successful. */
  lost: number
  longestGapMs: number
  unanswered: number
  /** Commits for which it is unknown whether the standby has them. */
  cancelled: number | undefined
  /** Violations in words. Empty for the control, which also loses payments in progress. */
  violations: string[]
}

export interface RoundTimes {
  beforeMs: number
  afterMs: number
}

export async function runRound(
  base: Base,
  mode: Mode,
  { beforeMs, afterMs }: RoundTimes,
): Promise<RoundReport> {
  const ends: (() => Promise<void>)[] = []
  const t: Cleanup = { after: (end) => void ends.push(end) }
  try {
    const pair = await startPair(t, base, mode.isSynchronous)
    const { api, journal } = await startDeploymentOn(t, pair.url)
    const load = startLoad(api, await makeClients(api))
    await delay(beforeMs)
    const cancelled = await mode.lose(pair)
    await pair.failOver()
    await untilResumed(load)
    await delay(afterMs)
    await load.stop(30_000)
    const db = connectDb({ url: pair.standby.url, poolSize: 2 })
    t.after(() => db.close())
    const lost = await countLost(db, load.acknowledged)
    const violations = mode.isSynchronous ? [...load.unexpected, ...(await compare(db, journal))] : []
    return {
      mode: mode.name,
      fault: mode.fault,
      acknowledged: load.acknowledged.length,
      lost,
      longestGapMs: Math.round(load.longestGapMs()),
      unanswered: load.unanswered(),
      cancelled,
      violations,
    }
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

/** The provider with its own data, and the service in all roles, as processes. */
async function startDeploymentOn(t: Cleanup, databaseUrl: string) {
  const sandboxFolder = await tempFolder(t, 'sandbox')
  const sandbox = await startProcess(t, ['sandbox', '--port', '0', '--data-dir', sandboxFolder], {
    COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
    COWRY_PUBLIC_URL: 'http://127.0.0.1:9',
  })
  const { facts } = await startProcess(t, ['serve', '--role', 'all'], {
    PORT: '0',
    DATABASE_URL: databaseUrl,
    COWRY_DATA_DIR: await tempFolder(t, 'service'),
    COWRY_SANDBOX_URL: sandbox.facts.data.url,
    COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
    COWRY_RATE_LIMIT: '0',
    COWRY_LOG_LEVEL: 'silent',
  })
  const api = createApi(facts.url, { 'x-api-key': facts.demoKey })
  return { api, journal: join(sandboxFolder, 'sandbox.jsonl') }
}

// Twice the longest timeout for a silent server, and some.
const RESUMED_IN_MS = 40_000
const RESUMED_COUNT = 50

export async function untilResumed({ acknowledged }: Load): Promise<void> {
  const before = acknowledged.length
  await eventually(
    () => acknowledged.length - before,
    (more) => more >= RESUMED_COUNT,
    RESUMED_IN_MS,
  )
}

const selectStatuses = sql<{ id: string; status: string }>`
select id, status
from payments
where id = any ($1::uuid[])`

/** An acknowledged success must stay one; an open payment may have any outcome. */
export async function countLost(db: Db, acknowledged: readonly Acknowledgement[]): Promise<number> {
  const rows = await db.query(selectStatuses, [acknowledged.map(({ uuid }) => uuid)])
  const statuses = new Map(rows.map(({ id, status }) => [id, status]))
  const isKept = ({ uuid, status }: Acknowledgement) =>
    status === 'successful' ? statuses.get(uuid) === 'successful' : statuses.has(uuid)
  return acknowledged.filter((one) => !isKept(one)).length
}

const countProcessing = sql<{ count: number }>`
select count(*)::integer as count
from payments
where status = 'processing'`

const selectPaid = sql<{ id: string }>`
select id
from payments
where status = 'successful' and created_at >= $1`

// The recovery time that is promised after any outage.
const FINAL_IN_MS = 60_000

/** Compares the provider's executions with the new primary, and checks every invariant, once all work is complete. */
export async function compare(db: Db, journal: string, since = new Date(0)): Promise<string[]> {
  await eventually(
    async () => (await db.query(countProcessing))[0]?.count,
    (count) => count === 0,
    FINAL_IN_MS,
  )
  const executed = await readExecutions(journal)
  const paid = new Set((await db.query(selectPaid, [since])).map(({ id }) => id))
  const twice = [...executed].filter(([, times]) => times > 1).map(([id]) => `${id} was executed twice`)
  const unknown = [...executed.keys()]
    .filter((id) => !paid.has(id))
    .map((id) => `${id} was executed, not paid`)
  const unexecuted = [...paid].filter((id) => !executed.has(id)).map((id) => `${id} is paid, not executed`)
  const reports = await checkInvariants(db)
  assert.ok(reports.length > 0, 'the invariants exist as views')
  const violated = reports
    .filter(({ violations }) => violations > 0)
    .map(({ name, violations }) => `${name}: ${violations}`)
  return [...twice, ...unknown, ...unexecuted, ...violated]
}
