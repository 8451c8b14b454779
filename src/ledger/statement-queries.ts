// The wallet statement: the fold, which turns balance deltas into numbered lines and balances, and the lists of lines.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql, type Tx } from '../kit/db/db.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { type LineFilter, type LineRow, WALLET_LINE } from './line.ts'

// The fold locks the balance row until it commits, so concurrent folds number their lines one after the other. The upsert
// returns the balance after all lines of the batch; the balance of a line is that minus the later lines. Deltas are deleted
// by an array of ids, which always uses the index: a join may read the whole backlog for each batch.
const FOLD = `
deltas as (
  delete from balance_deltas b
  where b.id = any (array(select id from due))
  returning b.*
),
updated as (
  insert into balances as b (merchant_id, currency, available_minor, pending_minor, lines, updated_at)
  select
    merchant_id,
    currency,
    coalesce(sum(amount_minor) filter (where account = 'available'), 0),
    coalesce(sum(amount_minor) filter (where account = 'pending'), 0),
    count(*),
    max(at)
  from deltas
  group by merchant_id, currency
  order by merchant_id, currency
  on conflict (merchant_id, currency) do update
  set
    available_minor = b.available_minor + excluded.available_minor,
    pending_minor = b.pending_minor + excluded.pending_minor,
    lines = b.lines + excluded.lines,
    previous_at = b.updated_at,
    updated_at = greatest(b.updated_at, excluded.updated_at)
  returning merchant_id, currency, available_minor, pending_minor, lines, previous_at
),
line as (
  insert into wallet_lines (
    merchant_id, currency, number, kind, account, amount_minor, available_minor, pending_minor, payment_id, entry_id,
    position, created_at
  )
  select
    t.merchant_id, t.currency, h.lines - count(*) over following, t.kind, t.account, t.amount_minor,
    h.available_minor - coalesce(sum(t.amount_minor) filter (where t.account = 'available') over following, 0),
    h.pending_minor - coalesce(sum(t.amount_minor) filter (where t.account = 'pending') over following, 0),
    t.payment_id, t.entry_id, t.position, greatest(h.previous_at, max(t.at) over preceding)
  from deltas t
  join updated h on h.merchant_id = t.merchant_id and h.currency = t.currency
  window
    following as (
      partition by t.merchant_id, t.currency order by t.id rows between 1 following and unbounded following
    ),
    preceding as (partition by t.merchant_id, t.currency order by t.id rows unbounded preceding)
  returning 1
)
select count(*)::integer as folded
from deltas`

const foldDeltasStatement = sql<{ folded: number }>`
with due as (
  select id
  from balance_deltas
  order by id
  limit $1
  for update skip locked
),
${FOLD}`

/** Folds the oldest deltas of all merchants, and skips those that another process is folding. */
export async function foldDeltas(db: Db, limit: number): Promise<number> {
  const [row] = await db.query(foldDeltasStatement, [limit])
  return row?.folded ?? 0
}

const foldMerchantDeltasStatement = sql<{ folded: number }>`
with due as (
  select id
  from balance_deltas
  where merchant_id = $1
  order by id
  limit $2
  for update
),
${FOLD}`

/** Folds the deltas of one merchant. It waits for a concurrent fold, so that none is left unfolded. */
export async function foldMerchantDeltas(db: Db, merchantId: string, limit: number): Promise<number> {
  const [row] = await db.query(foldMerchantDeltasStatement, [merchantId, limit])
  return row?.folded ?? 0
}

// One statement per index, so that a page costs the same for every filter and any number of lines. For one statement with
// optional filters the planner may choose a bad index. Bounds are always given, from -infinity to infinity: with coalesce
// they would not be conditions of the index under row-level security (decision 14). A list without a filter merges the pages
// of each currency, of which a merchant has few, so that each line has one index over time.
const INDEX_FILTERS = {
  payment: 'payment_id = $4',
  rare: "kind = $3 and kind not in ('capture', 'settlement')",
  currency: 'currency = $2',
  time: 'currency = b.currency',
} as const

type IndexChoice = keyof typeof INDEX_FILTERS

function chooseIndex({ currency, kind, paymentId }: LineFilter): IndexChoice {
  if (paymentId !== null) return 'payment'
  if (kind !== null && kind !== 'capture' && kind !== 'settlement') return 'rare'
  return currency === null ? 'time' : 'currency'
}

const filterOf = (index: IndexChoice) => `
  merchant_id = $1
  and ${INDEX_FILTERS[index]}
  and ($2::text is null or currency = $2)
  and ($3::text is null or kind = $3)
  and ($4::uuid is null or payment_id = $4)
  and created_at >= $5::timestamptz
  and created_at <= $6::timestamptz`

