// The statements over the moves of merchants, in the instance.

import { type Db, sql, type Tx } from '../../kit/db/db.ts'
import { firstRow, requireRow } from '../../kit/db/rows.ts'
import { MOST_DELAYED } from '../limits.ts'
import type { CopiedRow } from './copy-queries.ts'

export interface MoveRow {
  merchantId: string
  fromCell: number
  toCell: number
  step: 'copy' | 'clean' | 'done'
  /** The number of the run. */
  fence: number
  /** How long the old copy is kept after the switch. */
  keepSeconds: number
  /** The table and the key up to which it is copied. */
  copiedUntil: { table: string; key: CopiedRow['key'] } | null
  copiedRows: bigint
  problem: string | null
  /** A person must look at the problem. */
  isRefused: boolean
  /** The merchant stays in the old cell. Set before the switch only. */
  isCancelled: boolean
  /** How many switches were ended, because writes would have waited too long. */
  switchAttempts: number
  pauseMs: number | null
  epoch: bigint | null
  createdAt: Date
  switchedAt: Date | null
  finishedAt: Date | null
}

const COLUMNS = `
  merchant_id as "merchantId", from_cell as "fromCell", to_cell as "toCell", step, fence, keep_seconds as "keepSeconds", copied_until as "copiedUntil",
  copied_rows as "copiedRows", problem, is_refused as "isRefused", is_cancelled as "isCancelled", switch_attempts as "switchAttempts", pause_ms as "pauseMs", epoch, created_at as "createdAt",
  switched_at as "switchedAt", finished_at as "finishedAt"`

const selectMove = sql<MoveRow>`
select ${COLUMNS}
from merchant_moves
where merchant_id = $1`

export function findMove(db: Tx, merchantId: string): Promise<MoveRow | undefined> {
  return firstRow(db, selectMove, [merchantId])
}

const PLACE = 'coalesce((select cell from merchant_cells where merchant_id = $1), 0)'

// The cell that the merchant leaves is read here: what a process remembers may be of before the last move.
// A finished move is replaced by the next one of the merchant; its fence goes on, so that an old run stays refused.
const insertMoveStatement = sql<MoveRow>`
insert into merchant_moves as m (merchant_id, from_cell, to_cell, step, fence, keep_seconds, leased_until, copied_rows, created_at)
select $1::uuid, p.cell, $2::integer, 'copy', 0, $4::integer, $3::timestamptz, 0, $3::timestamptz
from (select ${PLACE} as cell) p
where p.cell <> $2::integer
on conflict (merchant_id) do update
set from_cell = excluded.from_cell, to_cell = excluded.to_cell, step = 'copy', keep_seconds = excluded.keep_seconds, leased_until = excluded.leased_until,
  copied_until = null, copied_rows = 0, problem = null, is_refused = false, is_cancelled = false, switch_attempts = 0, pause_ms = null, created_at = excluded.created_at,
  switched_at = null, finished_at = null
where m.step = 'done'
returning ${COLUMNS}`

export type NewMove = Pick<MoveRow, 'merchantId' | 'toCell' | 'keepSeconds'>

const keepCellStatement = sql<unknown>`
select 1
from cells
where number = $1 and state <> 'removed'
for key share`

/**
 * Undefined if the merchant is being moved or is in that cell, or if the cell was removed. In a transaction it waits for an
 * operator who removes the cell at that moment.
 */
export async function insertMove(
  tx: Tx,
  { merchantId, toCell, keepSeconds }: NewMove,
  now: Date,
): Promise<MoveRow | undefined> {
  // The database of the instance is not in the register, and always stays.
  if (toCell !== 0 && (await tx.query(keepCellStatement, [toCell])).length === 0) return undefined
  return firstRow(tx, insertMoveStatement, [merchantId, toCell, now, keepSeconds])
}

const claimStatement = sql<MoveRow>`
with due as (
  select merchant_id
  from merchant_moves
  where step <> 'done' and leased_until <= $1
  order by leased_until
  limit 1
  for update skip locked
)
update merchant_moves
set fence = fence + 1, leased_until = $2
where merchant_id in (select merchant_id from due)
returning ${COLUMNS}`

