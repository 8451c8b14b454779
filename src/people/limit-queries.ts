// The counts of failed attempts. Rows are locked in the order of their ids, so two attempts cannot deadlock.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'

const LIMIT = columnTable({
  id: column<string>('uuid'),
  kind: column<'pair' | 'device' | 'account' | 'address'>('text'),
  failures: column<number>('integer'),
  level: column<number>('integer'),
  nextAt: column<Date | null>('timestamptz'),
  failedAt: column<Date>('timestamptz'),
})

export type LimitRow = RowOf<typeof LIMIT>
export type LimitKind = LimitRow['kind']

const findStatement = sql<LimitRow>`
select ${LIMIT.select()}
from sign_in_limits
where id = any($1::uuid[])`

export function findLimits(db: Tx, ids: readonly string[]): Promise<LimitRow[]> {
  return db.query(findStatement, [ids])
}

const lockStatement = sql<LimitRow>`
insert into sign_in_limits as l (${LIMIT.list()})
select ${LIMIT.list(undefined, 'n')}
from jsonb_to_recordset($1::jsonb) as n (${LIMIT.recordset()})
order by n.id
on conflict (id) do update set kind = l.kind
returning ${LIMIT.select('l')}`

/** Inserts the missing rows, and locks all of them until the transaction ends. */
export function lockLimits(tx: Tx, fresh: readonly LimitRow[]): Promise<LimitRow[]> {
  return tx.query(lockStatement, [JSON.stringify(fresh.map((row) => LIMIT.toRecord(row)))])
}

const saveStatement = sql<unknown>`
update sign_in_limits l
set failures = n.failures, level = n.level, next_at = n.next_at, failed_at = n.failed_at
from jsonb_to_recordset($1::jsonb) as n (${LIMIT.recordset()})
where l.id = n.id`

export async function saveLimits(tx: Tx, rows: readonly LimitRow[]): Promise<void> {
  await tx.query(saveStatement, [JSON.stringify(rows.map((row) => LIMIT.toRecord(row)))])
}

const clearStatement = sql<unknown>`
update sign_in_limits
set
  failures = case when kind in ('pair', 'device') then 0 else greatest(failures - 1, 0) end,
  level = case when kind in ('pair', 'device') then 0 else level end,
  next_at = case when kind in ('pair', 'device') then null else next_at end
where id = any($1::uuid[])`

/** After a success: the pair or device starts again, and the account and the address get this attempt back. */
export async function clearLimits(db: Tx, ids: readonly string[]): Promise<void> {
  await db.query(clearStatement, [ids])
}

const purgeStatement = sql<{ id: string }>`
delete from sign_in_limits
where id in (
  select id
  from sign_in_limits
  where failed_at < $1
  limit 1000
)
returning id`

export async function purgeLimits(db: Tx, before: Date): Promise<number> {
  return (await db.query(purgeStatement, [before])).length
}
