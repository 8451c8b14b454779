// The rules of SQL that every cell must keep, whatever distributes it: over the text of each statement, and over the tables,
// triggers and functions of the migrated schema.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Statement, sql } from '../src/kit/db/db.ts'
import { TABLES_BY_HOME } from '../src/kit/db/homes.ts'
import { statementsOfCells } from './support/cell-statements.ts'
import { testDatabase } from './support/database.ts'
import { brokenRules, SQL_RULES } from './support/sql-rules.ts'

const db = await testDatabase({ after })

const selectMutableFunctions = sql<{ name: string }>`
select distinct proname as name
from pg_proc
where provolatile <> 'i' and prokind = 'f'`

const mutable = new Set((await db.query(selectMutableFunctions)).map(({ name }) => name))
describe('every statement of a cell', () => {
  it('keeps the rules of SQL', () => {
    const statements = statementsOfCells()
    assert.ok(statements.length > 300)
    const broken = statements.flatMap((text) => {
      const rules = brokenRules(text, mutable)
      return rules.length === 0 ? [] : [{ rules, text }]
    })
    assert.deepEqual(broken, [])
  })

  for (const { name, example } of SQL_RULES) {
    it(`is found if it breaks a rule: ${name}`, () => {
      assert.deepEqual(brokenRules(example, mutable), [name])
    })
  }
})

interface CatalogRule {
  name: string
  /** Returns what breaks it. */
  select: Statement<{ name: string }>
  /** Something that breaks it. */
  example: string
  /** What is then found. */
  found: string
}

const OF_CELLS = [...TABLES_BY_HOME.cell, ...TABLES_BY_HOME.any].map((table) => `'${table}'`).join(', ')

const CATALOG_RULES: readonly CatalogRule[] = [
  {
    name: 'a trigger function has a search path of its own',
    select: sql<{ name: string }>`
select p.proname as name
from pg_proc p
where p.pronamespace = current_schema()::regnamespace
  and p.prorettype = 'trigger'::regtype
  and not coalesce(array_to_string(p.proconfig, ' ') like '%search_path=%', false)`,
    example: `create function bad() returns trigger language plpgsql as 'begin return null; end'`,
    found: 'bad',
  },
  {
    name: 'a trigger function reads its transition tables by themselves',
    select: sql<{ name: string }>`
select distinct p.proname as name
from pg_trigger t
join pg_proc p on p.oid = t.tgfoid
cross join unnest(array[t.tgoldtable, t.tgnewtable]) as transition (name)
cross join lateral regexp_split_to_table(p.prosrc, ';|\\mloop\\M') as statement (text)
where statement.text ~ ('\\m(from|join)\\s+' || transition.name || '\\M')
  and statement.text ~ '\\m(insert into|update|delete from|join)\\M'`,
    example: `
create function bad() returns trigger language plpgsql as 'begin insert into moves select * from fresh; return null; end';
create trigger bad after insert on moves referencing new table as fresh for each statement execute function bad()`,
    found: 'bad',
  },
  {
    name: 'a function takes and returns no row of a table',
    select: sql<{ name: string }>`
select distinct p.proname as name
from pg_proc p
cross join unnest(p.proargtypes::oid[] || p.prorettype) as used (type)
join pg_type t on t.oid = used.type and t.typtype = 'c'
where p.pronamespace = current_schema()::regnamespace`,
    example: `create function bad(entry moves) returns integer language sql as 'select 1'`,
    found: 'bad',
  },
  {
    name: 'a function in SQL reads no table',
    select: sql<{ name: string }>`
select distinct p.proname as name
from pg_proc p
join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.refclassid = 'pg_class'::regclass
join pg_class c on c.oid = d.refobjid and c.relnamespace = p.pronamespace
where p.pronamespace = current_schema()::regnamespace and p.prosqlbody is not null`,
    example: `create function bad() returns bigint language sql return (select count(*) from moves)`,
    found: 'bad',
  },
  {
    name: 'a table of a cell is logged',
    select: sql<{ name: string }>`
select c.relname as name
from pg_class c
where c.relnamespace = current_schema()::regnamespace and c.relpersistence <> 'p' and c.relname in (${OF_CELLS})`,
    example: 'alter table test_clocks set unlogged',
    found: 'test_clocks',
  },
  {
    name: 'a table has a primary key',
    select: sql<{ name: string }>`
select c.relname as name
from pg_class c
where c.relnamespace in (current_schema()::regnamespace, 'sandbox'::regnamespace)
  and c.relkind in ('r', 'p')
  and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')`,
    example: 'create table bad (id uuid)',
    found: 'bad',
  },
]

const ROLLED_BACK = new Error('rolled back')

describe('in the schema of a cell', () => {
  for (const { name, select, example, found } of CATALOG_RULES) {
    it(name, async () => {
      assert.deepEqual(await db.query(select), [])
      const breakRule = db.transaction(async (tx) => {
        await tx.script(example)
        assert.deepEqual(await tx.query(select), [{ name: found }])
        throw ROLLED_BACK
      })
      await assert.rejects(breakRule, ROLLED_BACK)
    })
  }
})
