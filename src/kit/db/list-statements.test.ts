// How often PostgreSQL plans the pages of a list.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { NO_POOLER, testDatabaseUrl } from '../../../test/support/database.ts'
import { connectDb, sql } from './db.ts'
import { type ListStatements, listStatements, readPage } from './list-statements.ts'

const [ONE, TWO] = ['0197a3c2-0000-7000-8000-000000000001', '0197a3c2-0000-7000-8000-000000000002'] as const
const WINDOW = {
  createdFrom: null,
  createdTo: null,
  after: null,
  order: 'desc',
  limit: 1,
  offset: 0,
  page: 1,
} as const

const selectPlans = sql<{ generic: bigint; custom: bigint }>`
select generic_plans as generic, custom_plans as custom
from pg_prepared_statements
where name = $1`

const selectPlanMode = sql<{ mode: string }>`select current_setting('plan_cache_mode') as mode`

const url = await testDatabaseUrl({ after: (work) => after(() => db.close().then(work)) })
// What is prepared belongs to a connection.
const db = connectDb({ url, poolSize: 1 })
await db.script(`
  insert into merchants (id, name, mode, created_at, updated_at)
  values ('${ONE}', 'One', 'test', now(), now()), ('${TWO}', 'Two', 'test', now(), now());
  insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
  select m.id, gen_random_uuid(), 'a@example.com', 'a@example.com', m.name, 'X', m.name, now(), now()
  from merchants m`)

interface Listed {
  name: string
}

const CUSTOMERS = { columns: 'c.firstname as name', table: 'customers', alias: 'c' }

/** How often a page was planned for any values, and for its own, after each merchant has read it four times. */
async function plansOf(list: ListStatements<Listed>, values: readonly unknown[]) {
  const pageOf = (id: string) =>
    readPage(db.forMerchant(id), list, id, { ...WINDOW, withoutTotal: true }, values)
  for (let times = 0; times < 4; times += 1) {
    assert.deepEqual(await pageOf(ONE), [{ name: 'One' }])
    assert.deepEqual(await pageOf(TWO), [{ name: 'Two' }])
  }
  return db.query(selectPlans, [`m${list.newest.name}`])
}

describe('a page of a list', NO_POOLER, () => {
  it('has one plan for every merchant without a filter', async () => {
    assert.deepEqual(await plansOf(listStatements<Listed>(CUSTOMERS), []), [{ generic: 8n, custom: 0n }])
  })

  it('has one plan for every merchant and all values of a column', async () => {
    const byStatus = listStatements<Listed>({
      ...CUSTOMERS,
      prelude: 'with statuses as (select unnest($4::text[]) as status)',
      perRowOf: 'statuses',
      filter: 'c.status = f.status',
      filterValues: 1,
    })
    assert.deepEqual(await plansOf(byStatus, [['active']]), [{ generic: 8n, custom: 0n }])
  })

  it('is planned for its values with another filter, and leaves the setting of the connection as it was', async () => {
    const byName = listStatements<Listed>({
      ...CUSTOMERS,
      filter: '($4::text is null or c.lastname = $4)',
      filterValues: 1,
    })
    const [plans] = await plansOf(byName, ['X'])
    assert.ok((plans?.custom ?? 0n) > 0n)
    assert.deepEqual(await db.query(selectPlanMode), [{ mode: 'auto' }])
  })
})
