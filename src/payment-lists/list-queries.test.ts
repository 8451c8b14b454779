import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { readsOf } from '../../test/support/row-reads.ts'
import { systemClock } from '../kit/clock.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { systemRandom } from '../kit/random.ts'
import { toFilter } from './filters.ts'
import { listPaymentRows } from './list-queries.ts'

type Filters = Parameters<typeof toFilter>[1]

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

const FILTERED = random.uuid()
const PAYMENTS = 20_000
const PAGE = 50

/** Payments of about fifty combinations of kind, status, channel and failure code, two of them at each time. */
const SEED_PAYMENTS = `
set local session_replication_role = replica;
insert into payments (
  merchant_id, id, kind, reference, status, status_reason, version, amount_minor, currency, gateway, channel, failure_code,
  customer_id, customer_email, customer_firstname, customer_lastname, created_at
)
select
  '${FILTERED}', gen_random_uuid(), (array['checkout', 'charge'])[1 + n % 2], 'payment-' || n, s,
  case when n % 200 = 0 then 'needs_review' end, 1, 100, 'KES', 'sandbox', (array['card', 'mobile_money', null])[1 + n / 4 % 3],
  case when s = 'failed' then (array['do_not_honor', 'insufficient_funds', 'card_expired'])[1 + n / 16 % 3] end,
  gen_random_uuid(), 'a@b.example', 'A', 'B', timestamptz '2026-01-01' + n / 2 * interval '1 minute'
from generate_series(1, ${PAYMENTS}) n
cross join lateral (select (array['failed', 'successful', 'refunded', 'processing', 'disputed'])[1 + n / 2 % 5] as s) statuses`

/** The ids of a list, page by page by cursor, and how many payments a page read at most. */
async function readAll(query: Filters, order: 'asc' | 'desc') {
  const ids: string[] = []
  let most = 0
  for (let cursor: { at: Date; id: string } | null | undefined = null; cursor !== undefined; ) {
    const page = { ...window, order, limit: PAGE, withoutTotal: true, after: cursor }
    const { rows, read } = await readPage(query, page)
    most = Math.max(most, read)
    ids.push(...rows.slice(0, PAGE).map(({ id }) => id))
    const last = rows[PAGE - 1]
    cursor = rows.length > PAGE && last ? { at: last.createdAt, id: last.id } : undefined
  }
  return { ids, most }
}

/** As a request of the merchant does, under row-level security. */
const readPage = (query: Filters, page: Parameters<typeof listPaymentRows>[3]) =>
  db.forMerchant(FILTERED).transaction(async (tx) => {
    await tx.script('set local plan_cache_mode = force_generic_plan')
    const before = await readsOf(tx, 'payments')
    const { rows } = await listPaymentRows(tx as Db, FILTERED, toFilter({}, query), page)
    return { rows, read: (await readsOf(tx, 'payments')) - before }
  })

const selectIds = (condition: string, order: 'asc' | 'desc') => sql<{ id: string }>`
select id from payments where merchant_id = $1 and ${condition} order by created_at ${order}, id ${order}`

describe('a filtered list of a merchant', () => {
  it('has every payment once, in order, and reads few others for a page', async () => {
    await db.script(SEED_PAYMENTS)
    await db.script('vacuum analyze payments')
    const lists: [Filters, string][] = [
      [{ statusReason: 'needs_review' }, "status_reason = 'needs_review'"],
      [
        { failureCode: 'card_expired', channel: 'card' },
        "failure_code = 'card_expired' and channel = 'card'",
      ],
      [
        { status: ['refunded', 'failed'], kind: 'charge' },
        "status in ('refunded', 'failed') and kind = 'charge'",
      ],
      [{ failureCode: 'suspected_fraud' }, 'false'],
    ]
    for (const [query, condition] of lists)
      for (const order of ['asc', 'desc'] as const) {
        const { ids, most } = await readAll(query, order)
        const expected = await db.query(selectIds(condition, order), [FILTERED])
        assert.deepEqual(
          ids,
          expected.map(({ id }) => id),
          condition,
        )
        // One for each combination, then those of the page for as many combinations: without the index, all payments.
        assert.ok(most < 1_500, `${most} were read for ${condition}`)
      }
  })
})
