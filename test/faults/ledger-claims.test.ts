// Settlement and folding with wrong table statistics: a plan made for an empty table still claims no more rows than its
// limit, and every balance is correct.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { sql } from '../../src/kit/db/db.ts'
import { startJobs } from '../../src/kit/jobs.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { ledgerJobs } from '../../src/ledger/jobs.ts'
import { readBalances, settleDueMoney } from '../../src/ledger/service.ts'
import { foldDeltas } from '../../src/ledger/statement-queries.ts'
import { testDatabase } from '../support/database.ts'
import { eventually } from '../support/process.ts'

const PAYMENTS = 1_200
const AMOUNT = 7n

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const app = { db, clock: systemClock, random, mode: 'test' as const, log: createLog('silent') }
const merchantId = random.uuid()
await db.script(`
  insert into merchants (id, name, mode, base_currency, created_at, updated_at)
  values ('${merchantId}', 'Shop', 'test', 'KES', now(), now());
  insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
  values ('${merchantId}', '${merchantId}', 'a@example.com', 'a@example.com', 'A', 'B', 'a', now(), now())`)

const insertCaptured = sql<unknown>`
with paid as (
  insert into payments (
    merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id, customer_email,
    customer_firstname, customer_lastname, created_at
  )
  select $1, gen_random_uuid(), 'checkout', n::text, 'successful', 1, $3, 'KES', 'sandbox', $1, 'a@example.com', 'A', 'B', now()
  from generate_series(1, $2::integer) n
  returning merchant_id, id, currency, amount_minor
),
due as (
  insert into pending_settlements (merchant_id, payment_id, currency, amount_minor, due_at)
  select merchant_id, id, currency, amount_minor, now() - interval '1 minute'
  from paid
)
insert into balance_deltas (
  merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
)
select merchant_id, currency, 'pending', amount_minor, now(), gen_random_uuid(), 1, 'capture', id
from paid`

const countLeft = sql<{ left: number }>`
select ((select count(*) from pending_settlements) + (select count(*) from balance_deltas))::integer as left`

const balances = async () => {
  const [kes] = await readBalances(db, merchantId)
  return [kes?.pending.minor, kes?.available.minor]
}

/** Makes every connection plan for tables that the statistics call empty, and then fills them. */
async function fillBehindTheStatistics(): Promise<void> {
  for (const table of ['pending_settlements', 'balance_deltas']) {
    await db.script(`alter table ${table} set (autovacuum_enabled = false)`)
    await db.script(`vacuum analyze ${table}`)
  }
  // PostgreSQL may keep a generic plan for a prepared statement from the sixth execution on.
  for (let n = 0; n < 8; n += 1) {
    assert.equal(await settleDueMoney(app), 0)
    assert.equal(await foldDeltas(db, 500), 0)
  }
  await db.query(insertCaptured, [merchantId, PAYMENTS, AMOUNT])
}

it('a claim with a plan for an empty table takes as many rows as its limit, and no more', async () => {
  await fillBehindTheStatistics()
  const total = AMOUNT * BigInt(PAYMENTS)
  assert.equal(await foldDeltas(db, 500), 500)
  assert.equal(await settleDueMoney(app), 500)
  assert.deepEqual(await balances(), [total - 500n * AMOUNT, 500n * AMOUNT])

  const jobs = startJobs(app, ledgerJobs(app))
  const left = await eventually(
    async () => (await db.query(countLeft))[0]?.left,
    (rows) => rows === 0,
    20_000,
  )
  await jobs.stop()
  assert.equal(left, 0)
  assert.deepEqual(await balances(), [0n, total])
})
