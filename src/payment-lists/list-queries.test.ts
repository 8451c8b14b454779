import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { readsOf } from '../../test/support/row-reads.ts'
import { systemClock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { systemRandom } from '../kit/random.ts'
import { toFilter } from './filters.ts'
import { listPaymentRows } from './list-queries.ts'

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const LARGE = random.uuid()
const SMALL = random.uuid()

const window = {
  page: 1,
  order: 'desc',
  after: null,
  limit: 20,
  offset: 0,
  createdFrom: null,
  createdTo: null,
} as const
const filter = toFilter({ kind: 'checkout' }, {})

/** How many references ten searches for the text read. */
async function rowsRead(merchantId: string, search: string): Promise<number> {
  return db.transaction(async (tx) => {
    const before = await readsOf(tx, 'payment_references')
    // From its sixth execution on, PostgreSQL may use a generic plan for a prepared statement. A list only calls query.
    for (let round = 0; round < 10; round += 1)
      await listPaymentRows(tx as Db, merchantId, { ...filter, search }, window)
    return (await readsOf(tx, 'payment_references')) - before
  })
}

describe('a search for references', () => {
  it('reads neither the references of other merchants nor all of its own merchant', async () => {
    await db.script(`
      insert into payment_references (merchant_id, reference, fingerprint, payment_id, created_at)
      select m, 'order-' || n, '\\x00', gen_random_uuid(), now()
      from (values ('${LARGE}'::uuid, 20000), ('${SMALL}', 20)) as merchants (m, count)
      cross join lateral generate_series(1, count) as n`)
    await db.script('vacuum analyze payment_references')
    const searches: [string, string][] = [
      ...['order', 'rder-1', 'order-1', 'éàü', 'order-12345'].map((text): [string, string] => [SMALL, text]),
      [LARGE, 'order-12345'],
    ]
    for (const [merchant, text] of searches) {
      const read = await rowsRead(merchant, text)
      // A single full read of the merchant's references would be 20,000 rows.
      assert.ok(read < 5_000, `${read} were read for ${text}`)
    }
  })
})
