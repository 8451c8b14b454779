// Statements that register a cell: in the instance, and in the database of the cell, which says itself which cell it is.

import type { CellRow } from '../kit/cells/queries.ts'
import { ADVISORY_LOCKS } from '../kit/db/advisory-locks.ts'
import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow, requireRow } from '../kit/db/rows.ts'

const insertCellStatement = sql<unknown>`
insert into cells (number, name, sealed, state, created_at)
values ($1, $2, $3, $4, $5)`

export async function insertCell(tx: Tx, cell: CellRow): Promise<void> {
  const { number, name, sealed, state, createdAt } = cell
  await tx.query(insertCellStatement, [number, name, sealed, state, createdAt])
}

/** In the database of the cell, where the row has no URL. */
export async function saveOwnCell(cell: Tx, row: CellRow): Promise<void> {
  await insertCell(cell, { ...row, sealed: '' })
}

const selectOwnCell = sql<{ number: number; name: string }>`
select number, name
from cells
order by number
limit 1`

/** Undefined in a database that is no cell. */
export async function readOwnCell(cell: Db): Promise<{ number: number; name: string } | undefined> {
  return firstRow(cell, selectOwnCell, [])
}

const lockRegister = sql<unknown>`select pg_advisory_xact_lock(${ADVISORY_LOCKS.cells})`
// One database may have several cells, each in a schema.
const OWN_SCHEMA = `${ADVISORY_LOCKS.cells}, hashtext(current_schema())`
const lockSchema = sql<unknown>`select pg_advisory_xact_lock(${OWN_SCHEMA})`
const tryLockSchema = sql<{ isFree: boolean }>`
select pg_try_advisory_xact_lock(${OWN_SCHEMA}) as "isFree"`

const selectNextNumber = sql<{ number: number }>`
select coalesce(max(number), 0) + 1 as number
from cells`

/** The number of the next cell, for one caller at a time. */
export async function nextCellNumber(tx: Tx): Promise<number> {
  await tx.query(lockRegister)
  return requireRow(await tx.query(selectNextNumber)).number
}

/** Advisory locks are of one database. */
export function isSameSchema(one: Db, other: Db): Promise<boolean> {
  return one.transaction(async (tx) => {
    await tx.query(lockSchema)
    return !requireRow(await other.query(tryLockSchema)).isFree
  })
}
