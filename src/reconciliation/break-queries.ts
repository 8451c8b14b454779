// The statements for operators: list, assign and close breaks.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql } from '../kit/db/db.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { BREAK, type BreakRow } from './reconciliation.ts'

const COLUMNS = BREAK.select()

export interface BreakFilter {
  /** Null: open and closed. */
  state: BreakRow['state'] | null
  gateway: string | null
  kind: string | null
  reconciliationId: string | null
}

const FILTER = `
  ($1::text is null or state = $1)
  and ($2::text is null or gateway = $2)
  and ($3::text is null or kind = $3)
  and ($4::uuid is null or reconciliation_id = $4)`

// The oldest first, because they have waited longest.
const listStatement = sql<BreakRow>`
select ${COLUMNS}
from reconciliation_breaks
where ${FILTER}
  and ($5::timestamptz is null or (opened_at, id) > ($5, $6::uuid))
order by opened_at, id
limit $7
offset $8`

const countStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from reconciliation_breaks
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

export async function listBreakRows(db: Db, filter: BreakFilter, window: ListWindow) {
  const values = [filter.state, filter.gateway, filter.kind, filter.reconciliationId]
  const position = [window.after?.at ?? null, window.after?.id ?? null]
  const [rows, [count]] = await Promise.all([
    db.query(listStatement, [...values, ...position, window.limit + 1, window.offset]),
    db.query(countStatement, values),
  ])
  return { rows, counted: count?.total ?? 0 }
}

const selectStatement = sql<BreakRow>`
select ${COLUMNS}
from reconciliation_breaks
where id = $1`

export async function findBreak(db: Db, id: string): Promise<BreakRow | undefined> {
  return firstRow(db, selectStatement, [id])
}

const assignStatement = sql<BreakRow>`
update reconciliation_breaks
set owner = $2, note = coalesce($3, note)
where id = $1
returning ${COLUMNS}`

export async function assignBreakRow(
  db: Db,
  id: string,
  owner: string,
  note: string | null,
): Promise<BreakRow | undefined> {
  return firstRow(db, assignStatement, [id, owner, note])
}

const closeStatement = sql<BreakRow>`
update reconciliation_breaks
set state = 'closed', closed_by = 'operator', closed_at = $3, note = $2
where id = $1 and state = 'open'
returning ${COLUMNS}`

export async function closeBreakRow(
  db: Db,
  id: string,
  note: string,
  at: Date,
): Promise<BreakRow | undefined> {
  return firstRow(db, closeStatement, [id, note, at])
}
