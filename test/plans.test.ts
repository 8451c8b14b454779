// Checks the query plan of every statement at a million rows per table: index scans, and no sequential scan of a growing
// table. Also checks the rules for indexes that every table must follow.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import '../src/app.ts'
import '../src/compose/archive.ts'
import '../src/compose/demo.ts'
import { allStatements } from '../src/kit/db/db.ts'
import { testDatabaseUrl } from './support/database.ts'
import { MANY, makeManyRows } from './support/many-rows.ts'
import { scansOf } from './support/query-plans.ts'
import { NOT_KEYED_BY_MERCHANT, SMALL_TABLES, UNIQUE_ACROSS_MERCHANTS } from './support/table-growth.ts'

const statements = allStatements()
const client = await connect()
await makeManyRows(client)

async function connect(): Promise<pg.Client> {
  let connected: pg.Client | undefined
  // Hooks run in the order of their registration: the connection closes before its database is dropped.
  after(() => connected?.end())
  connected = new pg.Client({ connectionString: await testDatabaseUrl({ after }) })
  await connected.connect()
  return connected
}

async function query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]> {
  return (await client.query<Row>(text)).rows
}

const OUR_SCHEMAS = `relnamespace in (current_schema()::regnamespace, 'sandbox'::regnamespace)`

const tables = await query<{ table: string; keys: string[]; rows: number }>(`
select
  t.relname as "table",
  t.reltuples as rows,
  array(
    select a.attname
    from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where i.indrelid = t.oid and i.indisunique and i.indpred is null
  ) as keys
from pg_class t
where t.relkind in ('r', 'p') and not t.relispartition and ${OUR_SCHEMAS}`)

const indexes = await query<{
  name: string
  table: string
  columns: string[]
  isUnique: boolean
  isPartial: boolean
}>(`
select
  x.relname as name,
  t.relname as "table",
  i.indisunique as "isUnique",
  i.indpred is not null as "isPartial",
  array(select attname from pg_attribute where attrelid = i.indexrelid order by attnum) as columns
from pg_index i
join pg_class t on t.oid = i.indrelid and t.relkind in ('r', 'p') and not t.relispartition
join pg_class x on x.oid = i.indexrelid
where t.${OUR_SCHEMAS}`)

// A sequential scan of an empty partition is fine.
const parts = await query<{ name: string; table: string; rows: number }>(`
select c.relname as name, p.relname as "table", c.reltuples as rows
from pg_inherits h
join pg_class c on c.oid = h.inhrelid and c.relkind = 'r'
join pg_class p on p.oid = h.inhparent`)
const growing = new Set([
  ...tables.filter(({ table }) => !(table in SMALL_TABLES)).map(({ table }) => table),
  ...parts.filter(({ rows }) => rows > 0).map(({ name }) => name),
])
const partial = new Set(indexes.filter(({ isPartial }) => isPartial).map(({ name }) => name))

/** The scans that the plans of the owner and of a merchant do not share, in whatever order they join the tables. */
async function differencesOf(statement: { name: string; text: string }): Promise<string[]> {
  const textsOf = async () => (await scansOf(client, statement)).map((scan) => JSON.stringify(scan))
  const owner = await textsOf()
  await client.query(
    `set role cowry_merchant; select set_config('app.merchant_id', gen_random_uuid()::text, false)`,
  )
  const merchant = await textsOf().finally(() => client.query('reset role'))
  return [
    ...owner.filter((scan) => !merchant.includes(scan)).map((scan) => `owner: ${scan}`),
    ...merchant.filter((scan) => !owner.includes(scan)).map((scan) => `merchant: ${scan}`),
  ]
}

