// The job that moves merchants, one after another, and the one that empties cells.

import type { Cells } from '../../kit/cells/cells.ts'
import { type CellRow, countMerchantsByCell, listCellRows } from '../../kit/cells/queries.ts'
import { addMs } from '../../kit/clock.ts'
import { type ConnectedDb, DbUnavailable } from '../../kit/db/db.ts'
import type { Job } from '../../kit/jobs.ts'
import { errorFields } from '../../kit/observability/log.ts'
import { describeTables } from './copy-queries.ts'
import { isDistributed } from './guard-queries.ts'
import { runMove, withLease } from './move.ts'
import {
  claimMove,
  findMerchantIn,
  insertMove,
  isCopying,
  type MoveRow,
  saveProblem,
} from './move-queries.ts'
import { leaseEnd, MoveRefused, type MovesApp, type Run, RunEnded } from './run.ts'

const AGAIN_AFTER_MS = 1_000
/** Often a move is cancelled because its new cell is down. */
const CANCELLED_AGAIN_AFTER_MS = 10_000
const REFUSED_AGAIN_AFTER_MS = 5 * 60_000
/** How long the old copy of a drained merchant is kept: a file that is being written may still read it. */
export const KEEP_SECONDS = 300

export function moveJobs(app: MovesApp, signal: AbortSignal): Job[] {
  return [
    { name: 'move-merchants', intervalMs: 1_000, run: () => moveNext(app, signal) },
    { name: 'drain-cells', intervalMs: 2_000, run: () => drainNext(app) },
  ]
}

async function moveNext(app: MovesApp, signal: AbortSignal): Promise<number> {
  const { unscopedInstanceDb: db, clock } = app
  if (signal.aborted) return 0
  const now = clock.now()
  const move = await claimMove(db, now, leaseEnd(now))
  if (!move) return 0
  const again = await withLease({ app, move }, async (replaced) => {
    try {
      return await withRun(app, move, AbortSignal.any([signal, replaced]), runMove)
    } catch (error) {
      return giveUp(app, move, error)
    }
  })
  if (again) await saveProblem(db, move, again instanceof Date ? ENDED : again, againAt(app, move, again))
  return again === undefined ? 1 : 0
}

type Failed = Pick<MoveRow, 'problem' | 'isRefused'>

const ENDED: Failed = { problem: null, isRefused: false }

function againAt({ clock }: MovesApp, { isCancelled }: MoveRow, again: Date | Failed): Date {
  if (again instanceof Date) return again
  if (again.isRefused) return addMs(clock.now(), REFUSED_AGAIN_AFTER_MS)
  if (again.problem === null) return clock.now()
  return addMs(clock.now(), isCancelled ? CANCELLED_AGAIN_AFTER_MS : AGAIN_AFTER_MS)
}

// The switch, the state of the merchant in the old cell beside it, and one to spare.
const CONNECTIONS = 3

async function withRun<Result>(
  app: MovesApp,
  move: MoveRow,
  signal: AbortSignal,
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  const opened = new Map<number, ConnectedDb>()
  const open = (cell: number): ConnectedDb => {
    const db = opened.get(cell) ?? app.cells.open(cell).apart(CONNECTIONS)
    opened.set(cell, db)
    return db
  }
  try {
    const [instance, source] = [open(0), open(move.fromCell)]
    const tables = await describeTables(source)
    const target = () => open(move.toCell)
    return await work({
      app,
      move,
      instance,
      source,
      tables,
      signal,
      get target() {
        return target()
      },
    })
  } finally {
    for (const db of opened.values()) await db.close()
  }
}

function giveUp({ log }: MovesApp, { merchantId }: MoveRow, error: unknown): Failed {
  if (error instanceof RunEnded) return ENDED
  log.write('cell.move_failed', { merchantId, ...errorFields(error) })
  const problem = error instanceof Error ? error.message : String(error)
  return { problem, isRefused: error instanceof MoveRefused }
}

/** Begins to move one merchant of a cell that is to be emptied. Returns 0: the next one follows when it has been moved. */
async function drainNext({ unscopedInstanceDb: db, cells, clock }: MovesApp): Promise<number> {
  const rows = await listCellRows(db)
  const draining = rows.filter(({ state }) => state === 'draining')
  if (draining.length === 0 || (await isCopying(db))) return 0
  for (const { number: fromCell } of draining) {
    const merchantId = await findMerchantIn(db, fromCell)
    if (merchantId === undefined || !(await isCopyable(cells, fromCell))) continue
    const toCell = await chooseTarget({ unscopedInstanceDb: db, cells }, rows)
    const move = { merchantId, toCell, keepSeconds: KEEP_SECONDS }
    await db.transaction((tx) => insertMove(tx, move, clock.now()))
    return 0
  }
  return 0
}

/** The active cell with the fewest merchants, of those that answer. */
async function chooseTarget(
  { unscopedInstanceDb: db, cells }: Pick<MovesApp, 'unscopedInstanceDb' | 'cells'>,
  rows: readonly CellRow[],
): Promise<number> {
  const counts = await countMerchantsByCell(db)
  const countOf = (cell: number) => counts.get(cell) ?? 0
  const active = rows.filter(({ state }) => state === 'active').map(({ number }) => number)
  for (const cell of [0, ...active].toSorted((one, other) => countOf(one) - countOf(other)))
    if (await isCopyable(cells, cell)) return cell
  return 0
}

/** False for a cell that does not answer, and for one on Citus. */
async function isCopyable(cells: Cells, cell: number): Promise<boolean> {
  try {
    return !(await isDistributed(cells.open(cell)))
  } catch (error) {
    if (!(error instanceof DbUnavailable)) throw error
    return false
  }
}
