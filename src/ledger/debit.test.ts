import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { CURRENCY_CODES, type Currency } from '../core/currency.ts'
import { money } from '../core/money.ts'
import { systemClock } from '../kit/clock.ts'
import { sql } from '../kit/db/db.ts'
import { checkInvariants } from '../kit/db/invariants.ts'
import { systemRandom } from '../kit/random.ts'
import { type DebitedAmounts, debitMerchant } from './debit.ts'
import { readBalances, settleDueMoney } from './service.ts'
import { foldBalances } from './statement.ts'

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const app = { db, clock: systemClock, random, mode: 'test' as const }
const merchantId = random.uuid()

await db.script(`
  insert into merchants (id, name, mode, base_currency, created_at, updated_at)
  values ('${merchantId}', 'Shop', 'test', 'USD', now(), now());
  insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
  values ('${merchantId}', '${merchantId}', 'a@example.com', 'a@example.com', 'A', 'B', 'a', now(), now())`)

// Each test uses its own currency, so that its balance is independent of the other tests.
const currencies: Currency[] = [...CURRENCY_CODES]
const nextCurrency = () => currencies.pop() ?? 'USD'

/** A payment with pending money, due in this many hours; a negative number is due already. */
async function capture(currency: Currency, minor: number, dueInHours: number): Promise<string> {
  const [id, entry] = [random.uuid(), random.uuid()]
  await db.script(`
    insert into payments (
      merchant_id, id, kind, reference, status, version, amount_minor, currency, gateway, customer_id, customer_email,
      customer_firstname, customer_lastname, created_at
    )
    values (
      '${merchantId}', '${id}', 'checkout', '${id}', 'pending', 1, ${minor}, '${currency}', 'sandbox', '${merchantId}',
      'a@example.com', 'A', 'B', now()
    );
    insert into ledger_entries (merchant_id, id, kind, payment_id, at)
    values ('${merchantId}', '${entry}', 'capture', '${id}', now());
    insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
    values ('${merchantId}', '${entry}', 1, 'gateway:sandbox', '${currency}', ${-minor}),
      ('${merchantId}', '${entry}', 2, 'pending', '${currency}', ${minor});
    insert into balance_deltas (
      merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
    )
    values (
      '${merchantId}', '${currency}', 'pending', ${minor}, now(), '${entry}', 2, 'capture', '${id}'
    );
    insert into pending_settlements (merchant_id, payment_id, currency, amount_minor, due_at)
    values ('${merchantId}', '${id}', '${currency}', ${minor}, now() + interval '${dueInHours} hours')`)
  return id
}

const debit = (currency: Currency, paymentId: string, minor: bigint) =>
  db.transaction((tx) =>
    debitMerchant(app, tx, {
      merchantId,
      kind: 'refund',
      paymentId,
      refundId: random.uuid(),
      amount: money(minor, currency),
      to: 'gateway:sandbox',
      at: systemClock.now(),
    }),
  )

async function balance(currency: Currency): Promise<[available: bigint, pending: bigint]> {
  const found = (await readBalances(db, merchantId)).find((one) => one.currency === currency)
  return [found?.available.minor ?? 0n, found?.pending.minor ?? 0n]
}

const selectSettlements = sql<{ paymentId: string; amountMinor: bigint }>`
select payment_id as "paymentId", amount_minor as "amountMinor"
from pending_settlements
where currency = $1`

async function settlements(currency: Currency): Promise<Record<string, bigint>> {
  const rows = await db.query(selectSettlements, [currency])
  return Object.fromEntries(rows.map(({ paymentId, amountMinor }) => [paymentId, amountMinor]))
}

async function requireLedgerInvariants(): Promise<void> {
  const reports = await checkInvariants(db)
  const ledgerReports = reports.filter(({ name }) => /i0[123]/.test(name))
  assert.ok(ledgerReports.length >= 4)
  for (const { name, violations } of ledgerReports) assert.equal(violations, 0, name)
}

describe('a debit of a merchant', () => {
  it('takes available money first, and leaves the pending settlements unchanged', async () => {
    const currency = nextCurrency()
    const settled = await capture(currency, 500, -1)
    const waiting = await capture(currency, 300, 1)
    await settleDueMoney(app)
    assert.deepEqual(await debit(currency, waiting, 450n), { availableMinor: 450n, pendingMinor: 0n })
    assert.deepEqual(await balance(currency), [50n, 300n])
    assert.deepEqual(await settlements(currency), { [waiting]: 300n })
    assert.equal((await settlements(currency))[settled], undefined)
  })

  it('takes pending money next: first of its own payment, then of the latest due', async () => {
    const currency = nextCurrency()
    const [soon, own, late] = [
      await capture(currency, 100, 1),
      await capture(currency, 100, 2),
      await capture(currency, 100, 3),
    ]
    assert.deepEqual(await debit(currency, own, 150n), { availableMinor: 0n, pendingMinor: 150n })
    assert.deepEqual(await settlements(currency), { [soon]: 100n, [late]: 50n })
    assert.deepEqual(await balance(currency), [0n, 150n])
  })

  it('makes the available balance negative when nothing is pending', async () => {
    const currency = nextCurrency()
    const paid = await capture(currency, 97, 1)
    assert.deepEqual(await debit(currency, paid, 100n), { availableMinor: 3n, pendingMinor: 97n })
    assert.deepEqual(await balance(currency), [-3n, 0n])
    assert.deepEqual(await settlements(currency), {})
    const next = await capture(currency, 50, 1)
    assert.deepEqual(await debit(currency, next, 20n), { availableMinor: 0n, pendingMinor: 20n })
    assert.deepEqual(await balance(currency), [-3n, 30n])
  })

  it('collects pending money from hundreds of small payments', async () => {
    const currency = nextCurrency()
    for (let n = 0; n < 120; n += 1) await capture(currency, 1, n)
    const paid = await capture(currency, 10, 1)
    assert.deepEqual(await debit(currency, paid, 125n), { availableMinor: 0n, pendingMinor: 125n })
    assert.deepEqual(await balance(currency), [0n, 5n])
  })

  it('takes each amount once under concurrent debits, settlements and folds', async () => {
    const currency = nextCurrency()
    const take = (id: string, minor: bigint) => () => debit(currency, id, minor)
    const payments = await Promise.all(Array.from({ length: 30 }, (_, n) => capture(currency, 100, n - 15)))
    const wanted = payments.flatMap((id) => [take(id, 60n), take(id, 30n)])
    const taken: DebitedAmounts[] = []
    // Four at a time, so that no debit reaches the lock timeout on a busy machine.
    const taker = async () => {
      for (let next = wanted.pop(); next; next = wanted.pop()) taken.push(await next())
    }
    const other = async () => {
      for (let n = 0; n < 5; n += 1) await (n % 2 ? settleDueMoney(app) : foldBalances(app))
    }
    await Promise.all([taker(), taker(), taker(), taker(), other(), other()])
    assert.ok(taken.some(({ pendingMinor }) => pendingMinor > 0n))
    const [available, pending] = await balance(currency)
    assert.equal(available + pending, 300n)
    assert.ok(available >= 0n && pending >= 0n, `${available} and ${pending}`)
    await requireLedgerInvariants()
  })
})
