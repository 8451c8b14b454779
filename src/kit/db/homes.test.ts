import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../../test/support/database.ts'
import { type Db, sql, type Tx } from './db.ts'
import { checkHome } from './home-check.ts'
import { CELL_VIEWS, homeOf, TABLES_BY_HOME } from './homes.ts'

const db = await testDatabase({ after })

const selectTables = sql<{ name: string }>`
select case n.nspname when 'public' then c.relname else n.nspname || '.' || c.relname end as name
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('public', 'sandbox') and c.relkind in ('r', 'p') and not c.relispartition
order by name`

const selectViews = sql<{ name: string }>`
select relname as name
from pg_class
where relnamespace = 'public'::regnamespace and relkind = 'v' and relname !~ '^(invariant|tenant|pg_stat)_'`

describe('the home of a table', () => {
  it('is known for every table of the schema, once', async () => {
    const tables = (await db.query(selectTables)).map(({ name }) => name)
    assert.deepEqual(Object.values(TABLES_BY_HOME).flat().toSorted(), tables.toSorted())
  })

  it('is known for every view that reads data of merchants', async () => {
    const views = (await db.query(selectViews)).map(({ name }) => name)
    assert.deepEqual(CELL_VIEWS.toSorted(), views.toSorted())
  })
})

const selectForeignKeys = sql<{ name: string; source: string; target: string }>`
select conname as name, conrelid::regclass::text as source, confrelid::regclass::text as target
from pg_constraint
where contype = 'f' and conparentid = 0`

const selectFunctions = sql<{ name: string; text: string; ofTable: string | null }>`
select p.proname as name, pg_get_functiondef(p.oid) as text, t.tgrelid::regclass::text as "ofTable"
from pg_proc p
left join pg_trigger t on t.tgfoid = p.oid and not t.tgisinternal
left join pg_depend d on d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e'
where p.pronamespace = 'public'::regnamespace and p.prokind = 'f' and p.provolatile <> 'i' and d.objid is null`

const homes = new Map(
  Object.entries(TABLES_BY_HOME).flatMap(([home, tables]) => tables.map((table) => [table, home] as const)),
)

const crosses = (one: string | undefined, other: string | undefined) =>
  one !== other && one !== 'any' && other !== 'any'

describe('the instance and a cell', () => {
  it('have no foreign keys between each other', async () => {
    const keys = await db.query(selectForeignKeys)
    assert.ok(keys.some(({ source, target }) => source === 'attempts' && target === 'payments'))
    const crossing = keys.filter(({ source, target }) => crosses(homes.get(source), homes.get(target)))
    assert.deepEqual(crossing, [])
  })

  it('have no functions that use both: those of a cell are triggers of its tables', async () => {
    const functions = await db.query(selectFunctions)
    assert.ok(functions.some(({ name, text }) => name === 'sync_link_slot' && homeOf(text) === 'cell'))
    const crossing = functions.filter(({ text, ofTable }) => {
      const home = homeOf(text)
      return home !== 'any' && (ofTable === null || home !== homes.get(ofTable))
    })
    assert.deepEqual(crossing, [])
  })
})

describe('the home of a statement', () => {
  it('is that of its tables; shared tables alone are everywhere', () => {
    assert.equal(homeOf('select p.id from payments p join merchants m on m.id = p.merchant_id'), 'cell')
    assert.equal(homeOf('select k.id from api_keys k join merchants m on m.id = k.merchant_id'), 'instance')
    assert.equal(homeOf('select settings from merchants where id = $1'), 'any')
    assert.equal(homeOf('update merchants set name = $2 where id = $1'), 'instance')
    assert.equal(homeOf('select records.id from sandbox.records'), 'instance')
  })

  it('is not both', () => {
    assert.throws(
      () => homeOf('select from users u join payment_notes n on n.user_id = u.id'),
      /and of a cell/,
    )
  })
})

describe('a handle of one home', () => {
  const countPayments = sql<{ count: number }>`select count(*)::integer as count from payments`
  const countUsers = sql<{ count: number }>`select count(*)::integer as count from users`
  const run = async (tx: Tx, statement: typeof countUsers) => (await tx.query(statement))[0]?.count
  const inTransaction = (handle: Db, statement: typeof countUsers) =>
    handle.transaction((tx) => run(tx, statement))

  it('runs its own statements and refuses those of the other, also in a transaction', async () => {
    const [cell, instance] = [checkHome(db, 'cell'), checkHome(db, 'instance')]
    for (const work of [run, inTransaction]) {
      assert.equal(await work(cell, countPayments), 0)
      assert.equal(await work(instance, countUsers), 0)
      await assert.rejects(
        work(cell, countUsers),
        /a handle of the cell was given a statement of the instance/,
      )
      await assert.rejects(work(instance, countPayments), /a statement of the cell/)
    }
  })
})
