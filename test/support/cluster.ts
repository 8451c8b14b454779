// With COWRY_TEST_CELLS=<URL of the coordinator of a Citus cluster> the merchants of the tests are in two distributed schemas
// there. To make one takes half a minute, so they are kept: a service takes those that no other has, and empties them.

import pg from 'pg'
import { prepareSchema, urlOfSchema } from '../../src/cells/citus.ts'
import type { Cleanup } from './database.ts'

const given = process.env.COWRY_TEST_CELLS ?? ''

export const CLUSTER_URL = URL.canParse(given) ? given : undefined

/** For a test that needs a cluster. */
export const ON_CLUSTER = {
  skip: CLUSTER_URL ? false : 'COWRY_TEST_CELLS names no Citus cluster (CONTRIBUTING.md)',
}

// Any number that the service does not use. The lock of a schema lasts as long as its session.
const LOCK = 7_061_999
const MOST_SCHEMAS = 100

/** Not those that the migrations fill. */
const TABLES = `
select c.oid::regclass::text as name
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  and c.relname not in ('schema_migrations', 'invariant_checks')`

/** The URL of a schema of the cluster, empty and for this caller alone until the cleanup. */
export async function takeSchema(t: Cleanup, url: string): Promise<string> {
  const lock = new pg.Client({ connectionString: url })
  lock.on('error', () => undefined)
  await lock.connect()
  t.after(() => lock.end())
  const name = `test-${await lockAny(lock)}`
  await prepareSchema(url, name)
  await empty(urlOfSchema(url, name))
  return urlOfSchema(url, name)
}

async function lockAny(lock: pg.Client): Promise<number> {
  for (let number = 1; number <= MOST_SCHEMAS; number += 1) {
    const { rows } = await lock.query('select pg_try_advisory_lock($1, $2) as "isTaken"', [LOCK, number])
    if (rows[0].isTaken) return number
  }
  throw new Error(`all ${MOST_SCHEMAS} schemas of the tests are in use`)
}

async function empty(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(TABLES)
    await client.query('begin')
    await client.query(`set local citus.propagate_set_commands = 'local'`)
    // Without triggers, of which those of tables that are only appended to refuse it. A truncate is a trigger of Citus itself.
    await client.query('set local session_replication_role = replica')
    for (const { name } of rows) await client.query(`delete from ${name}`)
    await client.query('update invariant_checks set started_at = now(), finished_at = null, report = null')
    await client.query('commit')
  } finally {
    await client.end()
  }
}
