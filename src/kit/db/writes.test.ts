import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { testDatabase } from '../../../test/support/database.ts'
import { sql } from './db.ts'

const db = await testDatabase({ after })
await db.script('create table notes (id integer primary key)')

const readNotes = sql<{ id: number }>`select id from notes`
const addNote = sql<unknown>`insert into notes (id) values ($1) on conflict do nothing`
const addAndCount = sql<{ count: number }>`
with added as (insert into notes (id) values ($1) returning id)
select count(*)::integer as count from added`

async function writesOf(work: () => Promise<unknown>): Promise<number> {
  const before = db.writeCount()
  await work()
  return db.writeCount() - before
}

it('a connection counts what may have changed rows: statements with rows, and transactions once they have committed', async () => {
  assert.equal(await writesOf(() => db.query(addNote, [1])), 1)
  assert.equal(await writesOf(() => db.query(addNote, [1])), 0, 'nothing was inserted')
  assert.equal(await writesOf(() => db.query(addAndCount, [2])), 1)
  assert.equal(await writesOf(() => db.query(readNotes)), 0)
  const inside = () =>
    db.transaction(async (tx) => {
      assert.equal(await writesOf(() => tx.query(addNote, [3])), 0, 'it has not committed')
    })
  assert.equal(await writesOf(inside), 1)
})