const COLUMNS = `currency || ':' || number as id, ${WALLET_LINE.select()}`

// Keyset pagination. The condition on the time alone lets the index scan start at the cursor: PostgreSQL starts at a plain
// bound, and would otherwise read from the end of the list.
const NEWEST = {
  position: `(created_at, currency, number) < ($7::timestamptz, $8::text, $9::bigint) and created_at <= $7::timestamptz`,
  order: 'order by created_at desc, currency desc, number desc',
}

const OLDEST = {
  position: `(created_at, currency, number) > ($7::timestamptz, $8::text, $9::bigint) and created_at >= $7::timestamptz`,
  order: 'order by created_at, currency, number',
}

const page = (index: IndexChoice, { position, order }: typeof NEWEST) => `
select ${COLUMNS}
from wallet_lines
where ${filterOf(index)}
  and ${position}
${order}
limit $10
offset $11`

const ofEachCurrency = (lines: string) => `(
  select l.*
  from balances b
  cross join lateral (${lines}) l
  where b.merchant_id = $1
) l`

const pageOfAll = ({ position, order }: typeof NEWEST) => `
select ${COLUMNS}
from ${ofEachCurrency(`
    select *
    from wallet_lines
    where ${filterOf('time')}
      and ${position}
    ${order}
    limit $10::bigint + $11::bigint`)}
${order}
limit $10
offset $11`

const lines = (index: IndexChoice) => `
  select 1 as line
  from wallet_lines
  where ${filterOf(index)}
  limit $7`

const counted = (from: string) => `
select count(*)::integer as total
from ${from}`

const newestOfPayment = sql<LineRow>`${page('payment', NEWEST)}`
const newestOfKind = sql<LineRow>`${page('rare', NEWEST)}`
const newestOfCurrency = sql<LineRow>`${page('currency', NEWEST)}`
const newestOfAll = sql<LineRow>`${pageOfAll(NEWEST)}`
const oldestOfPayment = sql<LineRow>`${page('payment', OLDEST)}`
const oldestOfKind = sql<LineRow>`${page('rare', OLDEST)}`
const oldestOfCurrency = sql<LineRow>`${page('currency', OLDEST)}`
const oldestOfAll = sql<LineRow>`${pageOfAll(OLDEST)}`
const countOfPayment = sql<{ total: number }>`${counted(`(${lines('payment')}) l`)}`
const countOfKind = sql<{ total: number }>`${counted(`(${lines('rare')}) l`)}`
const countOfCurrency = sql<{ total: number }>`${counted(`(${lines('currency')}) l`)}`
const countOfAll = sql<{
  total: number
}>`${counted(`(select line from ${ofEachCurrency(lines('time'))} limit $7) l`)}`

const STATEMENTS = {
  payment: { desc: newestOfPayment, asc: oldestOfPayment, count: countOfPayment },
  rare: { desc: newestOfKind, asc: oldestOfKind, count: countOfKind },
  currency: { desc: newestOfCurrency, asc: oldestOfCurrency, count: countOfCurrency },
  time: { desc: newestOfAll, asc: oldestOfAll, count: countOfAll },
} as const satisfies Record<IndexChoice, unknown>

type Period = Pick<ListWindow, 'createdFrom' | 'createdTo'>

const filterValues = ({ currency, kind, paymentId }: LineFilter, { createdFrom, createdTo }: Period) => [
  currency,
  kind,
  paymentId,
  createdFrom ?? '-infinity',
  createdTo ?? 'infinity',
]

/** Returns one row more than the limit, where there is one, so that the caller sees that there are more. */
export async function selectLines(
  tx: Tx,
  merchantId: string,
  filter: LineFilter,
  window: Omit<ListWindow, 'page'>,
): Promise<LineRow[]> {
  // The place of a line, or before all of them. No line has an infinite time, so the rest is not compared.
  const [currency = '', number = 0] = window.after?.id.split(':') ?? []
  const start = window.order === 'desc' ? 'infinity' : '-infinity'
  return tx.query(STATEMENTS[chooseIndex(filter)][window.order], [
    merchantId,
    ...filterValues(filter, window),
    window.after?.at ?? start,
    currency,
    number,
    window.limit + 1,
    window.offset,
  ])
}

/** Counts up to one more than the cap. */
export async function countLineRows(
  db: Db,
  merchantId: string,
  filter: LineFilter,
  period: Period,
  cap = COUNT_CAP,
): Promise<number> {
  const values = [merchantId, ...filterValues(filter, period), cap + 1]
  const [row] = await db.query(STATEMENTS[chooseIndex(filter)].count, values)
  return row?.total ?? 0
}
