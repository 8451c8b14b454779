// What a service without requests asks of its embedded PostgreSQL, and how much processor time both take.

import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { cpuOfTree } from './cpu.ts'
import { embeddedUrl } from './embedded-url.ts'

export interface Idle {
  transactionsPerSecond: number
  /** Of one core. */
  cpuShare: number
}

// Long enough for several runs of all jobs with short intervals.
const WINDOW_MS = 30_000
// Our own first reading of the statistics is counted in the window.
const OWN_TRANSACTIONS = 1

const countTransactions = `
select sum(xact_commit + xact_rollback)::float8 as count
from pg_stat_database
where datname is not null`

/** Of the service with this process and data folder, over half a minute. */
export async function measureIdle(pid: number, dataDir: string): Promise<Idle> {
  const client = new pg.Client({ connectionString: await embeddedUrl(dataDir) })
  await client.connect()
  const take = async () => {
    const { rows } = await client.query<{ count: number }>(countTransactions)
    return { count: rows[0]?.count ?? Number.NaN, cpu: cpuOfTree(pid), at: performance.now() }
  }
  try {
    const before = await take()
    await delay(WINDOW_MS)
    const after = await take()
    const tookMs = after.at - before.at
    return {
      transactionsPerSecond: (after.count - before.count - OWN_TRANSACTIONS) / (tookMs / 1_000),
      cpuShare: (after.cpu - before.cpu) / (tookMs * 1_000),
    }
  } finally {
    await client.end()
  }
}
