// What operators ask for: to move a merchant, to see how far it is, and to empty a cell.

import { errorFromIssues } from '../../core/errors.ts'
import { findPlace } from '../../kit/cells/moving-queries.ts'
import { listUnaware } from '../../kit/cells/processes.ts'
import { listCellRows, saveCellState } from '../../kit/cells/queries.ts'
import { DbUnavailable } from '../../kit/db/db.ts'
import { type CellState, type CellsApp, REMOVED, requireCell } from '../register.ts'
import { findObstacle } from './copyable.ts'
import { cancelMoveOf, findMove, insertMove, type MoveRow, retryMove } from './move-queries.ts'

export type StartApp = Pick<CellsApp, 'unscopedInstanceDb' | 'cells' | 'clock'> & {
  /** Throws if there is no such merchant. */
  requireMerchant(id: string): Promise<unknown>
}

interface NewMove {
  cell: string
  keepSeconds: number
}

/** Begins the move, or returns the one that goes on. */
export async function startMove(
  app: StartApp,
  merchantId: string,
  { cell, keepSeconds }: NewMove,
): Promise<MoveRow> {
  const { unscopedInstanceDb: db, cells, clock } = app
  await app.requireMerchant(merchantId)
  const toCell = await requireActive(app, cell)
  const open = await findMove(db, merchantId)
  if (open && open.step !== 'done') {
    if (open.isCancelled && open.step === 'copy')
      throw refuse(
        'uuid',
        'names a merchant whose last move is being cancelled. Ask again when that has ended.',
      )
    if (open.toCell === toCell) return (await retryMove(db, merchantId, clock.now())) ?? open
    throw refuse('cell', `must be ${cells.nameOf(open.toCell)}: the merchant is being moved there.`)
  }
  const { cell: fromCell } = await findPlace(db, merchantId)
  if (fromCell === toCell) throw refuse('cell', 'is the cell of the merchant.')
  for (const number of [fromCell, toCell]) await requireCopyable(app, number, 'cell')
  const started = await db.transaction((tx) =>
    insertMove(tx, { merchantId, toCell, keepSeconds }, clock.now()),
  )
  return started ?? startMove(app, merchantId, { cell, keepSeconds })
}

async function requireActive(
  { unscopedInstanceDb: db, cells, clock }: StartApp,
  name: string,
): Promise<number> {
  const rows = await listCellRows(db)
  if (rows.length === 0) throw refuse('cell', 'must be another one: there is one cell.')
  if (name === cells.nameOf(0)) return 0
  const row = rows.find((one) => one.name === name)
  if (!row) throw refuse('cell', 'names no cell: cowry cells list shows those that there are.')
  if (row.state === 'removed') throw refuse('cell', REMOVED)
  if (row.state !== 'active') throw refuse('cell', 'must be an active cell: activate it first.')
  const unaware = await listUnaware({ db, clock }, row.number)
  if (unaware.length > 0) throw refuse('cell', `is unknown to these processes: ${unaware.join(', ')}.`)
  return row.number
}

async function requireCopyable(
  { cells }: Pick<StartApp, 'cells'>,
  cell: number,
  field: string,
): Promise<void> {
  const obstacle = await findObstacleOf(cells, cell)
  if (obstacle !== undefined)
    throw refuse(field, `is refused, because of ${cells.nameOf(cell)}: ${obstacle}.`)
}

async function findObstacleOf(cells: StartApp['cells'], cell: number): Promise<string | undefined> {
  try {
    return await findObstacle(cells.open(cell))
  } catch (error) {
    if (error instanceof DbUnavailable) return 'it does not take statements'
    throw error
  }
}

/** The last move of the merchant. */
export async function requireMove(app: StartApp, merchantId: string): Promise<MoveRow> {
  await app.requireMerchant(merchantId)
  const move = await findMove(app.unscopedInstanceDb, merchantId)
  if (!move) throw refuse('uuid', 'names a merchant that was never moved.')
  return move
}

/** The merchant stays where it is, and the copy is deleted. Asked again, it answers how far that is. */
export async function cancelMove(app: StartApp, merchantId: string): Promise<MoveRow> {
  const { unscopedInstanceDb: db, clock } = app
  const found = await requireMove(app, merchantId)
  if (found.step === 'copy') await requireNotDrained(app, found)
  const move = (await cancelMoveOf(db, merchantId, clock.now())) ?? (await requireMove(app, merchantId))
  if (!move.isCancelled) throw refuse('uuid', switchedText(app, move))
  return move
}

/** Else the next move would begin at once. */
async function requireNotDrained(
  { unscopedInstanceDb: db, cells }: StartApp,
  { fromCell }: MoveRow,
): Promise<void> {
  const row = (await listCellRows(db)).find(({ number }) => number === fromCell)
  if (row?.state !== 'draining') return
  const name = cells.nameOf(fromCell)
  throw refuse('uuid', `names a merchant of ${name}, which is being drained. Activate ${name} first.`)
}

function switchedText({ cells: { nameOf } }: StartApp, { fromCell, toCell, switchedAt }: MoveRow): string {
  const since = switchedAt === null ? '' : ` since ${switchedAt.toISOString()}`
  return `names a merchant that works in ${nameOf(toCell)}${since}: a move is not cancelled after the switch. Move it to ${nameOf(fromCell)} instead.`
}

/** New merchants are not placed in the cell any more, and those that it has are moved to the active cells. */
export async function drainCell(app: CellsApp, name: string): Promise<CellState> {
  const found = await requireCell(app, name)
  // Else the job finds out when the cell answers.
  if (found.isUp) await requireCopyable(app, found.number, 'name')
  if (!(await saveCellState(app.unscopedInstanceDb, name, 'draining'))) throw refuse('name', REMOVED)
  return { ...found, state: 'draining' }
}

function refuse(field: string, message: string) {
  return errorFromIssues([{ field, code: 'not_allowed', message: `${field} ${message}` }])
}
