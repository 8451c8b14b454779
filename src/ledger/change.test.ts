import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { systemClock } from '../kit/clock.ts'
import { systemRandom } from '../kit/random.ts'
import { type BalanceChange, MAX_SUMMED_LINES, readChange } from './change.ts'

const db = await testDatabase({ after })
const random = systemRandom(systemClock)

const moment = (second: number) => new Date(Date.UTC(2026, 2, 14, 9, 0, second)).toISOString()

/**
 * Lines of one merchant, one each second: two in three are captures with a fee of their number, the others refunds and
 * settlements in turn. Their payments do not exist: the checks of references are off.
 */
async function addLines(owner: string, count: number): Promise<void> {
  const kind = "case when n % 3 <> 0 then 'capture' when n % 2 = 0 then 'settlement' else 'refund' end"
  await db.script(`
    begin;
    set local session_replication_role = replica;
    create temporary table made on commit drop as
    select
      n, gen_random_uuid() as entry_id, gen_random_uuid() as payment_id, ${kind} as kind,
      '${moment(0)}'::timestamptz + n * interval '1 second' as at
    from generate_series(1, ${count}) n;
    insert into ledger_entries (merchant_id, id, kind, payment_id, at)
    select '${owner}', entry_id, kind, payment_id, at from made where kind = 'capture';
    insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
    select '${owner}', entry_id, p.position, p.account, 'KES', p.amount
    from made
    cross join lateral (
      values (1, 'gateway:sandbox', -1000 - n), (2, 'pending', 1000), (3, 'fees', n)
    ) as p (position, account, amount)
    where kind = 'capture';
    insert into balance_deltas (merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id)
    select
      '${owner}', 'KES', case when kind = 'capture' then 'pending' else 'available' end,
      case kind when 'capture' then 1000 when 'refund' then -n else 500 + n end, at, entry_id, 2, kind, payment_id
    from made
    order by n;
    commit`)
}

/** What the sums add up to, beside the difference of the balances. */
function requireExact({ before, after: last, sums }: BalanceChange): void {
  const total = (account: string) =>
    (sums ?? assert.fail('there are sums'))
      .filter((sum) => sum.account === account)
      .reduce((all, { amountMinor }) => all + amountMinor, 0n)
  assert.deepEqual(
    [total('available'), total('pending')],
    [last.availableMinor - before.availableMinor, last.pendingMinor - before.pendingMinor],
  )
  const lines = sums?.reduce((all, sum) => all + sum.lines, 0)
  assert.equal(lines, Number(last.number - before.number))
}

describe('the change of a balance', () => {
  it('is exactly the sums of the lines of the period, by kind, with the fees of captures', async () => {
    const owner = random.uuid()
    await addLines(owner, 60)
    for (const [first, last] of [
      [undefined, undefined],
      [1, 60],
      [7, 31],
      [20, undefined],
      [undefined, 41],
      [90, undefined],
      [30, 10],
    ] as const) {
      const createdFrom = first === undefined ? undefined : moment(first)
      const createdTo = last === undefined ? undefined : moment(last)
      const change = await readChange(db, owner, { currency: 'KES', createdFrom, createdTo })
      requireExact(change)
      const numbers = Array.from({ length: 60 }, (_, index) => index + 1).filter(
        (n) => n >= (first ?? 1) && n <= (last ?? 60),
      )
      const captures = numbers.filter((n) => n % 3 !== 0)
      const found = change.sums?.find(({ kind }) => kind === 'capture')
      assert.deepEqual(
        [found?.lines ?? 0, found?.feeMinor ?? 0n],
        [captures.length, BigInt(captures.reduce((sum, n) => sum + n, 0))],
      )
    }
  })

  it('is nothing of another merchant or currency', async () => {
    const owner = random.uuid()
    await addLines(owner, 5)
    for (const change of [
      await readChange(db, random.uuid(), { currency: 'KES' }),
      await readChange(db, owner, { currency: 'USD' }),
    ])
      assert.deepEqual([change.sums, change.after.number], [[], 0n])
  })

  it('has no sums where there are too many lines', async () => {
    const owner = random.uuid()
    const most = Number(MAX_SUMMED_LINES)
    await addLines(owner, most + 1)
    requireExact(await readChange(db, owner, { currency: 'KES', createdFrom: moment(2) }))
    const { sums, after: last } = await readChange(db, owner, { currency: 'KES' })
    assert.deepEqual([sums, last.number], [null, MAX_SUMMED_LINES + 1n])
  })
})
