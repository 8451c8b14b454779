// Every statement over requests for refunds.

import { sql, type Tx } from '../kit/db/db.ts'
import { listRows, listStatements } from '../kit/db/list-statements.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { REQUEST, REQUEST_STATUSES, type RequestRow, type RequestStatus } from './request.ts'

const COLUMNS = REQUEST.select('r')

const insertStatement = sql<{ id: string }>`
insert into refund_requests (${REQUEST.list()})
values (${REQUEST.placeholders()})
on conflict (merchant_id, payment_id) where status = 'awaiting_approval' do nothing
returning id`

/** False if another request for the payment is open. */
export async function insertRequest(tx: Tx, request: RequestRow): Promise<boolean> {
  return (await tx.query(insertStatement, REQUEST.values(request))).length > 0
}

const selectStatement = sql<RequestRow>`
select ${COLUMNS}
from refund_requests r
where r.merchant_id = $1 and r.id = $2`

export function findRequest(db: Tx, merchantId: string, id: string): Promise<RequestRow | undefined> {
  return firstRow(db, selectStatement, [merchantId, id])
}

const decideStatement = sql<RequestRow>`
update refund_requests r
set status = $3, decided_by = $4, decided_at = $5, decision_note = $6, refund_id = $7
where r.merchant_id = $1 and r.id = $2 and r.status = 'awaiting_approval'
returning ${COLUMNS}`

export type Decision = Pick<RequestRow, 'status' | 'decidedBy' | 'decidedAt' | 'decisionNote' | 'refundId'>

/** Undefined if the request was decided before. */
export function decideRequest(
  tx: Tx,
  { merchantId, id }: Pick<RequestRow, 'merchantId' | 'id'>,
  { status, decidedBy, decidedAt, decisionNote, refundId }: Decision,
): Promise<RequestRow | undefined> {
  const values = [merchantId, id, status, decidedBy, decidedAt, decisionNote, refundId]
  return firstRow(tx, decideStatement, values)
}

const SOURCE = { columns: COLUMNS, table: 'refund_requests', alias: 'r' }
const ALL = listStatements<RequestRow>(SOURCE)
const OF_STATUS = listStatements<RequestRow>({ ...SOURCE, filter: 'r.status = $4', filterValues: 1 })
const OF_PAYMENT = listStatements<RequestRow>({ ...SOURCE, filter: 'r.payment_id = $4', filterValues: 1 })

// A person asks for few, of which the status removes some.
const OF_PERSON = listStatements<RequestRow>({
  ...SOURCE,
  filter: 'r.requested_by = $4 and r.status = any ($5::text[])',
  filterValues: 2,
  findsByFilter: true,
})

export interface RequestFilter {
  status?: RequestStatus
  payment?: string
  requestedBy?: string
}

/** Of one payment; otherwise of one person, of one status, of both, or all. */
export function listRequestRows(
  db: Tx,
  merchantId: string,
  { status, payment, requestedBy }: RequestFilter,
  window: ListWindow,
): Promise<CountedRows<RequestRow>> {
  const statuses = status === undefined ? REQUEST_STATUSES : [status]
  if (requestedBy !== undefined && payment === undefined)
    return listRows(db, OF_PERSON, merchantId, window, [requestedBy, statuses])
  if (payment !== undefined) return listRows(db, OF_PAYMENT, merchantId, window, [payment])
  if (status !== undefined) return listRows(db, OF_STATUS, merchantId, window, [status])
  return listRows(db, ALL, merchantId, window)
}
