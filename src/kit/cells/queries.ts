// Every statement over the register of cells, and over which merchant is in which. Both are in the instance.

import { type Db, sql, type Tx } from '../db/db.ts'

export interface CellRow {
  number: number
  name: string
  /** The URL, encrypted. */
  sealed: string
  state: 'added' | 'active' | 'draining' | 'removed'
  createdAt: Date
}

const CELL_COLUMNS = 'number, name, sealed, state, created_at as "createdAt"'

const selectCells = sql<CellRow>`
select ${CELL_COLUMNS}
from cells
order by number`

export function listCellRows(db: Tx): Promise<CellRow[]> {
  return db.query(selectCells)
}

const updateStateStatement = sql<CellRow>`
update cells
set state = $2
where name = $1 and state <> 'removed'
returning ${CELL_COLUMNS}`

/** Undefined if there is no such cell, or if it was removed. */
export async function saveCellState(
  db: Tx,
  name: string,
  state: CellRow['state'],
): Promise<CellRow | undefined> {
  return (await db.query(updateStateStatement, [name, state]))[0]
}

const selectMerchantCells = sql<{ merchantId: string; cell: number }>`
select m.merchant_id as "merchantId", m.cell
from (
  select *
  from unnest((select $1::uuid[])) as u (id)
  limit (select cardinality($1::uuid[]))
) as i
join merchant_cells m on m.merchant_id = i.id`

/** The cell of each merchant, in their order. */
export async function findMerchantCells(db: Db, merchantIds: readonly string[]): Promise<number[]> {
  const rows = await db.query(selectMerchantCells, [merchantIds])
  const cells = new Map(rows.map(({ merchantId, cell }) => [merchantId, cell]))
  return merchantIds.map((id) => cells.get(id) ?? 0)
}

const COUNTED = '100000'

// By index, and no further than the cap: cells beyond it count as equal.
const countByCell = sql<{ cell: number; merchants: number }>`
select c.cell, c.merchants
from (
  select
    n.number as cell,
    (
      select count(*)
      from (select from merchant_cells m where m.cell = n.number limit ${COUNTED}) counted
    )::integer as merchants
  from cells n
  union all
  select
    0,
    (select count(*) from (select from merchants limit ${COUNTED}) counted)::integer
    - (select count(*) from (select from merchant_cells limit ${COUNTED}) counted)::integer
) c`

/** How many merchants each cell has. */
export async function countMerchantsByCell(db: Tx): Promise<Map<number, number>> {
  const rows = await db.query(countByCell)
  return new Map(rows.map(({ cell, merchants }) => [cell, merchants]))
}

export interface DueCopy {
  merchantId: string
  cell: number
  dueAt: Date
}

const selectDueCopies = sql<DueCopy>`
select merchant_id as "merchantId", cell, copy_due_at as "dueAt"
from merchant_cells
where copy_due_at <= $1
order by copy_due_at
limit $2`

const selectDueCopy = sql<DueCopy>`
select merchant_id as "merchantId", cell, copy_due_at as "dueAt"
from merchant_cells
where merchant_id = $1 and copy_due_at is not null`

export function listDueCopies(db: Tx, now: Date, limit: number): Promise<DueCopy[]> {
  return db.query(selectDueCopies, [now, limit])
}

export async function findDueCopy(db: Tx, merchantId: string): Promise<DueCopy | undefined> {
  return (await db.query(selectDueCopy, [merchantId]))[0]
}

// A change after the copy was read has a later time, and is copied again.
const finishCopyStatement = sql<unknown>`
update merchant_cells
set copy_due_at = null
where merchant_id = $1 and copy_due_at = $2`

export async function finishCopy(db: Tx, { merchantId, dueAt }: DueCopy): Promise<void> {
  await db.query(finishCopyStatement, [merchantId, dueAt])
}
