// The statements by which processes follow a merchant that is moved to another cell.

import { type Db, sql, type Tx } from '../db/db.ts'
import { requireRow } from '../db/rows.ts'

/**
 * For a statement over all merchants of a cell: leaves out those that work in another one, whose rows may not change
 * here. A statement that claims rows with skip locked gets none of them anyway. An array, so that the rows are found by
 * their own index. In order, so that it has one too: before PostgreSQL 18 a sequential read, which we rule out, counts
 * as so expensive that a server with JIT compiles the statement for half a second.
 */
export const worksHere = (table: string) =>
  `${table}.merchant_id <> all (array(select merchant_id from moving_merchants where state <> 'outgoing' order by merchant_id))`

export interface PlacementState {
  /** Raised with each change of a merchant's cell. */
  epoch: bigint
  /** Whether a merchant is being moved. */
  isMoving: boolean
}

const selectState = sql<PlacementState>`
select
  coalesce((select epoch from placement where is_only), 0) as epoch,
  (select true from merchant_moves where step = 'copy' order by merchant_id limit 1) is not null as "isMoving"`

export async function readPlacementState(db: Tx): Promise<PlacementState> {
  return requireRow(await db.query(selectState))
}

const selectMovedSince = sql<{ merchantId: string }>`
select merchant_id as "merchantId"
from merchant_moves
where epoch > $1`

/** The merchants whose cell has changed since that state. */
export async function listMovedSince(db: Tx, epoch: bigint): Promise<string[]> {
  return (await db.query(selectMovedSince, [epoch])).map(({ merchantId }) => merchantId)
}

const selectSuccessors = sql<{ fromCell: number; toCell: number }>`
select from_cell as "fromCell", to_cell as "toCell"
from moved_cells
order by from_cell, to_cell`

/** By cell: the cells to which merchants of it were moved. */
export async function listSuccessors(db: Tx): Promise<Map<number, number[]>> {
  const byCell = Map.groupBy(await db.query(selectSuccessors), ({ fromCell }) => fromCell)
  return new Map([...byCell].map(([cell, pairs]) => [cell, pairs.map(({ toCell }) => toCell)]))
}

interface MerchantPlace {
  cell: number
  /** The number of the last run that moved the merchant; null if it was never moved. */
  fence: number | null
  isBeingCopied: boolean
}

const selectPlace = sql<MerchantPlace>`
select coalesce(c.cell, 0) as cell, m.fence, coalesce(m.step = 'copy', false) as "isBeingCopied"
from (select $1::uuid as merchant_id) one
left join merchant_cells c on c.merchant_id = one.merchant_id
left join merchant_moves m on m.merchant_id = one.merchant_id`

export async function findPlace(db: Db, merchantId: string): Promise<MerchantPlace> {
  return requireRow(await db.query(selectPlace, [merchantId]))
}

const endRunStatement = sql<unknown>`
update merchant_moves
set fence = fence + 1
where merchant_id = $1 and step = 'copy' and fence = $2
returning 1`

/** Afterwards that run cannot switch any more. False if it has, or if another one runs. */
export async function endRun(db: Db, merchantId: string, fence: number): Promise<boolean> {
  return (await db.query(endRunStatement, [merchantId, fence])).length > 0
}

const reopenStatement = sql<unknown>`
update moving_merchants
set state = 'outgoing'
where merchant_id = $1 and state = 'closing' and fence <= $2`

/** In the old cell: the merchant goes on working there, because the run with this fence, or one before, has not switched. */
export async function reopenMerchant(cell: Tx, merchantId: string, fence: number): Promise<void> {
  await cell.query(reopenStatement, [merchantId, fence])
}

const admitStatement = sql<unknown>`
with admitted as (
  delete from moving_merchants
  where merchant_id = $1 and state = 'incoming' and fence <= $2
  returning merchant_id
),
returned as (
  delete from departed_merchants
  where merchant_id = $1 and exists (select from admitted)
)
select merchant_id
from admitted`

/**
 * In the new cell, once the run with this fence, or one before, has switched: the merchant works there from now on. False if it
 * does already, or if a later move brings it there.
 */
export async function admitMerchant(cell: Tx, merchantId: string, fence: number): Promise<boolean> {
  return (await cell.query(admitStatement, [merchantId, fence])).length > 0
}
