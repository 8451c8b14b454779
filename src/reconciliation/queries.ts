// The statements that record reconciliations and their breaks. They have no tenant: a file of the instance's account may cover
// many merchants. A merchant sees those of its own accounts.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { operatorList, readOperatorList } from '../kit/db/lists/operator-list.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { BreakKind } from './compare.ts'
import { RECONCILIATION, type ReconciliationRow } from './reconciliation.ts'

const COLUMNS = RECONCILIATION.select()

/** $1 is the merchant whose own accounts are read; null for operators, who read every account. */
export const OF_VIEWER = '($1::uuid is null or merchant_id = $1)'

/** The same for lists, one for each: with "or" a prepared statement could not use an index. */
export const OF_EVERYBODY = '$1::uuid is null'
export const OF_ONE_MERCHANT = 'merchant_id = $1'

const startStatement = sql<ReconciliationRow>`
insert into reconciliations as r (
  id, gateway, merchant_id, digest, file_name, format, covers_from, covers_to, row_count, ignored_count, created_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
on conflict (gateway, merchant_id, digest) do update
set
  format = excluded.format,
  covers_from = coalesce(excluded.covers_from, r.covers_from),
  covers_to = coalesce(excluded.covers_to, r.covers_to),
  row_count = excluded.row_count,
  ignored_count = excluded.ignored_count,
  finished_at = null
returning ${COLUMNS}`

/** Idempotent: the same file, by its digest, is the same reconciliation. */
export async function startReconciliation(
  db: Db,
  input: Pick<
    ReconciliationRow,
    | 'id'
    | 'gateway'
    | 'merchantId'
    | 'fileName'
    | 'format'
    | 'coversFrom'
    | 'coversTo'
    | 'rowCount'
    | 'ignoredCount'
  > & { digest: Buffer },
  at: Date,
): Promise<ReconciliationRow> {
  const { id, gateway, merchantId, digest, fileName, format, coversFrom, coversTo } = input
  const counts = [input.rowCount, input.ignoredCount]
  const values = [id, gateway, merchantId, digest, fileName, format, coversFrom, coversTo, ...counts, at]
  const [row] = await db.query(startStatement, values)
  if (!row) throw new Error('the upsert of a reconciliation returned no row')
  return row
}

const addSettledStatement = sql<unknown>`
update reconciliations
set settled_count = settled_count + $2
where id = $1`

export async function addSettled(tx: Tx, id: string, settled: number): Promise<void> {
  await tx.query(addSettledStatement, [id, settled])
}

const finishStatement = sql<ReconciliationRow>`
update reconciliations
set finished_at = $2, matched_count = $3, break_count = $4
where id = $1
returning ${COLUMNS}`

export async function finishReconciliation(
  db: Db,
  id: string,
  at: Date,
  counts: { matched: number; breaks: number },
): Promise<ReconciliationRow> {
  const [row] = await db.query(finishStatement, [id, at, counts.matched, counts.breaks])
  if (!row) throw new Error(`reconciliation ${id} not found`)
  return row
}

const selectReconciliation = sql<ReconciliationRow>`
select ${COLUMNS}
from reconciliations
where id = $2 and ${OF_VIEWER}`

export async function findReconciliation(
  db: Db,
  viewer: string | null,
  id: string,
): Promise<ReconciliationRow | undefined> {
  return firstRow(db, selectReconciliation, [viewer, id])
}

const LIST = {
  columns: COLUMNS,
  table: 'reconciliations',
  time: 'created_at',
  order: 'desc',
  filterValues: 2,
} as const
const listFilter = (ofViewer: string) => `${ofViewer} and ($2::text is null or gateway = $2)`

const OF_OPERATORS = operatorList<ReconciliationRow>({ ...LIST, filter: listFilter(OF_EVERYBODY) })
const OF_MERCHANT = operatorList<ReconciliationRow>({ ...LIST, filter: listFilter(OF_ONE_MERCHANT) })

export function listReconciliationRows(
  db: Db,
  viewer: string | null,
  gateway: string | null,
  window: ListWindow,
) {
  return readOperatorList(db, viewer === null ? OF_OPERATORS : OF_MERCHANT, window, [viewer, gateway])
}

/** A break that a file shows. */
export interface BreakInput {
  id: string
  kind: BreakKind
  subject: string
  line: number | null
  owner_merchant_id: string | null
  payment_id: string | null
  refund_id: string | null
  ours: unknown
  theirs: unknown
}

interface BreakScope {
  reconciliationId: string
  gateway: string
  merchantId: string | null
}

// A break that an operator closed stays closed while both sides are unchanged. A break that a file closed opens again.
const REOPENS = `
  (b.state = 'closed' and (b.closed_by = 'file' or (b.ours, b.theirs) is distinct from (excluded.ours, excluded.theirs)))`

const recordBreaksStatement = sql<unknown>`
insert into reconciliation_breaks as b (
  id, gateway, merchant_id, kind, subject, reconciliation_id, line, owner_merchant_id, payment_id, refund_id, ours,
  theirs, opened_at
)
select
  i.id, $2, $3, i.kind, i.subject, $1, i.line, i.owner_merchant_id, i.payment_id, i.refund_id, i.ours, i.theirs, $4
from jsonb_to_recordset($5::jsonb) as i (
  id uuid, kind text, subject text, line integer, owner_merchant_id uuid, payment_id uuid, refund_id uuid, ours jsonb,
  theirs jsonb
)
order by i.kind, i.subject
on conflict (gateway, merchant_id, kind, subject) do update
set
  reconciliation_id = excluded.reconciliation_id,
  line = excluded.line,
  owner_merchant_id = excluded.owner_merchant_id,
  payment_id = excluded.payment_id,
  refund_id = excluded.refund_id,
  ours = excluded.ours,
  theirs = excluded.theirs,
  state = case when ${REOPENS} then 'open' else b.state end,
  opened_at = case when ${REOPENS} then excluded.opened_at else b.opened_at end,
  closed_at = case when ${REOPENS} then null else b.closed_at end,
  closed_by = case when ${REOPENS} then null else b.closed_by end`

export async function recordBreaks(
  tx: Tx,
  scope: BreakScope,
  breaks: readonly BreakInput[],
  at: Date,
): Promise<void> {
  if (breaks.length === 0) return
  const { reconciliationId, gateway, merchantId } = scope
  await tx.query(recordBreaksStatement, [reconciliationId, gateway, merchantId, at, JSON.stringify(breaks)])
}

/** The kinds of breaks that this subject no longer has. */
export interface ClosingInput {
  subject: string
  kinds: BreakKind[]
}

const closeBreaksStatement = sql<unknown>`
with closing as (
  select b.id
  from jsonb_to_recordset($4::jsonb) as i (subject text, kinds text[])
  join reconciliation_breaks b
    on b.gateway = $1 and b.subject = i.subject and b.state = 'open' and b.kind = any (i.kinds)
  where b.merchant_id is not distinct from $2
  order by b.kind, b.subject
  for no key update of b
)
update reconciliation_breaks b
set state = 'closed', closed_by = 'file', closed_at = $3
from closing c
where b.id = c.id`

export async function closeBreaksByFile(
  tx: Tx,
  { gateway, merchantId }: BreakScope,
  closings: readonly ClosingInput[],
  at: Date,
): Promise<void> {
  if (closings.length === 0) return
  await tx.query(closeBreaksStatement, [gateway, merchantId, at, JSON.stringify(closings)])
}
