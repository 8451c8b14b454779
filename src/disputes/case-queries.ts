// Every statement over cases. Cases belong to the operator, so the list is over all merchants.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { operatorList, readOperatorList } from '../kit/db/operator-list.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { CASE, type CaseRow } from './case.ts'

const CASE_COLUMNS = CASE.select()
const NEW_CASE = CASE.except('note', 'closedAt')

const insertCaseStatement = sql<{ id: string }>`
insert into cases as c (${CASE.list(NEW_CASE)})
values (${CASE.placeholders(NEW_CASE)})
on conflict (merchant_id, attempt_id, kind, refund_id) do update
set opened_at = excluded.opened_at, closed_at = null, note = null
where c.closed_at is not null and $${String(NEW_CASE.length + 1)}
returning id`

/** Whether the case is new or was reopened. */
export async function insertCase(
  tx: Tx,
  row: Omit<CaseRow, 'note' | 'closedAt'>,
  reopens: boolean,
): Promise<boolean> {
  const rows = await tx.query(insertCaseStatement, [
    ...CASE.values({ ...row, note: null, closedAt: null }, NEW_CASE),
    reopens,
  ])
  return rows.length > 0
}

const selectCasesOfAttempt = sql<CaseRow>`
select ${CASE_COLUMNS}
from cases
where merchant_id = $1 and attempt_id = $2`

export async function listCasesOfAttempt(tx: Tx, merchantId: string, attemptId: string): Promise<CaseRow[]> {
  return tx.query(selectCasesOfAttempt, [merchantId, attemptId])
}

const closeCaseRowStatement = sql<{ id: string }>`
update cases
set closed_at = $3, note = $4
where merchant_id = $1 and id = $2 and closed_at is null
returning id`

/** False when the case is already closed. */
export async function closeCaseRow(
  tx: Tx,
  { merchantId, id }: Pick<CaseRow, 'merchantId' | 'id'>,
  note: string,
  at: Date,
): Promise<boolean> {
  return (await tx.query(closeCaseRowStatement, [merchantId, id, at, note])).length > 0
}

const selectCase = sql<CaseRow>`
select ${CASE_COLUMNS}
from cases
where id = $1`

export async function findCase(db: Tx, id: string): Promise<CaseRow | undefined> {
  return firstRow(db, selectCase, [id])
}

// Oldest first: those cases have waited longest.
const CASES = {
  columns: CASE_COLUMNS,
  table: 'cases',
  time: 'opened_at',
  order: 'asc',
  filterValues: 0,
} as const
const OPEN_CASES = operatorList<CaseRow>({ ...CASES, filter: 'closed_at is null' })
const ALL_CASES = operatorList<CaseRow>({ ...CASES, filter: 'true' })

export const countOpenCasesStatement = OPEN_CASES.count

export function listCaseRows(db: Db, state: 'open' | 'all', window: ListWindow) {
  return readOperatorList(db, state === 'open' ? OPEN_CASES : ALL_CASES, window)
}
