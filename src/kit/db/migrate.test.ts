// Which databases a start refuses to migrate, and that it changes nothing there.

import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { testDatabase, testDatabaseUrl } from '../../../test/support/database.ts'
import { runAsAdmin } from '../../../test/support/template.ts'
import { connectTestDb } from '../../../test/support/test-db.ts'
import { sql } from './db.ts'
import { MigrationsReplaced, migrate } from './migrate.ts'

const db = await testDatabase({ after })

const countApplied = sql<{ count: number }>`select count(*)::integer as count from schema_migrations`
const selectSetting = sql<{ value: string }>`select current_setting('enable_seqscan') as value`
const selectVersion = sql<{ version: string }>`select current_setting('server_version_num') as version`
const MERCHANT = '00000000-0000-7000-8000-00000000a001'
const explainByEmail = sql`explain select * from customers where merchant_id = $1 and email_key = 'a@example.com'`
const explainById = sql`explain select * from customers where merchant_id = $1 and id = '${MERCHANT}'`
await db.script('create table applied as select * from schema_migrations')

describe('a start on a database', () => {
  beforeEach(() =>
    db.script('truncate schema_migrations; insert into schema_migrations select * from applied'),
  )

  it('applies no migration to a database that is up to date', async () => {
    assert.deepEqual(await migrate(db), { applied: [] })
  })

  it('lets no connection plan sequential reads, and keeps another setting of the operator', async (t) => {
    const url = await testDatabaseUrl(t)
    const settingOf = async () => {
      const one = connectTestDb({ url, poolSize: 1 })
      try {
        const [before] = await one.query(selectSetting)
        await migrate(one)
        const [then] = await one.query(selectSetting)
        return [before?.value, then?.value]
      } finally {
        await one.close()
      }
    }
    assert.deepEqual(await settingOf(), ['on', 'off'])
    assert.deepEqual(await settingOf(), ['off', 'off'])
    await runAsAdmin(
      url,
      `alter role current_user in database ${new URL(url).pathname.slice(1)} set enable_seqscan = on`,
    )
    assert.deepEqual(await settingOf(), ['on', 'on'])
  })

  it('lets no plan read every row of a merchant while a table has no statistics', async () => {
    await db.script(`
      insert into merchants (id, name, mode, created_at, updated_at) values ('${MERCHANT}', 'Young', 'test', now(), now());
      insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
      select '${MERCHANT}', gen_random_uuid(), n || '@example.com', n || '@example.com', 'A', 'B', '', now(), now()
      from generate_series(1, 40) n`)
    // Before PostgreSQL 18 statistics cannot be written, only collected.
    const [server] = await db.query(selectVersion)
    if (Number(server?.version) < 180_000) await db.script('analyze customers')
    const plans = await Promise.all([db.query(explainByEmail, [MERCHANT]), db.query(explainById, [MERCHANT])])
    assert.match(JSON.stringify(plans[0]), /customers_merchant_id_email_key_key/)
    assert.match(JSON.stringify(plans[1]), /customers_pkey/)
  })

  it('refuses a database of version 0.1.0, whose migrations were replaced', async () => {
    await db.script(`
      truncate schema_migrations;
      insert into schema_migrations (version, name, checksum)
      values (1, '0001_merchants.sql', 'a'), (2, '0002_customers.sql', 'b'), (23, '0023_endpoints.sql', 'c')`)
    await assert.rejects(migrate(db), MigrationsReplaced)
    assert.deepEqual(await db.query(countApplied), [{ count: 3 }])
  })

  it('refuses a database with another migration under the same number', async () => {
    await db.script(`update schema_migrations set name = '0002_other.sql' where version = 2`)
    await assert.rejects(
      migrate(db),
      /0002_other\.sql where this program has 0002_\w+\.sql: .* another version/,
    )
  })

  it('refuses a database of a newer version', async () => {
    await db.script(`
      insert into schema_migrations (version, name, checksum) values (9999, '9999_later.sql', 'a')`)
    await assert.rejects(migrate(db), /9999_later\.sql, .* newer version/)
  })

  it('refuses a database with a migration whose file was changed afterwards', async () => {
    await db.script(`update schema_migrations set checksum = 'a' where version = 1`)
    await assert.rejects(migrate(db), /0001_\w+\.sql was changed after/)
  })
})
