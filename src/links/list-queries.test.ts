import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { readsOf } from '../../test/support/row-reads.ts'
import { sql } from '../kit/db/db.ts'
import type { LinkStatus } from './link.ts'
import { countLinks, type LinkFilter, listLinkRows } from './list-queries.ts'

const db = await testDatabase({ after })
const MERCHANT = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
const MANY = 3_000

// The three oldest links have a recorded status each. The two newest are stale: one has an uncounted payment, and the other
// has just expired.
await db.script(`
  set session_replication_role = replica;
  insert into payment_links (
    merchant_id, id, slug, title, amount_minor, currency, country, usage, max_payments, search_text, payments_count,
    completed_at, deactivated_at, expires_at, expired_at, due_at, created_at
  )
  select
    '${MERCHANT}', gen_random_uuid(), 'abcdefghijkl' || n,
    case n when 1 then 'paid' when 2 then 'late' when ${MANY} then 'full' when ${MANY - 1} then 'off'
      when ${MANY - 2} then 'over' else 'open' end,
    100, 'KES', 'KE', 'single', 1, 'open', case when n = ${MANY} then 1 else 0 end,
    case when n = ${MANY} then now() end, case when n = ${MANY - 1} then now() end,
    case when n in (2, ${MANY - 2}) then now() - interval '1 second' end, case when n = ${MANY - 2} then now() end,
    case when n = 2 then now() - interval '1 second' end, now() - n * interval '1 minute'
  from generate_series(1, ${MANY}) n;
  insert into payment_link_slots (merchant_id, payment_id, link_id, reserved_at, reference, paid_minor, paid_at)
  select merchant_id, gen_random_uuid(), id, now(), 'order-1', 100, now()
  from payment_links
  where title = 'paid';
  set session_replication_role = origin;
  analyze payment_links;
  analyze payment_link_slots`)

// The planner prefers a sequential scan of a table this small; the test is about large ones.
const disableSeqScan = sql`set local enable_seqscan = off`

const NO_FILTER: LinkFilter = {
  status: null,
  currency: null,
  usage: null,
  pattern: null,
  createdFrom: null,
  createdTo: null,
}

/** The titles of a page, the total, and how many rows were read for both. */
function readPage(status: LinkStatus, order: 'asc' | 'desc', offset = 0) {
  return db.transaction(async (tx) => {
    await tx.query(disableSeqScan)
    const now = new Date()
    const before = await readsOf(tx, 'payment_links')
    const filter = { ...NO_FILTER, status }
    const rows = await listLinkRows(tx, MERCHANT, now, filter, { order, offset, after: null, limit: 5 })
    const counted = await countLinks(tx, MERCHANT, now, filter)
    return {
      titles: rows.map(({ title }) => title),
      counted,
      reads: (await readsOf(tx, 'payment_links')) - before,
    }
  })
}

describe('payment links of one status', () => {
  // From the sixth execution on, PostgreSQL may use a generic plan for a prepared statement.
  for (let times = 1; times <= 7; times += 1)
    it(`are listed by their current status without reading the other links: execution ${times}`, async () => {
      const expected: [LinkStatus, string[]][] = [
        ['completed', ['paid', 'full']],
        ['inactive', ['off']],
        ['expired', ['late', 'over']],
      ]
      for (const [status, titles] of expected) {
        const newest = await readPage(status, 'desc')
        assert.deepEqual([newest.titles, newest.counted], [titles, titles.length])
        assert.ok(newest.reads < 60, `${newest.reads} links were read for ${status}`)
        const oldest = await readPage(status, 'asc')
        assert.deepEqual(oldest.titles, titles.toReversed())
        assert.deepEqual((await readPage(status, 'desc', 1)).titles, titles.slice(1))
      }
      const active = await readPage('active', 'desc')
      assert.deepEqual([active.titles.join(), active.counted], ['open,open,open,open,open', MANY - 5])
    })
})