/** Begins a run of the move that waits longest. */
export function claimMove(db: Tx, now: Date, until: Date): Promise<MoveRow | undefined> {
  return firstRow(db, claimStatement, [now, until])
}

type Run = Pick<MoveRow, 'merchantId' | 'fence'>

const renewStatement = sql<unknown>`
update merchant_moves
set leased_until = $3
where merchant_id = $1 and fence = $2
returning 1`

/** False if another run has begun. */
export async function renewLease(db: Tx, { merchantId, fence }: Run, until: Date): Promise<boolean> {
  return (await db.query(renewStatement, [merchantId, fence, until])).length > 0
}

const progressStatement = sql<unknown>`
update merchant_moves
set copied_until = $3::jsonb, copied_rows = copied_rows + $4
where merchant_id = $1 and fence = $2
returning 1`

export async function saveProgress(
  db: Tx,
  { merchantId, fence }: Run,
  copiedUntil: MoveRow['copiedUntil'],
  rows: number,
): Promise<boolean> {
  const values = [merchantId, fence, JSON.stringify(copiedUntil), rows]
  return (await db.query(progressStatement, values)).length > 0
}

const problemStatement = sql<unknown>`
update merchant_moves
set problem = $3, leased_until = $4, is_refused = $5
where merchant_id = $1 and fence = $2`

/** The move is tried again at that time. */
export async function saveProblem(
  db: Tx,
  { merchantId, fence }: Run,
  { problem, isRefused }: Pick<MoveRow, 'problem' | 'isRefused'>,
  againAt: Date,
): Promise<void> {
  await db.query(problemStatement, [merchantId, fence, problem, againAt, isRefused])
}

const switchAttemptStatement = sql<unknown>`
update merchant_moves
set switch_attempts = switch_attempts + 1, problem = $3
where merchant_id = $1 and fence = $2
returning 1`

/** Counts a switch that was ended. False if another run has begun. */
export async function saveSwitchAttempt(
  db: Tx,
  { merchantId, fence }: Run,
  problem: string,
): Promise<boolean> {
  return (await db.query(switchAttemptStatement, [merchantId, fence, problem])).length > 0
}

const retryStatement = sql<MoveRow>`
update merchant_moves
set problem = null, is_refused = false, leased_until = $2
where merchant_id = $1 and is_refused
returning ${COLUMNS}`

/** Tries a refused move again now. Undefined if it is not refused. */
export function retryMove(db: Tx, merchantId: string, now: Date): Promise<MoveRow | undefined> {
  return firstRow(db, retryStatement, [merchantId, now])
}

const cancelStatement = sql<MoveRow>`
update merchant_moves
set is_cancelled = true, fence = fence + 1, leased_until = $2, copied_until = null, problem = null, is_refused = false
where merchant_id = $1 and step = 'copy' and (is_refused or not is_cancelled)
returning ${COLUMNS}`

/** Ends the run that copies, and lets the next one undo the copy. Undefined after the switch, and if that has been asked for. */
export function cancelMoveOf(db: Tx, merchantId: string, now: Date): Promise<MoveRow | undefined> {
  return firstRow(db, cancelStatement, [merchantId, now])
}

const raiseEpochStatement = sql<{ epoch: bigint }>`
insert into placement as p (epoch)
values (1)
on conflict (is_only) do update
set epoch = p.epoch + 1
returning epoch`

/** Every process then acts on what was changed in this transaction. Returns the new state of placement. */
export async function raiseEpoch(tx: Tx): Promise<bigint> {
  return requireRow(await tx.query(raiseEpochStatement)).epoch
}

const switchStatement = sql<unknown>`
update merchant_moves
set step = 'clean', epoch = $3, switched_at = $4, problem = null, is_refused = false
where merchant_id = $1 and fence = $2 and step = 'copy' and not is_cancelled and from_cell = ${PLACE}
returning 1`

const placeStatement = sql<unknown>`
insert into merchant_cells (merchant_id, cell, copy_due_at)
values ($1, $2, $3)
on conflict (merchant_id) do update
set cell = excluded.cell, copy_due_at = excluded.copy_due_at`

const unplaceStatement = sql<unknown>`
delete from merchant_cells
where merchant_id = $1`

