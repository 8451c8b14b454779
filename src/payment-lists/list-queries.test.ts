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

/** order-1 to order-15000, then sale-15001 to sale-20000. */
const ORDERS = "case when n <= 15000 then 'order-' else 'sale-' end || n"

/** Payments with these references, newest last, all of one customer. */
const seedReferences = (merchantId: string, payments: number, reference = ORDERS) => `
set local session_replication_role = replica;
create temp table numbered on commit drop as
select
  gen_random_uuid() as id, ${reference} as reference,
  timestamptz '2026-01-01' + n * interval '1 minute' as at
from generate_series(1, ${payments}) n;
insert into payment_references (merchant_id, reference, fingerprint, payment_id, created_at, amount_hundredths)
select '${merchantId}', reference, '\\x00', id, at, 100
from numbered;
insert into payments (
  merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id, customer_email,
  customer_firstname, customer_lastname, created_at
)
select
  '${merchantId}', id, 'checkout', reference, 'pending', 1, 100, 'KES', 'sandbox', '${merchantId}', 'a@b.example', 'A',
  'B', at
from numbered;
insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
values (
  '${merchantId}', '${merchantId}', 'a@b.example', 'a@b.example', 'A', 'B', 'a b a@b.example', '2026-01-01', '2026-01-01'
);`

type Page = Parameters<typeof listPaymentRows>[3]

/** As a request of the merchant does, under row-level security, and how many rows of both tables it read. */
const search = (merchantId: string, text: string, page: Partial<Page> = {}) =>
  db.forMerchant(merchantId).transaction(async (tx) => {
    await tx.script('set local plan_cache_mode = force_generic_plan')
    const reads = async () => (await readsOf(tx, 'payment_references')) + (await readsOf(tx, 'payments'))
    const before = await reads()
    const query = toFilter({ kind: 'checkout' }, { search: text })
    const found = await listPaymentRows(tx as Db, merchantId, query, { ...window, ...page })
    return { ...found, read: (await reads()) - before }
  })

const referencesOf = (rows: readonly { reference: string }[]) => rows.map(({ reference }) => reference)

