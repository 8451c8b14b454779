import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import type { Db } from '../kit/db/db.ts'
import { sql } from '../kit/db/db.ts'
import { mergingSearchIndexes } from './merge-search-indexes.ts'
import { mergeSearchIndexes } from './search-index-queries.ts'

const db = await testDatabase({ after })

const insertReference = sql`
insert into payment_references (merchant_id, reference, payment_id, fingerprint, created_at, amount_hundredths)
select $1::uuid, 'order-' || $1::uuid, $1::uuid, '\\x00', now(), 100`

const insertCustomer = sql`
with merchant as (
  insert into merchants (id, name, mode, base_currency, created_at, updated_at)
  values ($1::uuid, 'Kahawa House', 'test', 'KES', now(), now())
)
insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
values ($1::uuid, $1::uuid, 'a@example.com', 'a@example.com', 'Amina', 'Otieno', 'amina otieno a@example.com', now(), now())`

describe('the search indexes of references and customers', () => {
  for (const [name, insert] of [
    ['references', insertReference],
    ['customers', insertCustomer],
  ] as const)
    it(`have a list of new ${name}, which a merge empties`, async () => {
      await db.query(insert, [crypto.randomUUID()])
      assert.ok((await mergeSearchIndexes(db)) > 0)
      assert.equal(await mergeSearchIndexes(db), 0)
    })

  it('is merged after so many recorded payments', async () => {
    const merged: string[] = []
    // A boundary: only query is called.
    const spy = {
      query: ({ text }: { text: string }) => Promise.resolve(merged.push(text) && []),
    } as unknown as Db
    const record = mergingSearchIndexes(spy, (inputs: readonly number[]) => Promise.resolve([...inputs]), 5)
    assert.deepEqual(await record([1, 2]), [1, 2])
    assert.deepEqual(await record([3, 4]), [3, 4])
    assert.deepEqual(merged.length, 0)
    await record([5, 6])
    assert.deepEqual(merged.length, 1)
    await record([7, 8, 9])
    assert.deepEqual(merged.length, 1, 'counted again from the merge on')
  })

  it('does not fail a record when a merge fails', async () => {
    // A boundary: only query is called.
    const broken = { query: () => Promise.reject(new Error('no connection')) } as unknown as Db
    const record = mergingSearchIndexes(
      broken,
      (inputs: readonly number[]) => Promise.resolve([...inputs]),
      1,
    )
    assert.deepEqual(await record([1]), [1])
  })
})
