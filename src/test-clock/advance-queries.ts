// The statements that let time pass for one merchant, by bringing what is scheduled nearer. They write the times of tables
// that other slices own, and nothing else of these tables. Records of the past stay as they are.
//
// The rows are listed first, and then moved in small parts. A part skips rows that a request has locked, and the caller
// comes back for them: so it never waits for a request, and a request waits for a few milliseconds at most.

import { type Db, type Statement, sql } from '../kit/db/db.ts'

const STEP = "$3::bigint * interval '1 millisecond'"

/** A time that is still to come: nearer by the step, and never in the past, so that it is not before the creation. */
const nearer = (column: string) =>
  `case when ${column} > $2::timestamptz then greatest(${column} - ${STEP}, $2) else ${column} end`

/** A time that limits are counted from: older by the step. */
const older = (column: string) => `${column} - ${STEP}`

/** The end of something that stays open after it, while an outcome is unknown: the limits of such a state pass too. */
const nearerThenOlder = (column: string) =>
  `case when ${column} > $2::timestamptz then greatest(${column} - ${STEP}, $2) else ${older(column)} end`

/** A delivery that is being sent keeps its times, because its lease uses the clock of the database. */
export const isUnleased = (alias: string) =>
  `(${alias}.leased_until is null or ${alias}.leased_until <= statement_timestamp())`

interface ScheduledTable {
  /** The columns of the primary key after the merchant. */
  key: readonly [string] | readonly [string, string]
  /** The rows that have a time, over the alias t. Each condition has an index. */
  isScheduled: readonly string[]
  /** The times, and how each of them changes. */
  set: Readonly<Record<string, (column: string) => string>>
}

const TABLES = {
  payments: {
    key: ['id'],
    isScheduled: ['t.due_at is not null'],
    set: { due_at: nearer, expires_at: nearerThenOlder },
  },
  attempts: {
    key: ['id'],
    isScheduled: ['t.due_at is not null', 't.refund_due_at is not null'],
    set: { due_at: nearer, refund_due_at: nearer },
  },
  refunds: {
    key: ['id'],
    isScheduled: ['t.due_at is not null'],
    set: { due_at: nearer, submitted_at: older },
  },
  pending_settlements: {
    key: ['payment_id'],
    isScheduled: ['t.due_at is not null'],
    set: { due_at: nearer },
  },
  payment_methods: {
    key: ['id'],
    isScheduled: ["t.status = 'active' and t.expires_at is not null"],
    set: { expires_at: nearer },
  },
  payment_links: {
    key: ['id'],
    isScheduled: ['t.due_at is not null'],
    set: { due_at: nearer, expires_at: nearer },
  },
  p2p_transfers: {
    key: ['payment_id'],
    isScheduled: ['t.due_at is not null'],
    set: { due_at: nearer, expires_at: nearerThenOlder },
  },
  webhook_endpoints: {
    key: ['id'],
    isScheduled: ['t.failing_since is not null'],
    set: { failing_since: older, last_failed_at: older },
  },
  deliveries: {
    key: ['event_id', 'endpoint_id'],
    isScheduled: [`t.due_at is not null and ${isUnleased('t')}`],
    set: { due_at: nearer, first_attempt_at: older },
  },
} satisfies Readonly<Record<string, ScheduledTable>>

type TableName = keyof typeof TABLES

/** A row by its key; both are the same where the key has one column. */
interface RowKey {
  first: string
  second: string
}

export interface ScheduledRow extends RowKey {
  table: TableName
}

const keyOf = ({ key: [first, second = first] }: ScheduledTable) =>
  `t.${first} as first, t.${second} as second`

const selectScheduled = sql<ScheduledRow>`${Object.entries<ScheduledTable>(TABLES)
  .flatMap(([name, table]) =>
    table.isScheduled.map(
      (isScheduled) => `
select '${name}' as "table", ${keyOf(table)}
from ${name} t
where t.merchant_id = $1 and ${isScheduled}`,
    ),
  )
  .join('\nunion')}`

/** Every row of the merchant that has a time to come, or a time that limits are counted from. */
export async function listScheduled(db: Db, merchantId: string): Promise<ScheduledRow[]> {
  return db.query(selectScheduled, [merchantId])
}

// A row that is not scheduled any more is done. One that does not exist any more is done too.
function buildMoveStatement(name: TableName): Statement<RowKey> {
  const table: ScheduledTable = TABLES[name]
  const [first, second = first] = table.key
  const isRow = (other: string) =>
    `t.merchant_id = $1 and t.${first} = ${other}.first and t.${second} = ${other}.second`
  const times = Object.entries(table.set)
  const isScheduled = table.isScheduled.join(' or ')
  return sql<RowKey>`
with listed as (
  select first, second
  from unnest($4::uuid[], $5::uuid[]) as listed (first, second)
),
free as (
  select t.*
  from listed l
  cross join lateral (
    select
      ${keyOf(table)}, ${isScheduled} as is_scheduled,
      ${times.map(([column, change]) => `${change(`t.${column}`)} as ${column}`).join(', ')}
    from ${name} t
    where ${isRow('l')}
    for update skip locked
  ) t
),
moved as (
  update ${name} t
  set ${times.map(([column]) => `${column} = f.${column}`).join(', ')}
  from free f
  where ${isRow('f')} and f.is_scheduled
)
select l.first, l.second
from listed l
join ${name} t on ${isRow('l')}
where $2::timestamptz is not null
  and not exists (select from free f where f.first = l.first and f.second = l.second)`
}

const MOVES: Readonly<Record<TableName, Statement<RowKey>>> = {
  payments: buildMoveStatement('payments'),
  attempts: buildMoveStatement('attempts'),
  refunds: buildMoveStatement('refunds'),
  pending_settlements: buildMoveStatement('pending_settlements'),
  payment_methods: buildMoveStatement('payment_methods'),
  payment_links: buildMoveStatement('payment_links'),
  p2p_transfers: buildMoveStatement('p2p_transfers'),
  webhook_endpoints: buildMoveStatement('webhook_endpoints'),
  deliveries: buildMoveStatement('deliveries'),
}

/** Moves the times of these rows of one table. Returns the rows that are locked by others, and not moved. */
export async function moveScheduled(
  db: Db,
  merchantId: string,
  { now, ms }: { now: Date; ms: number },
  table: TableName,
  rows: readonly RowKey[],
): Promise<ScheduledRow[]> {
  const keys = [rows.map(({ first }) => first), rows.map(({ second }) => second)]
  const left = await db.query(MOVES[table], [merchantId, now, ms, ...keys])
  return left.map((row) => ({ ...row, table }))
}

const addTimeStatement = sql<unknown>`
update test_clocks
set advanced_ms = advanced_ms + $3, advanced_at = $2
where merchant_id = $1`

/** Records how much time has passed in total. */
export async function addTime(db: Db, merchantId: string, now: Date, ms: number): Promise<void> {
  await db.query(addTimeStatement, [merchantId, now, ms])
}
