import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { readsOf } from '../../test/support/row-reads.ts'
import { systemClock } from '../kit/clock.ts'
import { createSigner } from '../kit/crypto.ts'
import { sql } from '../kit/db/db.ts'
import { systemRandom } from '../kit/random.ts'
import type { LineRow } from './line.ts'
import { readBalances } from './service.ts'
import { foldBalances, type LineQuery, listLines, readLines } from './statement.ts'
import { selectLines } from './statement-queries.ts'

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const app = { db, cursors: createSigner(random.bytes(32)) }

interface Delta {
  currency: string
  account: string
  minor: number
  at: Date
  kind?: string
  paymentId?: string
}

const insertDelta = sql<unknown>`
insert into balance_deltas (
  merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
)
values ($1, $2, $3, $4, $5, gen_random_uuid(), 1, $6, $7)`

const add = (owner: string, { currency, account, minor, at, kind, paymentId }: Delta) =>
  db.query(insertDelta, [owner, currency, account, minor, at, kind ?? 'capture', paymentId ?? random.uuid()])

async function read(owner: string, query: LineQuery = {}): Promise<LineRow[]> {
  const rows: LineRow[] = []
  for await (const some of readLines(app, owner, query)) rows.push(...some)
  return rows
}

/** Asserts that numbers count from 1 and that the balances of each line are the sum of the lines up to it. */
function requireRunningBalances(rows: readonly LineRow[]): void {
  const running = { number: 0n, available: 0n, pending: 0n }
  for (const line of rows) {
    running.number += 1n
    running[line.account] += line.amountMinor
    assert.deepEqual(
      [line.number, line.availableMinor, line.pendingMinor],
      [running.number, running.available, running.pending],
    )
  }
}

const moment = (second: number) => new Date(Date.UTC(2026, 2, 14, 9, 0, second))

