// Reads of cases, for the slices above.

import { requireFound } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { COUNT_CAP } from '../core/page.ts'
import { askEveryCell, inEveryCell, ONE_CELL } from '../kit/cells/cells.ts'
import { type Db, DbUnavailable, type Tx } from '../kit/db/db.ts'
import { answeredFor, listOverCells } from '../kit/db/lists/operator-list.ts'
import { type ListQuery, type Page, paginate } from '../kit/db/pagination.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { CaseDetails, CaseRow } from './case.ts'
import type { CaseOwner } from './case-kinds.ts'
import {
  type CaseFilter,
  countOpenCaseRows,
  findCaseDetails,
  listCaseRows,
  selectCasesOfAttempt,
} from './queries.ts'

export type CasesApp = Pick<PaymentsApp, 'db' | 'cursors' | 'cells'>

export type CasesQuery = Partial<Omit<CaseFilter, 'paymentId'>> & { payment?: string } & ListQuery

/** The cases that are the merchant's to decide, or without a merchant all cases: for operators. */
export async function listCases(
  app: CasesApp,
  merchant: Merchant | null,
  query: CasesQuery,
): Promise<Page<CaseRow> & { cases: CaseDetails[]; answered: readonly number[] }> {
  const { state = 'open', kind = null, owner = null, payment: paymentId = null } = query
  const filter = { state, kind, owner, paymentId }
  const scope = `cases:${JSON.stringify([merchant?.id ?? null, filter])}`
  const merchantId = merchant?.id ?? null
  // An operator works off the oldest cases first.
  const sorted: ListQuery = merchant ? query : { ...query, sort: 'createdAt:asc' }
  // Operators see the cases of every cell.
  const cells = merchant ? undefined : app.cells
  const page = await paginate(app.cursors, scope, sorted, (window) =>
    listOverCells(cells, window, (part) => listCaseRows(app.db, merchantId, filter, part)),
  )
  const ids = page.rows.map(({ id }) => id)
  const answered = answeredFor(cells ?? ONE_CELL, page.meta)
  const found = await inEveryCell(cells, () => findCaseDetails(app.db, merchantId, ids), answered)
  const details = new Map(found.flat().map((one) => [one.row.id, one] as const))
  return { ...page, cases: ids.flatMap((id) => details.get(id) ?? []), answered }
}

/**
 * Fails alike for an unknown case and for another merchant's. A merchant also reads the cases that the operator decides,
 * because it gets their events.
 */
export async function requireCase(
  app: Pick<CasesApp, 'db'>,
  merchant: Merchant | null,
  id: string,
): Promise<CaseDetails> {
  const [found] = await findCaseDetails(app.db, merchant?.id ?? null, [id])
  return requireFound(found, 'case_not_found')
}

/** The cell that has the case; 0 if none has. A cell that does not answer may have it if no other one has. */
export async function findCaseCell(
  { db, cells }: Pick<CasesApp, 'db' | 'cells'>,
  id: string,
): Promise<number> {
  const { results, unavailable } = await askEveryCell(cells, async (cell) =>
    (await findCaseDetails(db, null, [id])).length > 0 ? [cell] : [],
  )
  const [cell] = results.flat()
  if (cell !== undefined) return cell
  if (unavailable.length > 0)
    throw new DbUnavailable(new Error(`the cells ${unavailable.join(', ')} do not answer`))
  return 0
}

/** The cases about the attempt, open or closed. */
export async function listCasesOfAttempt(tx: Tx, merchantId: string, attemptId: string): Promise<CaseRow[]> {
  return selectCasesOfAttempt(tx, merchantId, attemptId)
}

/** The number of open cases by owner, each up to COUNT_CAP. */
export async function countOpenCases(db: Db): Promise<Record<CaseOwner, number>> {
  const rows = await countOpenCaseRows(db)
  const totalOf = (owner: CaseOwner) =>
    Math.min(rows.find((one) => one.owner === owner)?.total ?? 0, COUNT_CAP)
  return { merchant: totalOf('merchant'), operator: totalOf('operator') }
}