describe('query plans at a million rows', () => {
  it('plans every statement for a million rows', () => {
    const sizes = new Map([...tables.map(({ table, rows }) => [table, rows] as const)])
    for (const { table, rows } of parts) sizes.set(table, Math.max(sizes.get(table) ?? 0, rows))
    const few = [...growing].filter((table) => (sizes.get(table) ?? MANY) !== MANY)
    assert.deepEqual(few, [])
  })

  it('scans no growing table sequentially', async () => {
    const found: string[] = []
    for (const statement of statements) {
      for (const { table, index, isWhole } of await scansOf(client, statement)) {
        // A partial index over pending work is small.
        if (!isWhole || !growing.has(table) || (index !== null && partial.has(index))) continue
        found.push(`${table} ${index === null ? '' : `by ${index} `}in\n${statement.text}`)
      }
    }
    assert.deepEqual(found, [])
  })

  it('uses the same indexes with the same conditions under row-level security, for one merchant', async () => {
    const ofMerchant = statements.filter(({ text }) => /\bmerchant_id = \$1\b/.test(text))
    assert.ok(ofMerchant.length > 100)
    const found: string[] = []
    for (const statement of ofMerchant) {
      const differences = await differencesOf(statement)
      if (differences.length > 0) found.push(`${differences.join('\n')}\nin\n${statement.text}`)
    }
    assert.deepEqual(found, [])
  })

  it('detects a condition that row-level security keeps out of the index', async () => {
    const differences = (time: string) =>
      differencesOf({
        name: 's_of_the_test',
        text: `select from payments where merchant_id = $1 and kind = $2 and created_at < ${time} order by created_at limit 1`,
      })
    assert.deepEqual(await differences('$3::timestamptz'), [])
    assert.equal((await differences(`coalesce($3::timestamptz, 'infinity')`)).length, 2)
  })

  it('detects a sequential scan', async () => {
    const scans = (text: string) => scansOf(client, { name: 's_of_the_test', text })
    const whole = async (text: string) => (await scans(text)).some(({ isWhole }) => isWhole)
    assert.ok(await whole('select 1 from payments where merchant_id is not null and description = $1'))
    assert.ok(await whole('select count(*) from moves'))
    assert.ok(await whole('select id from customers where firstname = $1 order by merchant_id, id limit 10'))
    assert.ok(!(await whole('select id from customers order by merchant_id, id limit 10')))
    assert.ok(!(await whole('select 1 from payments where merchant_id = $1 and id = $2')))
  })
})

describe('indexes of every table', () => {
  it('includes merchant_id in a key of every table, or has a reason against it', () => {
    const others = tables.filter(({ keys }) => !keys.includes('merchant_id')).map(({ table }) => table)
    assert.deepEqual(others.sort(), Object.keys(NOT_KEYED_BY_MERCHANT).sort())
  })

  it('has no unique key over all merchants without a reason', () => {
    const everywhere = indexes
      .filter(({ table, isUnique }) => isUnique && !(table in NOT_KEYED_BY_MERCHANT))
      .filter(({ columns }) => !columns.includes('merchant_id'))
    assert.deepEqual(everywhere.map(({ name }) => name).sort(), Object.keys(UNIQUE_ACROSS_MERCHANTS).sort())
  })

  it('makes the planner use the whole key, as if few merchants had all the rows (0013_row_level_security.sql)', async () => {
    const unconfigured = await query<{ table: string }>(`
      select t.relname as "table"
      from pg_class t
      join pg_attribute a on a.attrelid = t.oid and a.attname = 'merchant_id'
      where t.relkind = 'r' and not t.relispartition and t.${OUR_SCHEMAS}
        and not coalesce(a.attoptions @> '{n_distinct=10}', false)`)
    // A merchant has few of these rows, and queries read all of them (0013_row_level_security.sql), or has one.
    const one = ['departed_merchants', 'merchant_cells', 'merchant_moves', 'moving_merchants']
    assert.deepEqual(unconfigured.map(({ table }) => table).sort(), [...one, 'webhook_endpoints'])
  })

  it('lists only existing tables as small', () => {
    const names = tables.map(({ table }) => table)
    assert.deepEqual(
      Object.keys(SMALL_TABLES).filter((table) => !names.includes(table)),
      [],
    )
  })
})
