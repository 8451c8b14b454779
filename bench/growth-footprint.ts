// The footprint of one charge: bytes of WAL, and bytes and rows that stay.

import pg from 'pg'
import { chargeBody, saveMethod } from '../test/support/builders.ts'
import type { Cleanup } from '../test/support/database.ts'
import { testService } from '../test/support/service.ts'
import { rounded } from './statistics.ts'

export interface Footprint {
  charges: number
  walBytes: number
  /** Tables with their indexes. */
  storedBytes: number
  /** Per charge, by table. */
  rows: Record<string, number>
}

const CHARGES = 2_000
const AT_ONCE = 16
// Folds and settlements follow at once when settlement is immediate.
const SETTLE_WAIT_MS = 8_000

const SELECT_STATE = `
select
  pg_current_wal_lsn() - '0/0'::pg_lsn as wal,
  (
    select sum(pg_total_relation_size(oid))
    from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace
  ) as stored`

const SELECT_COUNTS = `
select
  relname as "table",
  (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', oid::regclass), false, true, '')))[1]::text::bigint as rows
from pg_class
where relkind = 'r' and relnamespace = current_schema()::regnamespace`

interface State {
  wal: number
  stored: number
  rows: Map<string, number>
}

/** Makes many charges with a saved card of the sandbox, and divides. */
export async function measureFootprint(t: Cleanup, databaseUrl: string): Promise<Footprint> {
  const env = { COWRY_RATE_LIMIT: '0', COWRY_SETTLEMENT_HOURS: '0' }
  const { api } = await testService(t, { databaseUrl, env })
  const token = await saveMethod(api, 'card_success')
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await waitForSettlement()
    const before = await stateOf(client)
    for (let done = 0; done < CHARGES; done += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, () => api.post('/api/v1/charges/recurring', chargeBody(token))),
      )
    }
    await waitForSettlement()
    return difference(before, await stateOf(client))
  } finally {
    await client.end()
  }
}

const waitForSettlement = () => new Promise((resolve) => setTimeout(resolve, SETTLE_WAIT_MS))

async function stateOf(client: pg.Client): Promise<State> {
  // Without dead rows of updates, whose size does not depend on the number of charges.
  await client.query('vacuum')
  const { rows } = await client.query<{ wal: string; stored: string }>(SELECT_STATE)
  const counts = await client.query<{ table: string; rows: string }>(SELECT_COUNTS)
  return {
    wal: Number(rows[0]?.wal),
    stored: Number(rows[0]?.stored),
    rows: new Map(counts.rows.map((row) => [row.table, Number(row.rows)])),
  }
}

function difference(before: State, after: State): Footprint {
  const grown = [...after.rows]
    .map(([table, count]) => [table, rounded((count - (before.rows.get(table) ?? 0)) / CHARGES, 2)] as const)
    .filter(([, count]) => count > 0)
  return {
    charges: CHARGES,
    walBytes: Math.round((after.wal - before.wal) / CHARGES),
    storedBytes: Math.round((after.stored - before.stored) / CHARGES),
    rows: Object.fromEntries(grown),
  }
}