describe('the wallet statement', () => {
  it('numbers lines without gaps and has the right balance on every line under concurrent writes and folds', async () => {
    const owner = random.uuid()
    const write = async (seed: number) => {
      for (let n = 0; n < 30; n += 1) {
        const currency = (n + seed) % 3 === 0 ? 'USD' : 'KES'
        const account = n % 2 === 0 ? 'pending' : 'available'
        await add(owner, { currency, account, minor: n * 7 - 50 || 1, at: moment(n) })
      }
    }
    let writing = true
    const fold = async () => {
      while (writing) await foldBalances(app)
    }
    const readers = [listLines, listLines].map((list) => list(app, owner, {}))
    const folders = [fold(), fold(), fold()]
    await Promise.all([write(0), write(1), write(2), write(3), ...readers])
    writing = false
    await Promise.all(folders)

    const { meta } = await listLines(app, owner, {})
    assert.equal(meta.total, 120)
    for (const { currency, available, pending } of await readBalances(db, owner)) {
      const rows = await read(owner, { currency })
      requireRunningBalances(rows)
      assert.deepEqual(
        rows.map(({ createdAt }) => createdAt.getTime()),
        rows.map(({ createdAt }) => createdAt.getTime()).toSorted((a, b) => a - b),
      )
      const last = rows.at(-1)
      assert.deepEqual([last?.availableMinor, last?.pendingMinor], [available.minor, pending.minor])
    }
  })

  it('always ends with the current balance, folded or not', async () => {
    const owner = random.uuid()
    for (let n = 1; n <= 5; n += 1) {
      await add(owner, { currency: 'KES', account: 'available', minor: n, at: moment(n) })
      const { rows } = await listLines(app, owner, { limit: 1 })
      const [balance] = await readBalances(db, owner)
      assert.equal(rows[0]?.availableMinor, balance?.available.minor)
      assert.equal(rows[0]?.number, BigInt(n))
    }
  })

  it('keeps its lines in time order when a delta with an earlier time is folded later', async () => {
    const owner = random.uuid()
    await add(owner, { currency: 'KES', account: 'pending', minor: 5, at: moment(30) })
    await foldBalances(app)
    await add(owner, { currency: 'KES', account: 'pending', minor: 7, at: moment(10) })
    await add(owner, { currency: 'KES', account: 'pending', minor: 9, at: moment(40) })
    const { rows } = await listLines(app, owner, { sort: 'createdAt:asc' })
    assert.deepEqual(
      rows.map(({ amountMinor, createdAt }) => [amountMinor, createdAt]),
      [
        [5n, moment(30)],
        [7n, moment(30)],
        [9n, moment(40)],
      ],
    )
  })

  it('is filtered by currency, kind, payment and time, alone and combined', async () => {
    const owner = random.uuid()
    const paymentId = random.uuid()
    const lines: Delta[] = [
      { currency: 'KES', account: 'pending', minor: 1, at: moment(1), paymentId },
      { currency: 'USD', account: 'pending', minor: 2, at: moment(2) },
      { currency: 'KES', account: 'available', minor: 3, at: moment(3), kind: 'refund', paymentId },
      { currency: 'USD', account: 'available', minor: 4, at: moment(4), kind: 'refund' },
      { currency: 'KES', account: 'available', minor: 5, at: moment(5), kind: 'settlement' },
    ]
    for (const line of lines) await add(owner, line)
    const amounts = async (query: LineQuery) =>
      (await listLines(app, owner, { sort: 'createdAt:asc', ...query })).rows.map(({ amountMinor }) =>
        Number(amountMinor),
      )
    assert.deepEqual(await amounts({}), [1, 2, 3, 4, 5])
    assert.deepEqual(await amounts({ currency: 'USD' }), [2, 4])
    assert.deepEqual(await amounts({ type: 'refund' }), [3, 4])
    assert.deepEqual(await amounts({ type: 'refund', currency: 'KES' }), [3])
    assert.deepEqual(await amounts({ type: 'settlement' }), [5])
    assert.deepEqual(await amounts({ type: 'capture', currency: 'KES' }), [1])
    assert.deepEqual(await amounts({ payment: paymentId }), [1, 3])
    assert.deepEqual(await amounts({ payment: paymentId, type: 'refund' }), [3])
    assert.deepEqual(
      await amounts({ createdFrom: moment(2).toISOString(), createdTo: moment(4).toISOString() }),
      [2, 3, 4],
    )
    assert.deepEqual(await amounts({ currency: 'EUR' }), [])
    assert.deepEqual((await listLines(app, random.uuid(), {})).rows, [])
  })

  it('is paged by cursor in both directions without losing or repeating a line', async () => {
    const owner = random.uuid()
    for (let n = 1; n <= 9; n += 1) {
      const currency = n % 2 ? 'KES' : 'USD'
      await add(owner, { currency, account: 'pending', minor: n, at: moment(Math.ceil(n / 4)) })
    }
    for (const sort of ['createdAt:desc', 'createdAt:asc'] as const) {
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const { rows, meta } = await listLines(app, owner, { sort, limit: 2, cursor })
        seen.push(...rows.map(({ id }) => id))
        cursor = meta.nextCursor ?? undefined
      } while (cursor)
      const all = (await listLines(app, owner, { sort })).rows.map(({ id }) => id)
      assert.deepEqual(seen, all)
      assert.equal(new Set(seen).size, 9)
    }
  })

  it('reads a page by an index for every filter', async () => {
    const owner = random.uuid()
    await db.script(`
      insert into wallet_lines (
        merchant_id, currency, number, kind, account, amount_minor, available_minor, pending_minor, payment_id, entry_id,
        position, created_at
      )
      select
        '${owner}', 'KES', n, case when n % 3 = 0 then 'capture' else 'settlement' end, 'pending', 1, 0, n,
        gen_random_uuid(), gen_random_uuid(), 1, '${moment(0).toISOString()}'::timestamptz + n * interval '1 second'
      from generate_series(1, 20000) n`)
    await db.script('vacuum analyze wallet_lines')
    const nothing = { currency: null, kind: null, paymentId: null }
    const filters = [
      nothing,
      { ...nothing, currency: 'KES' as const },
      { ...nothing, currency: 'USD' as const },
      { ...nothing, kind: 'refund' },
      { ...nothing, paymentId: random.uuid() },
      { ...nothing, currency: 'KES' as const, createdTo: moment(60) },
      { ...nothing, currency: 'KES' as const, createdFrom: moment(60), createdTo: moment(90) },
    ]
    const window = {
      order: 'desc',
      after: null,
      limit: 5,
      offset: 0,
      createdFrom: null,
      createdTo: null,
    } as const
    const rowsRead = await db.transaction(async (tx) => {
      const before = await readsOf(tx, 'wallet_lines')
      // From the sixth execution on, PostgreSQL may use a generic plan for a prepared statement.
      for (let round = 0; round < 10; round += 1) {
        for (const filter of filters) await selectLines(tx, owner, filter, { ...window, ...filter })
      }
      return (await readsOf(tx, 'wallet_lines')) - before
    })
    // Seventy pages of six rows. A single scan without a suitable index would read 20,000.
    assert.ok(rowsRead > 0 && rowsRead < 2_000, `${rowsRead} rows were read`)
  })
})
