import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { readsOf } from '../../test/support/row-reads.ts'
import { sql } from '../kit/db/db.ts'
import { listRefundRows, type RefundFilter } from './list-queries.ts'

const db = await testDatabase({ after })
const MERCHANT = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
const MANY = 5_000

// Foreign keys are off: the list does not read payments, so none are inserted.
await db.script(`
  set session_replication_role = replica;
  insert into refunds (
    merchant_id, id, payment_id, payment_reference, attempt_id, attempt_key, attempt_reference, gateway, status, version,
    amount_minor, currency, is_full, gateway_key, due_at, created_at, updated_at
  )
  select
    '${MERCHANT}', gen_random_uuid(), gen_random_uuid(), 'order-' || n, gen_random_uuid(), gen_random_uuid()::text, '',
    'sandbox', case when n = ${MANY} then 'pending' else 'successful' end, case when n = ${MANY} then 1 else 2 end, 100,
    case when n = ${MANY - 1} then 'USD' else 'KES' end, true, gen_random_uuid()::text,
    case when n = ${MANY} then now() end, date_trunc('second', now()) - n * interval '1 second', now()
  from generate_series(1, ${MANY}) n;
  update refunds set refund_reference = 'mug', gateway_reference = 're_7' where payment_reference = 'order-7';
  insert into refund_references (merchant_id, reference, refund_id, fingerprint)
  select merchant_id, refund_reference, id, '' from refunds where refund_reference is not null;
  set session_replication_role = origin;
  analyze refunds`)

const NONE: RefundFilter = {
  status: null,
  paymentId: null,
  refundReference: null,
  gatewayReference: null,
  currency: null,
  pattern: null,
  providerReference: null,
}
const WINDOW = { page: 1, limit: 20, offset: 0, after: null, createdFrom: null, createdTo: null }

// PostgreSQL prefers a sequential scan for a table of this size. The test is about large tables, which use the index.
const disableSeqScan = sql`set local enable_seqscan = off`

/** Reads a page with its count, and measures how many rows of the table were read. */
function readPage(filter: Partial<RefundFilter>, order: 'asc' | 'desc') {
  return db.transaction(async (tx) => {
    await tx.query(disableSeqScan)
    const before = await readsOf(tx, 'refunds')
    const { rows, counted } = await listRefundRows(tx, MERCHANT, { ...NONE, ...filter }, { ...WINDOW, order })
    return { shown: rows.length, counted, reads: (await readsOf(tx, 'refunds')) - before }
  })
}

// From the sixth execution on, PostgreSQL may use a generic plan for a prepared statement.
const TIMES = 7

describe('the list of refunds', () => {
  for (const [says, filter] of [
    ['state', { status: 'pending' }],
    ['currency', { currency: 'USD' }],
    ['state and currency', { status: 'successful', currency: 'USD' }],
    ['payment', { paymentId: MERCHANT }],
    ['refund reference', { refundReference: 'mug' }],
    ['reference at the provider', { gatewayReference: 're_7' }],
  ] as const)
    it(`filtered by a rare ${says} reads only the rows that it returns`, async () => {
      for (const order of ['asc', 'desc'] as const)
        for (let time = 0; time < TIMES; time += 1) {
          const { shown, counted, reads } = await readPage(filter, order)
          assert.deepEqual([shown, counted], says === 'payment' ? [0, 0] : [1, 1])
          assert.ok(reads < 50, `${reads} rows were read`)
        }
    })

  it('reads a bounded number of rows for a text that is frequent or too short for the index, and cursors lead to all', async () => {
    const { shown, reads } = await readPage({ pattern: '%zz%', providerReference: 'zz' }, 'desc')
    assert.equal(shown, 0)
    assert.ok(reads < 2_100, `${reads} rows were read`)
    for (const order of ['asc', 'desc'] as const) {
      const found: string[] = []
      for (let after: { at: Date; id: string } | null | undefined = null; after !== undefined; ) {
        const filter = { ...NONE, pattern: '%99%', providerReference: '99' }
        const page = await listRefundRows(db, MERCHANT, filter, { ...WINDOW, order, after })
        const rows = page.rows.slice(0, WINDOW.limit)
        found.push(...rows.map(({ paymentReference }) => paymentReference))
        const last = page.rows.length > WINDOW.limit ? rows.at(-1) : undefined
        after = last ? { at: last.createdAt, id: last.id } : page.lookedTo
      }
      const expected = Array.from({ length: MANY }, (_, index) => `order-${index + 1}`)
      assert.deepEqual(found.toSorted(), expected.filter((name) => name.includes('99')).toSorted(), order)
    }
  })

  it('finds the refund that has a short text as its whole reference at the provider', async () => {
    const filter = { ...NONE, pattern: '%re%', providerReference: 're_7' }
    // Exports read without a total.
    for (const withoutTotal of [false, true]) {
      const window = { ...WINDOW, order: 'desc' as const, withoutTotal }
      const { rows, isPartial } = await listRefundRows(db, MERCHANT, filter, window)
      assert.deepEqual([rows.map(({ paymentReference }) => paymentReference), isPartial], [['order-7'], true])
    }
  })

  it('the list of refunds without a filter returns one page and the count', async () => {
    const { shown, counted } = await readPage({}, 'desc')
    assert.deepEqual([shown, counted], [21, MANY])
  })
})
