// Cells in a cluster of Citus, which COWRY_TEST_CELLS names. The refusals need none.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import { addCell } from '../../src/cells/register.ts'
import { listCellRows } from '../../src/kit/cells/queries.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createVault } from '../../src/kit/crypto.ts'
import { connectDb, type Statement, sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { statementsOfCells } from '../support/cell-statements.ts'
import { CLUSTER_URL, ON_CLUSTER, takeSchema } from '../support/cluster.ts'
import { type Cleanup, testDatabase, testDatabaseUrl } from '../support/database.ts'
import { connectTestDb } from '../support/test-db.ts'

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const vault = createVault([{ id: 'k1', key: random.bytes(32) }], random)
const add = (name: string, url: string) =>
  addCell({ unscopedInstanceDb: db, vault, clock: systemClock, random }, { name, url, isCitus: true })

const UUID = '018f0000-0000-7000-8000-000000000001'
const SAMPLES: Record<string, string> = {
  uuid: UUID,
  boolean: 'true',
  date: '2026-11-01',
  interval: '1 day',
  bytea: '\\x00',
  jsonb: '[{}]',
  ...Object.fromEntries(
    ['integer', 'bigint', 'smallint', 'numeric', 'double precision'].map((type) => [type, '1']),
  ),
  'timestamp with time zone': '2026-11-01T00:00:00Z',
}

const sampleOf = (type: string): string =>
  type.endsWith('[]') ? `{"${sampleOf(type.slice(0, -2)).replaceAll('"', '')}"}` : (SAMPLES[type] ?? 'x')

const selectTypes = `select parameter_types::text[] as types from pg_prepared_statements where name = 'tried'`

// Not supported, or an error inside of the server. Any other error is about the values.
const REFUSALS = /^(?:0A|XX)/

/** Why the cluster refuses the statement. */
async function findRefusal(client: pg.Client, text: string): Promise<string | undefined> {
  try {
    await client.query('begin')
    await client.query(`prepare tried as ${text}`)
    const types: string[] = (await client.query(selectTypes)).rows[0].types
    const values = types.map((type) => pg.escapeLiteral(sampleOf(type))).join(', ')
    await client.query(`execute tried${values && ` (${values})`}`)
    return undefined
  } catch (error) {
    return error instanceof pg.DatabaseError && !REFUSALS.test(error.code ?? '') ? undefined : String(error)
  } finally {
    await client.query('rollback')
    await client.query('deallocate all')
  }
}

describe('a cell in a cluster of Citus', () => {
  it('is refused on a server without Citus', async (t) => {
    const url = await testDatabaseUrl(t)
    await assert.rejects(add('west-1', url), /url leads to a database without Citus/)
    assert.deepEqual(await listCellRows(db), [])
  })

  it('is refused with options in the URL, where the search path belongs', async (t) => {
    const url = `${await testDatabaseUrl(t)}?options=-cwork_mem%3D8MB`
    await assert.rejects(add('west-1', url), /url must have no options/)
  })

  it(
    'is a distributed schema that several share a database with, each with its own register',
    ON_CLUSTER,
    async () => {
      const names = ['added-1', 'added-2']
      const admin = connectTestDb({ url: CLUSTER_URL ?? '', poolSize: 1 })
      after(async () => {
        for (const name of names)
          await admin.script(`drop schema if exists cowry_${name.replace('-', '_')} cascade`)
        await admin.close()
      })
      for (const name of names) await add(name, CLUSTER_URL ?? '')
      const schemas = sql<{ name: string; tables: number }>`
select schema_name::text as name, (select count(*) from citus_tables t where t.colocation_id = s.colocation_id)::integer as tables
from citus_schemas s
where schema_name::text like 'cowry_added%'
order by name`
      const made = await admin.query(schemas)
      assert.deepEqual(
        made.map(({ name }) => name),
        ['cowry_added_1', 'cowry_added_2'],
      )
      assert.ok(made.every(({ tables }) => tables > 60))
      assert.deepEqual(
        (await listCellRows(db)).map(({ name }) => name),
        names,
      )
      await assert.rejects(add('added-1', CLUSTER_URL ?? ''), /name is the name of another cell/)
    },
  )

  it('has each table in one shard on one node, so that no statement goes to more', ON_CLUSTER, async (t) => {
    const { client, schema } = await connectToSchema(t)
    const { rows } = await client.query(
      `select count(*)::integer as shards, count(distinct table_name)::integer as tables,
        count(distinct (nodename, nodeport))::integer as nodes
      from citus_shards where table_name::text not like '%.%' and citus_table_type = 'schema'`,
    )
    assert.equal(rows[0].shards, rows[0].tables, schema)
    assert.ok(rows[0].tables > 60)
    assert.equal(rows[0].nodes, 1)
  })

  it('has no unlogged table, so that Citus can move it', ON_CLUSTER, async (t) => {
    const { client } = await connectToSchema(t)
    const { rows } = await client.query(
      `select relname from pg_class where relnamespace = current_schema()::regnamespace and relpersistence = 'u'`,
    )
    assert.deepEqual(rows, [])
  })

  it('takes every statement of a cell', ON_CLUSTER, async (t) => {
    const { client } = await connectToSchema(t)
    const refused: unknown[] = []
    for (const text of statementsOfCells()) {
      const refusal = await findRefusal(client, text)
      if (refusal !== undefined) refused.push({ text, refusal })
    }
    assert.deepEqual(refused, [])
  })
})

const INSERT_MERCHANT: Statement<unknown> = {
  name: 'insert_merchant_of_this_test',
  text: `insert into merchants (id, name, mode, created_at, updated_at) values ($1, 'A shop', 'test', now(), now())`,
}
const INSERT_CUSTOMER: Statement<unknown> = {
  name: 'insert_customer_of_this_test',
  text: `insert into customers
    (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
  values ($1::uuid, $1::uuid, 'a@example.com', 'a@example.com', $1::uuid::text, 'X', 'x', now(), now())`,
}
const SELECT_CUSTOMERS: Statement<{ firstname: string; at: string }> = {
  name: 'select_customers_of_this_test',
  text: 'select firstname, now()::text as at from customers',
  isShared: true,
}

describe('reads of several merchants in one transaction', () => {
  it('see the rows of their own merchant', ON_CLUSTER, async (t) => {
    const cell = connectDb({ url: await takeSchema(t, CLUSTER_URL ?? ''), poolSize: 1 })
    t.after(() => cell.close())
    const merchants = [randomUUID(), randomUUID()]
    for (const id of merchants) {
      await cell.query(INSERT_MERCHANT, [id])
      await cell.query(INSERT_CUSTOMER, [id])
    }
    const readers = Array.from({ length: 20 }, (_, index) => merchants[index % 2] ?? '')
    const seen = (await Promise.all(readers.map((id) => cell.forMerchant(id).query(SELECT_CUSTOMERS)))).flat()
    assert.deepEqual(
      seen.map(({ firstname }) => firstname),
      readers,
    )
    assert.ok(new Set(seen.map(({ at }) => at)).size <= 2, 'the first read, and the others')
  })
})

async function connectToSchema(t: Cleanup) {
  const url = await takeSchema(t, CLUSTER_URL ?? '')
  const client = new pg.Client(url)
  t.after(() => client.end())
  await client.connect()
  return { client, schema: new URL(url).searchParams.get('options') ?? '' }
}
