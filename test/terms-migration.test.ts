// The migration that stores the terms of a payment with its reference, on a database of before with merchants that are
// moved.

import assert from 'node:assert/strict'
import { copyFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { addDepartedGuard } from '../src/cells/moves/departed-queries.ts'
import { addGuard } from '../src/cells/moves/guard-queries.ts'
import { sql } from '../src/kit/db/db.ts'
import { MIGRATIONS_DIR, migrate } from '../src/kit/db/migrate.ts'
import { testDatabase } from './support/database.ts'
import { tempFolder } from './support/process.ts'

const MIGRATION = '0083_terms_with_references.sql'
const db = await testDatabase({ after })

const merchant = (number: number) => `00000000-0000-7000-8000-00000000000${number}`
const MOVED = { outgoing: merchant(1), closing: merchant(2), gone: merchant(3), incoming: merchant(4) }
const STAYING = merchant(5)

const insertPayments = sql`
with terms as (
  insert into payment_terms (merchant_id, payment_id, amount_hundredths, metadata_terms)
  select m, m, 100, array[7, 8] from unnest($1::uuid[]) m
  union all
  select $2::uuid, $2, 300, '{}'
)
insert into payment_references (merchant_id, reference, payment_id, fingerprint, created_at)
select m, 'order-1', m, ''::bytea, now() from unnest($1) m
union all
select $2, 'order-2', $2, '', now()
union all
-- Its terms were not copied yet.
select $3::uuid, 'order-3', gen_random_uuid(), '', now()`

const insertState = sql`insert into moving_merchants (merchant_id, state, fence) values ($1, $2, 1)`

const selectTerms = sql<{ merchant: string; reference: string; amount: bigint; terms: string[] | null }>`
select merchant_id as merchant, reference, amount_hundredths as amount, metadata_terms as terms
from payment_references
order by merchant_id, reference`

const selectRecorded = sql<{ merchant: string; table: string; key: unknown }>`
select merchant_id as merchant, table_name as "table", key
from move_changes
order by merchant_id`

const selectGuards = sql<{ state: string; guards: number }>`
select tgenabled as state, count(*)::integer as guards
from pg_trigger
where tgrelid = 'payment_references'::regclass and not tgisinternal
group by tgenabled`

async function migrateToBefore(): Promise<void> {
  const folder = await tempFolder({ after }, 'migrations')
  for (const name of await readdir(MIGRATIONS_DIR))
    if (name < MIGRATION) await copyFile(new URL(name, MIGRATIONS_DIR), join(folder, name))
  await db.script('drop schema public cascade; drop schema sandbox cascade; create schema public')
  await migrate(db, pathToFileURL(`${folder}/`))
}

describe('the migration of terms', () => {
  it('copies them, whatever the state of a move, and records the rows that a move must copy again', async () => {
    await migrateToBefore()
    await db.query(insertPayments, [Object.values(MOVED), STAYING, MOVED.incoming])
    for (const [state, id] of Object.entries(MOVED)) {
      await db.query(insertState, [id, state])
      const key = ['merchant_id', 'reference'].map((name) => ({ name, type: 'text' }))
      const table = { name: 'payment_references', columns: [], key, late: undefined }
      await db.transaction((tx) => addGuard(tx, table, id))
    }
    await db.transaction((tx) => addDepartedGuard(tx, 'payment_references'))
    assert.ok((await migrate(db)).applied.includes(MIGRATION))
    const row = (id: string, reference: string, amount: bigint, terms: string[] | null) => ({
      merchant: id,
      reference,
      amount,
      terms,
    })
    assert.deepEqual(await db.query(selectTerms, []), [
      ...Object.values(MOVED).map((id) => row(id, 'order-1', 100n, ['7', '8'])),
      row(MOVED.incoming, 'order-3', 0n, null),
      row(STAYING, 'order-2', 300n, null),
    ])
    assert.deepEqual(
      await db.query(selectRecorded, []),
      [MOVED.outgoing, MOVED.closing].map((id) => ({
        merchant: id,
        table: 'payment_references',
        key: { merchant_id: id, reference: 'order-1' },
      })),
    )
    assert.deepEqual(await db.query(selectGuards, []), [{ state: 'O', guards: 9 }])
  })
})