// Values that led to the old cell by an earlier move lead to the new one now.
const addSuccessorsStatement = sql<unknown>`
with earlier as (
  select from_cell from moved_cells where to_cell = $1
  union
  select $1::integer
)
insert into moved_cells (from_cell, to_cell)
select from_cell, $2
from earlier
where from_cell <> $2
on conflict do nothing`

/**
 * From now on the merchant is in the new cell. Undefined if another run has begun, or if it was not in the old one; else the
 * new state of placement.
 */
export function switchPlacement(
  db: Db,
  move: MoveRow,
  now: Date,
  limited = (tx: Tx) => tx,
): Promise<bigint | undefined> {
  const { merchantId, fence, fromCell, toCell } = move
  return db.transaction(async (whole) => {
    const tx = limited(whole)
    const epoch = await raiseEpoch(tx)
    if ((await tx.query(switchStatement, [merchantId, fence, epoch, now])).length === 0) return undefined
    if (toCell === 0) await tx.query(unplaceStatement, [merchantId])
    else await tx.query(placeStatement, [merchantId, toCell, now])
    await tx.query(addSuccessorsStatement, [fromCell, toCell])
    // A commit that is cancelled may have been made.
    await whole.script('set local statement_timeout to default')
    return epoch
  })
}

const pauseStatement = sql<unknown>`
update merchant_moves
set pause_ms = $3
where merchant_id = $1 and fence = $2`

export async function savePause(db: Tx, { merchantId, fence }: Run, pauseMs: number): Promise<void> {
  await db.query(pauseStatement, [merchantId, fence, pauseMs])
}

const finishStatement = sql<unknown>`
update merchant_moves
set step = 'done', finished_at = $3, problem = null, is_refused = false
where merchant_id = $1 and fence = $2`

export async function finishMove(db: Tx, { merchantId, fence }: Run, now: Date): Promise<void> {
  await db.query(finishStatement, [merchantId, fence, now])
}

const selectMerchantsOf = sql<{ merchantId: string }>`
select merchant_id as "merchantId"
from merchant_cells c
where cell = $1 and not exists (select from merchant_moves m where m.merchant_id = c.merchant_id and m.step <> 'done')
order by merchant_id
limit 1`

/** A merchant of the cell, which is not cell 0, that is not being moved. */
export async function findMerchantIn(db: Tx, cell: number): Promise<string | undefined> {
  return (await firstRow(db, selectMerchantsOf, [cell]))?.merchantId
}

const selectOpenMoves = sql<{ isDelayed: boolean }>`
select problem is not null as "isDelayed"
from merchant_moves
where step = 'copy' and not is_refused and not is_cancelled
order by merchant_id
limit ${String(MOST_DELAYED)}`

/** Whether a merchant is being copied. A refused or cancelled move lets others go on, and some delayed ones do. */
export async function isCopying(db: Db): Promise<boolean> {
  const open = await db.query(selectOpenMoves)
  return open.length === MOST_DELAYED || open.some(({ isDelayed }) => !isDelayed)
}

export type HeldMove = Pick<MoveRow, 'merchantId' | 'fromCell' | 'isRefused'>

const selectHeld = sql<HeldMove>`
select merchant_id as "merchantId", from_cell as "fromCell", is_refused as "isRefused"
from merchant_moves
where step = 'copy' and not is_cancelled and problem is not null
order by merchant_id
limit 100`

/** By cell: merchants whose move out of it has a problem. */
export async function listHeld(db: Tx): Promise<Map<number, HeldMove[]>> {
  return Map.groupBy(await db.query(selectHeld), ({ fromCell }) => fromCell)
}

const selectCleaning = sql<Pick<MoveRow, 'merchantId' | 'toCell'>>`
select merchant_id as "merchantId", to_cell as "toCell"
from merchant_moves
where step <> 'done' and step = 'clean'
order by leased_until
limit 100`

/** By cell: merchants that were moved there, and are not moved again before their old copy is deleted. */
export async function listCleaning(db: Tx): Promise<Map<number, string[]>> {
  const byCell = Map.groupBy(await db.query(selectCleaning), ({ toCell }) => toCell)
  return new Map([...byCell].map(([cell, moves]) => [cell, moves.map(({ merchantId }) => merchantId)]))
}
