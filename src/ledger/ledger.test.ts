import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { testDatabase } from '../../test/support/database.ts'
import { CURRENCY_CODES } from '../core/currency.ts'
import { money, shareOf } from '../core/money.ts'
import { systemClock } from '../kit/clock.ts'
import { sql } from '../kit/db/db.ts'
import { systemRandom } from '../kit/random.ts'
import {
  capturePostings,
  directPostings,
  duplicatePostings,
  type Posting,
  readBalances,
  settleDueMoney,
} from './service.ts'
import { foldBalances } from './statement.ts'

const anyPaid = fc
  .tuple(fc.bigInt({ min: 1n, max: 99_999_999_999_999n }), fc.constantFrom(...CURRENCY_CODES))
  .map(([minor, currency]) => money(minor, currency))
const sum = (postings: Posting[]) =>
  postings.reduce((total, { amount_minor }) => total + BigInt(amount_minor), 0n)

describe('the postings of an entry', () => {
  it('sum to zero for every payment and fee', () => {
    fc.assert(
      fc.property(anyPaid, fc.bigInt({ min: 0n, max: 1_000_000n }), (paid, partsPerMillion) => {
        const fee = shareOf(paid, partsPerMillion)
        assert.equal(sum(capturePostings('sandbox', paid, fee)), 0n)
        assert.equal(sum(duplicatePostings('sandbox', paid)), 0n)
      }),
    )
  })

  it('credit the net amount to the merchant and the fee to the fee account, without zero lines', () => {
    assert.deepEqual(capturePostings('sandbox', money(1_000n, 'KES'), money(25n, 'KES')), [
      { account: 'gateway:sandbox', amount_minor: '-1000' },
      { account: 'pending', amount_minor: '975' },
      { account: 'fees', amount_minor: '25' },
    ])
    assert.equal(capturePostings('sandbox', money(1_000n, 'KES'), money(0n, 'KES')).length, 2)
    assert.equal(capturePostings('sandbox', money(1_000n, 'KES'), money(1_000n, 'KES')).length, 2)
  })

  it('the postings of an entry of a payment that the merchant received directly do not touch its wallet', () => {
    assert.deepEqual(directPostings('p2p', money(1_000n, 'SSP')), [
      { account: 'gateway:p2p', amount_minor: '-1000' },
      { account: 'direct', amount_minor: '1000' },
    ])
  })

  it('the postings of an entry of a duplicate payment do not credit the merchant', () => {
    assert.deepEqual(
      duplicatePostings('sandbox', money(1_000n, 'KES')).map(({ account }) => account),
      ['gateway:sandbox', 'duplicates'],
    )
  })
})

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const app = { db, clock: systemClock, random, mode: 'test' as const }
const merchantId = random.uuid()
const [paymentId, entryId] = [random.uuid(), random.uuid()]

const insertDelta = sql<unknown>`
insert into balance_deltas (
  merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
)
values ($1, $2, $3, $4, $5, gen_random_uuid(), 1, 'capture', gen_random_uuid())`

const countRows = sql<{ settlements: number; captures: number }>`
select
  (select count(*)::integer from pending_settlements) as settlements,
  (select count(*)::integer from ledger_entries where kind = 'settlement') as captures`

const unbalanced = sql<unknown>`select from invariant_i01_entries_balance where entry_id = $1`

await db.script(`
  insert into merchants (id, name, mode, base_currency, created_at, updated_at)
  values ('${merchantId}', 'Shop', 'test', 'USD', now(), now());
  insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
  values ('${merchantId}', '${merchantId}', 'a@example.com', 'a@example.com', 'A', 'B', 'a', now(), now());
  insert into payments (
    merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id, customer_email,
    customer_firstname, customer_lastname, created_at
  )
  values (
    '${merchantId}', '${paymentId}', 'checkout', 'r', 'pending', 1, 100, 'USD', 'sandbox', '${merchantId}',
    'a@example.com', 'A', 'B', now()
  );
  insert into ledger_entries (merchant_id, id, kind, payment_id, at)
  values ('${merchantId}', '${entryId}', 'capture', '${paymentId}', now())`)

const post = (...lines: [account: string, currency: string, minor: number][]) =>
  db.script(
    `insert into postings (merchant_id, entry_id, position, account, currency, amount_minor) values ${lines
      .map(
        ([account, currency, minor], n) =>
          `('${merchantId}', '${entryId}', ${n}, '${account}', '${currency}', ${minor})`,
      )
      .join(', ')}`,
  )

