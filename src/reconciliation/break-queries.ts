// The statements that list, assign and close breaks.

import { type Db, sql } from '../kit/db/db.ts'
import { operatorList, readOperatorList } from '../kit/db/lists/operator-list.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { OF_EVERYBODY, OF_ONE_MERCHANT, OF_VIEWER } from './queries.ts'
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
const LIST = {
  columns: COLUMNS,
  table: 'reconciliation_breaks',
  time: 'opened_at',
  order: 'asc',
  filterValues: 5,
} as const
const listFilter = (ofViewer: string) => `
  ${ofViewer}
  and ($2::text is null or state = $2)
  and ($3::text is null or gateway = $3)
  and ($4::text is null or kind = $4)
  and ($5::uuid is null or reconciliation_id = $5)`

const OF_OPERATORS = operatorList<BreakRow>({ ...LIST, filter: listFilter(OF_EVERYBODY) })
const OF_MERCHANT = operatorList<BreakRow>({ ...LIST, filter: listFilter(OF_ONE_MERCHANT) })

export function listBreakRows(db: Db, viewer: string | null, filter: BreakFilter, window: ListWindow) {
  const { state, gateway, kind, reconciliationId } = filter
  return readOperatorList(db, viewer === null ? OF_OPERATORS : OF_MERCHANT, window, [
    viewer,
    state,
    gateway,
    kind,
    reconciliationId,
  ])
}

const selectStatement = sql<BreakRow>`
select ${COLUMNS}
from reconciliation_breaks
where id = $2 and ${OF_VIEWER}`

export async function findBreak(db: Db, viewer: string | null, id: string): Promise<BreakRow | undefined> {
  return firstRow(db, selectStatement, [viewer, id])
}

export type BreakWriter = NonNullable<BreakRow['noteBy']>

const assignStatement = sql<BreakRow>`
update reconciliation_breaks
set
  owner = $3,
  assigned_by = $5,
  note = coalesce($4, note),
  note_by = case when $4 is null then note_by else $5 end
where id = $2 and ${OF_VIEWER}
returning ${COLUMNS}`

export async function assignBreakRow(
  db: Db,
  viewer: string | null,
  id: string,
  { owner, note, by }: Pick<BreakRow, 'note'> & { owner: string; by: BreakWriter },
): Promise<BreakRow | undefined> {
  return firstRow(db, assignStatement, [viewer, id, owner, note, by])
}

const closeStatement = sql<BreakRow>`
update reconciliation_breaks
set state = 'closed', closed_by = $5, closed_at = $4, note = $3, note_by = $5
where id = $2 and ${OF_VIEWER} and state = 'open'
returning ${COLUMNS}`

export async function closeBreakRow(
  db: Db,
  viewer: string | null,
  id: string,
  { note, at, closedBy }: { note: string; at: Date; closedBy: BreakWriter },
): Promise<BreakRow | undefined> {
  return firstRow(db, closeStatement, [viewer, id, note, at, closedBy])
}
