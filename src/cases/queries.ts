// Every statement over cases. The reads join the payment, the attempt and the refund of the case, which belong to other
// slices, because a list shows them together. Operators see the cases of all merchants.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { listRows, listStatements } from '../kit/db/list-statements.ts'
import { operatorList, readOperatorList } from '../kit/db/lists/operator-list.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { CASE, type CaseDetails, type CaseFacts, type CaseRow, type Proposal } from './case.ts'
import type { CaseEnding, CaseKind, CaseOwner } from './case-kinds.ts'

const COLUMNS = CASE.select('c')

/** The columns of an unresolved case. */
export const UNRESOLVED = {
  decidedReferences: [] as string[],
  version: 1,
  resolution: null,
  note: null,
  proof: null,
  resolvedBy: null,
  proposal: null,
  closedAt: null,
} as const

export type NewCaseRow = Omit<CaseRow, keyof typeof UNRESOLVED>

// Object.keys returns string[]; the keys of this constant are exactly those of its type.
const NEW_CASE = CASE.except(...(Object.keys(UNRESOLVED) as (keyof typeof UNRESOLVED)[]))

const insertCaseStatement = sql<{ id: string; version: number }>`
insert into cases as c (${CASE.list(NEW_CASE)})
values (${CASE.placeholders(NEW_CASE)})
on conflict (merchant_id, attempt_id, kind, refund_id) do update
set
  created_at = excluded.created_at,
  provider_message = excluded.provider_message,
  unbooked_minor = excluded.unbooked_minor,
  decided_references = c.decided_references
    || case when c.resolution = 'gateway_answered' then '{}' else c.unbooked_references end,
  unbooked_references = excluded.unbooked_references,
  version = c.version + 1,
  resolution = null,
  note = null,
  proof = null,
  resolved_by = null,
  closed_at = null
where c.closed_at is not null and $${String(NEW_CASE.length + 1)}
returning c.id, c.version`

/** The id and version if the case is new or was reopened. */
export async function insertCase(
  tx: Tx,
  row: NewCaseRow,
  reopens: boolean,
): Promise<{ id: string; version: number } | undefined> {
  const values = [...CASE.values({ ...UNRESOLVED, ...row }, NEW_CASE), reopens]
  return firstRow(tx, insertCaseStatement, values)
}

const selectCasesOfAttemptStatement = sql<CaseRow>`
select ${COLUMNS}
from cases c
where c.merchant_id = $1 and c.attempt_id = $2`

export async function selectCasesOfAttempt(
  tx: Tx,
  merchantId: string,
  attemptId: string,
): Promise<CaseRow[]> {
  return tx.query(selectCasesOfAttemptStatement, [merchantId, attemptId])
}

const selectOpenCasesOfPayment = sql<CaseRow>`
select ${COLUMNS}
from cases c
where c.merchant_id = $1 and c.payment_id = $2 and c.closed_at is null
order by c.created_at, c.id
for update`

/** Locks the open cases of a payment until the end of the transaction. */
export async function lockOpenCases(tx: Tx, merchantId: string, paymentId: string): Promise<CaseRow[]> {
  return tx.query(selectOpenCasesOfPayment, [merchantId, paymentId])
}

export interface CaseClosing {
  resolution: CaseEnding
  note: string
  proof: string | null
  by: string
  at: Date
}

const closeCaseStatement = sql<CaseRow>`
update cases c
set
  closed_at = $3, note = $4, resolution = $5, proof = $6, resolved_by = $7, proposal = null, version = c.version + 1
where c.merchant_id = $1 and c.id = $2 and c.closed_at is null
returning ${COLUMNS}`

/** Undefined when the case is already closed. */
export async function closeCaseRow(
  tx: Tx,
  { merchantId, id }: Pick<CaseRow, 'merchantId' | 'id'>,
  { resolution, note, proof, by, at }: CaseClosing,
): Promise<CaseRow | undefined> {
  return firstRow(tx, closeCaseStatement, [merchantId, id, at, note, resolution, proof, by])
}

const saveProposalStatement = sql<unknown>`
update cases
set proposal = $3
where merchant_id = $1 and id = $2 and closed_at is null`

export async function saveProposal(
  tx: Tx,
  { merchantId, id }: Pick<CaseRow, 'merchantId' | 'id'>,
  proposal: Proposal | null,
): Promise<void> {
  await tx.query(saveProposalStatement, [merchantId, id, proposal && JSON.stringify(proposal)])
}

const saveUnbookedStatement = sql<unknown>`
update cases
set provider_message = $4, unbooked_minor = $5, unbooked_references = $6
where merchant_id = $1 and attempt_id = $2 and kind = $3 and closed_at is null`

export async function saveUnbooked(tx: Tx, row: NewCaseRow): Promise<void> {
  const { merchantId, attemptId, kind, providerMessage, unbookedMinor, unbookedReferences } = row
  const values = [merchantId, attemptId, kind, providerMessage, unbookedMinor, unbookedReferences]
  await tx.query(saveUnbookedStatement, values)
}

const lockCaseStatement = sql<CaseRow>`
select ${COLUMNS}
from cases c
where c.merchant_id = $1 and c.id = $2
for update`

