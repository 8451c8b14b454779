// The statements for operators: list, assign and close breaks.

import { type Db, sql } from '../kit/db/db.ts'
import { operatorList, readOperatorList } from '../kit/db/operator-list.ts'
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

// The oldest first, because they have waited longest.
const BREAKS = operatorList<BreakRow>({
  columns: COLUMNS,
  table: 'reconciliation_breaks',
  time: 'opened_at',
  order: 'asc',
  filter: `
  ($1::text is null or state = $1)
  and ($2::text is null or gateway = $2)
  and ($3::text is null or kind = $3)
  and ($4::uuid is null or reconciliation_id = $4)`,
  filterValues: 4,
})

export function listBreakRows(db: Db, filter: BreakFilter, window: ListWindow) {
  const { state, gateway, kind, reconciliationId } = filter
  return readOperatorList(db, BREAKS, window, [state, gateway, kind, reconciliationId])
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
