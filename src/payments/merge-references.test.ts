import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import type { Db } from '../kit/db/db.ts'
import { sql } from '../kit/db/db.ts'
import { mergingReferences } from './merge-references.ts'
import { mergeReferences } from './reference-queries.ts'

const db = await testDatabase({ after })

const insertReference = sql`
insert into payment_references (merchant_id, reference, payment_id, fingerprint, created_at)
select $1::uuid, 'order-' || $1::uuid, $1::uuid, '\\x00', now()`

describe('the search index of references', () => {
  it('has a list of new references, which a merge empties', async () => {
    await db.query(insertReference, [crypto.randomUUID()])
    assert.ok((await mergeReferences(db)) > 0)
    assert.equal(await mergeReferences(db), 0)
  })

  it('is merged after so many recorded payments', async () => {
    const merged: string[] = []
    // A boundary: only query is called.
    const spy = {
      query: ({ text }: { text: string }) => Promise.resolve(merged.push(text) && []),
    } as unknown as Db
    const record = mergingReferences(spy, (inputs: readonly number[]) => Promise.resolve([...inputs]), 5)
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
    const record = mergingReferences(broken, (inputs: readonly number[]) => Promise.resolve([...inputs]), 1)
    assert.deepEqual(await record([1]), [1])
  })
})