describe('the ledger in the database', () => {
  it('rejects an entry that does not sum to zero in each currency, and a zero posting', async () => {
    await assert.rejects(post(['gateway:sandbox', 'USD', -100], ['pending', 'USD', 99]), /sum to zero/)
    await assert.rejects(post(['gateway:sandbox', 'USD', -100], ['pending', 'KES', 100]), /sum to zero/)
    await assert.rejects(post(['gateway:sandbox', 'USD', 0], ['pending', 'USD', 0]), { code: '23514' })
    await post(['gateway:sandbox', 'USD', -100], ['pending', 'USD', 100])
  })

  it('rejects a posting without an entry of its merchant, and the invariants find one', async () => {
    const orphan = (merchant: string, entry: string) =>
      db.script(
        `insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
         values ('${merchant}', '${entry}', 1, 'pending', 'USD', 1), ('${merchant}', '${entry}', 2, 'fees', 'USD', -1)`,
      )
    await assert.rejects(orphan(merchantId, random.uuid()), { code: '23503' })
    await assert.rejects(orphan(random.uuid(), entryId), { code: '23503' })
    await db.transaction(async (tx) => {
      const entry = random.uuid()
      await tx.script(`set local session_replication_role = replica;
        insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
        values ('${merchantId}', '${entry}', 1, 'pending', 'USD', 1), ('${merchantId}', '${entry}', 2, 'fees', 'USD', -1)`)
      assert.equal((await tx.query(unbalanced, [entry])).length, 2)
      await tx.script(`delete from postings where entry_id = '${entry}'`)
    })
  })

  it('rejects a second capture and a second settlement of one payment', async () => {
    const enter = (kind: string) =>
      db.script(
        `insert into ledger_entries (merchant_id, id, kind, payment_id, at)
         values ('${merchantId}', '${random.uuid()}', '${kind}', '${paymentId}', now())`,
      )
    await assert.rejects(enter('capture'), { code: '23505' })
    await enter('settlement')
    await assert.rejects(enter('settlement'), { code: '23505' })
  })

  it('rejects updates, deletes and truncation of its append-only tables', async () => {
    for (const table of ['ledger_entries', 'postings', 'events', 'wallet_lines']) {
      for (const statement of [`update ${table} set merchant_id = merchant_id`, `delete from ${table}`]) {
        await assert.rejects(db.script(statement), new RegExp(`${table} is append-only`), statement)
      }
      await assert.rejects(db.script(`truncate ${table} cascade`), /is append-only/, table)
    }
  })

  it('returns the same balance before, during and after concurrent folds', async () => {
    const owner = random.uuid()
    for (let n = 1; n <= 40; n += 1) {
      await db.query(insertDelta, [
        owner,
        n % 2 ? 'KES' : 'USD',
        n % 4 < 2 ? 'pending' : 'available',
        n,
        systemClock.now(),
      ])
    }
    const shown = async () =>
      (await readBalances(db, owner)).map(
        ({ currency, available, pending }) => `${currency} ${available.minor} ${pending.minor}`,
      )
    const before = await shown()
    assert.equal(before.length, 2)
    const work = Promise.all(Array.from({ length: 6 }, () => foldBalances(app)))
    assert.deepEqual(await shown(), before)
    const folded = await work
    assert.equal(
      folded.reduce((a, b) => a + b, 0),
      40,
      'each delta is folded once',
    )
    assert.deepEqual(await shown(), before)
  })

  it('settles each payment once under concurrent settlements', async () => {
    const [settled, waiting] = [random.uuid(), random.uuid()]
    for (const [id, due] of [
      [settled, 'now()'],
      [waiting, "now() + interval '1 hour'"],
    ]) {
      await db.script(`
        insert into payments (
          merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id,
          customer_email, customer_firstname, customer_lastname, created_at
        )
        values (
          '${merchantId}', '${id}', 'checkout', '${id}', 'pending', 1, 100, 'KES', 'sandbox', '${merchantId}',
          'a@example.com', 'A', 'B', now()
        );
        insert into pending_settlements (merchant_id, payment_id, currency, amount_minor, due_at)
        values ('${merchantId}', '${id}', 'KES', 100, ${due})`)
    }
    const [{ captures: before } = { captures: 0 }] = await db.query(countRows)
    const counts = await Promise.all(Array.from({ length: 6 }, () => settleDueMoney(app)))
    assert.equal(
      counts.reduce((a, b) => a + b, 0),
      1,
    )
    assert.deepEqual(await db.query(countRows), [{ settlements: 1, captures: before + 1 }])
    const balance = (await readBalances(db, merchantId)).find(({ currency }) => currency === 'KES')
    assert.equal(balance?.available.minor, 100n)
    assert.equal(balance?.pending.minor, -100n)
  })
})