describe('a search for references', () => {
  it('reads few rows, whatever the text and however many payments have it', async () => {
    await db.transaction((tx) => tx.script(seedReferences(LARGE, 20_000)))
    await db.transaction((tx) => tx.script(seedReferences(SMALL, 20)))
    await db.script('vacuum analyze payment_references')
    await db.script('vacuum analyze payments')
    const texts = ['order', 'sale', 'rder-1', 'order-1', 'éàü', 'order-12345', 'e', '-13', 'b.example']
    for (const merchant of [LARGE, SMALL])
      for (const text of texts) {
        const { read } = await search(merchant, text)
        // All payments of the large merchant would be 20,000 rows.
        assert.ok(read < 7_500, `${read} were read for ${text}`)
      }
  })

  it('finds the newest payments with a text that is rare, and counts them', async () => {
    const one = await search(LARGE, 'order-12345')
    assert.deepEqual([referencesOf(one.rows), one.counted, one.isPartial], [['order-12345'], 1, false])
    const some = await search(LARGE, 'order-149')
    assert.deepEqual([some.rows[0]?.reference, some.counted, some.isPartial], ['order-14999', 111, false])
    const oldest = await search(LARGE, 'order-149', { order: 'asc' })
    assert.equal(oldest.rows[0]?.reference, 'order-149')
  })

  it('finds the payment that has a frequent text as its whole reference', async () => {
    const { rows, isPartial } = await search(LARGE, 'order-1')
    assert.deepEqual([referencesOf(rows), isPartial], [['order-1'], true])
  })

  it('finds the payment that has the text as its whole reference, although many newer ones have it too', async () => {
    const merchant = random.uuid()
    const bills =
      "case when n <= 700 then 'bill-7' || case n when 1 then '' else n::text end else 'sale-' || n end"
    await db.transaction((tx) => tx.script(seedReferences(merchant, 20_000, bills)))
    const { rows, isPartial } = await search(merchant, 'bill-7')
    assert.deepEqual([referencesOf(rows), isPartial], [['bill-7'], true])
    const others = await search(merchant, 'bill-')
    assert.deepEqual([others.rows.length, others.counted, others.isPartial], [21, 500, true])
  })

  it('finds a whole reference with letters that have another form in lower case', async () => {
    const merchant = random.uuid()
    const odd = ['Order/İstanbul-370', 'ΟΔΟΣ-421', 'e\u0301tude-192']
    const names = odd.map((reference, index) => `when ${100 + index} then '${reference}'`).join(' ')
    await db.transaction((tx) =>
      tx.script(seedReferences(merchant, 600, `case n ${names} else 'sale-' || n end`)),
    )
    for (const reference of odd) {
      const { rows, isPartial } = await search(merchant, reference)
      assert.deepEqual([referencesOf(rows), isPartial], [[reference], undefined])
    }
  })

  it('finds all payments of a customer by the e-mail, however many there are', async () => {
    const merchant = random.uuid()
    await db.transaction((tx) => tx.script(seedReferences(merchant, 5_000)))
    const { rows, counted } = await search(merchant, 'a@b.example', { offset: 4_000 })
    assert.deepEqual([rows[0]?.reference, counted], ['order-1000', 5_000])
    const { lookedTo } = await search(LARGE, 'a@b.example', { limit: 5_000 })
    assert.ok(lookedTo, 'the page of a customer with more payments has no cursor')
  })

  it('reads few rows for a rare text with the same end as all references', async () => {
    const merchant = random.uuid()
    await db.transaction((tx) => tx.script(seedReferences(merchant, 20_000, "n || '-kenya'")))
    await db.script('vacuum analyze payment_references')
    for (const text of ['orders-kenya', '12345-kenya']) {
      const { rows, read } = await search(merchant, text)
      assert.equal(rows.length, text.startsWith('1') ? 1 : 0)
      assert.ok(read < 7_500, `${read} were read for ${text}`)
    }
  })

  it('looks at the newest payments for a frequent text, and a cursor leads to all others', async () => {
    const first = await search(LARGE, 'order-', { limit: 1_000 })
    assert.deepEqual([first.rows.length, first.isPartial], [0, true])
    const seen: string[] = []
    for (let after: Page['after'] | undefined = null; after !== undefined; ) {
      const { rows, lookedTo } = await search(LARGE, 'order-', { limit: 1_000, after, withoutTotal: true })
      const shown = rows.slice(0, 1_000)
      seen.push(...referencesOf(shown))
      const last = rows.length > 1_000 ? shown.at(-1) : undefined
      after = last ? { at: last.createdAt, id: last.id } : lookedTo
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 15_000 }, (_, n) => `order-${15_000 - n}`),
    )
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

/** The newest quarter has another amount. */
const SEED_AMOUNTS = `
set local session_replication_role = replica;
update payments
set amount_minor = 200
where merchant_id = '${FILTERED}' and created_at > timestamptz '2026-01-01' + ${PAYMENTS * 0.375} * interval '1 minute';
insert into payment_references (merchant_id, reference, fingerprint, payment_id, created_at, amount_hundredths)
select merchant_id, reference, '\\x00', id, created_at, amount_minor from payments where merchant_id = '${FILTERED}'`

/** The ids of a list, page by page by cursor, and how many payments a page read at most. */
async function readAll(query: Filters, order: 'asc' | 'desc') {
  const ids: string[] = []
  let most = 0
  for (let cursor: { at: Date; id: string } | null | undefined = null; cursor !== undefined; ) {
    const page = { ...window, order, limit: PAGE, withoutTotal: true, after: cursor }
    const { rows, read, lookedTo } = await readPage(query, page)
    most = Math.max(most, read)
    ids.push(...rows.slice(0, PAGE).map(({ id }) => id))
    const last = rows[PAGE - 1]
    cursor = rows.length > PAGE && last ? { at: last.createdAt, id: last.id } : lookedTo
  }
  return { ids, most }
}

/** As a request of the merchant does, under row-level security. */
const readPage = (query: Filters, page: Parameters<typeof listPaymentRows>[3]) =>
  db.forMerchant(FILTERED).transaction(async (tx) => {
    // As with a million payments: to sort these few costs about as much as to read them in order.
    await tx.script('set local plan_cache_mode = force_generic_plan; set local enable_sort = off')
    const before = await readsOf(tx, 'payments')
    const found = await listPaymentRows(tx as Db, FILTERED, toFilter({}, query), page)
    return { ...found, read: (await readsOf(tx, 'payments')) - before }
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

  it('looks at a bounded number of payments for an amount that very many old ones have, and cursors lead to all', async () => {
    await db.script(SEED_AMOUNTS)
    await db.script('vacuum analyze payments, payment_references')
    const query = { maxAmount: '1' }
    const first = await readPage(query, { ...window, limit: PAGE })
    assert.deepEqual([first.rows.length, first.isPartial], [0, true])
    // The newest 2,000 of each kind, and of these the newest 2,000 once more.
    assert.ok(first.read <= 6_000, `${first.read} payments were read`)
    const { ids } = await readAll(query, 'desc')
    const expected = await db.query(selectIds('amount_minor = 100', 'desc'), [FILTERED])
    assert.deepEqual(
      ids,
      expected.map(({ id }) => id),
    )
  })
})