/** Locks the case until the end of the transaction, so that one of two concurrent resolutions wins. */
export async function lockCase(
  tx: Tx,
  { merchantId, id }: Pick<CaseRow, 'merchantId' | 'id'>,
): Promise<CaseRow> {
  const row = await firstRow(tx, lockCaseStatement, [merchantId, id])
  if (!row) throw new Error(`case ${id} does not exist`)
  return row
}

// The facts of a refund case are those of the refund. Names as in CaseFacts.
const DETAILS = `
select
  ${COLUMNS}, p.reference as "paymentReference", p.kind as "paymentKind", p.status as "paymentStatus",
  p.amount_minor as "amountMinor", p.currency, a.gateway,
  coalesce(r.gateway_key, a.gateway_key) as "gatewayKey",
  case when r.id is null then coalesce(a.earlier_reference, a.gateway_reference) else r.gateway_reference end
    as "gatewayReference",
  a.paid_minor as "receivedMinor", a.paid_currency as "receivedCurrency", r.amount_minor as "refundMinor",
  (a.status = 'duplicate_success' or coalesce(r.is_duplicate, false)) as "isPayersMoney",
  coalesce(r.created_at, a.started_at) as "askedAt", coalesce(r.polls, a.polls) as checks
from cases c
join payments p on p.merchant_id = c.merchant_id and p.id = c.payment_id
join attempts a on a.merchant_id = c.merchant_id and a.id = c.attempt_id
left join refunds r on r.merchant_id = c.merchant_id and r.id = c.refund_id`

type DetailsRow = CaseRow & CaseFacts

const selectDetailsOfMerchant = sql<DetailsRow>`${DETAILS}
where c.merchant_id = $1 and c.id = any ($2::uuid[])`

const selectDetailsOfAll = sql<DetailsRow>`${DETAILS}
where c.id = any ($1::uuid[])`

/** In no particular order. Without a merchant, of all merchants: for operators. */
export async function findCaseDetails(
  db: Tx,
  merchantId: string | null,
  ids: readonly string[],
): Promise<CaseDetails[]> {
  if (ids.length === 0) return []
  const rows =
    merchantId === null
      ? await db.query(selectDetailsOfAll, [ids])
      : await db.query(selectDetailsOfMerchant, [merchantId, ids])
  return rows.map((row) => ({ row, facts: row }))
}

export interface CaseFilter {
  state: 'open' | 'resolved' | 'all'
  kind: CaseKind | null
  owner: CaseOwner | null
  paymentId: string | null
}

// Merchants see what is theirs to decide. The filter's values are $4 to $6.
const MERCHANT_CASES = listStatements<CaseRow>({
  columns: COLUMNS,
  table: 'cases',
  alias: 'c',
  filter: `c.owner = 'merchant'
  and ($4::boolean is null or (c.closed_at is null) = $4)
  and ($5::text is null or c.kind = $5)
  and ($6::uuid is null or c.payment_id = $6)`,
  filterValues: 3,
})

const OPERATOR_CASES = {
  columns: CASE.select(),
  table: 'cases',
  time: 'created_at',
  // Those cases have waited longest.
  order: 'asc',
  filterValues: 3,
} as const
const OPERATOR_FILTER = `($1::text is null or kind = $1) and ($2::text is null or owner = $2)
  and ($3::uuid is null or payment_id = $3)`

const OPEN_CASES = operatorList<CaseRow>({
  ...OPERATOR_CASES,
  filter: `closed_at is null and ${OPERATOR_FILTER}`,
})
const RESOLVED_CASES = operatorList<CaseRow>({
  ...OPERATOR_CASES,
  filter: `closed_at is not null and ${OPERATOR_FILTER}`,
})
const ALL_CASES = operatorList<CaseRow>({ ...OPERATOR_CASES, filter: OPERATOR_FILTER })

const OPERATOR_LISTS = { open: OPEN_CASES, resolved: RESOLVED_CASES, all: ALL_CASES }
const IS_OPEN = { open: true, resolved: false, all: null }

export function listCaseRows(
  db: Tx,
  merchantId: string | null,
  { state, kind, owner, paymentId }: CaseFilter,
  window: ListWindow,
): Promise<CountedRows<CaseRow>> {
  if (merchantId === null)
    return readOperatorList(db, OPERATOR_LISTS[state], window, [kind, owner, paymentId])
  return listRows(db, MERCHANT_CASES, merchantId, window, [IS_OPEN[state], kind, paymentId])
}

const countOpenCasesStatement = sql<{ owner: CaseOwner; total: number }>`
select owner, count(*)::integer as total
from (
  select owner
  from cases
  where closed_at is null
  limit ${String(2 * COUNT_CAP)}
) open
group by owner`

export async function countOpenCaseRows(db: Db): Promise<{ owner: CaseOwner; total: number }[]> {
  return db.query(countOpenCasesStatement)
}

const markUncertainStatement = sql<unknown>`
update payments
set status_reason = 'needs_review'
where merchant_id = $1 and id = $2 and status = 'processing' and status_reason is distinct from 'requires_review'`

/** Marks the payment, so that the move that ends it also closes its case. The version stays: nothing has moved. */
export async function markUncertain(tx: Tx, merchantId: string, paymentId: string): Promise<void> {
  await tx.query(markUncertainStatement, [merchantId, paymentId])
}
