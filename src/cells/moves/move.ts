// Moves a merchant to another cell while it works. Any process may run a step, and repeats what one that has died has begun.

import { findPlace } from '../../kit/cells/moving-queries.ts'
import { waitForEpoch } from '../../kit/cells/processes.ts'
import { addMs } from '../../kit/clock.ts'
import type { Db } from '../../kit/db/db.ts'
import { cleanNewCopy, cleanOldCopy, freeOldCell } from './clean.ts'
import { compareCopies } from './compare.ts'
import { catchUp, copyRows, deleteLateRows } from './copy.ts'
import { findObstacle } from './copyable.ts'
import { addGuard, listGuarded, lockMovingState, type MovingState } from './guard-queries.ts'
import { addMonths, listOldestMonths } from './month-queries.ts'
import { finishMove, renewLease } from './move-queries.ts'
import { leaseEnd, MoveRefused, type Run, requireRun, takeOver, untilUnlocked } from './run.ts'
import { completeSwitch, switchSoon } from './switch.ts'
import type { MovedTable } from './tables.ts'

/** Returns when the step can go on, if it must wait; undefined if the move has ended. */
export async function runMove(run: Run): Promise<Date | undefined> {
  const { app, move } = run
  if (move.step === 'copy' && move.isCancelled) return undo(run)
  if (move.step === 'copy') await copyAndSwitch(run)
  await completeSwitch(run)
  await app.failpoints.hit('move.after_leave')
  const cleanAt = addMs(move.switchedAt ?? app.clock.now(), move.keepSeconds * 1_000)
  if (cleanAt > app.clock.now()) return cleanAt
  if (!(await isKnown(run))) return addMs(app.clock.now(), KNOWN_WITHIN_MS)
  await cleanOldCopy(run)
  await app.failpoints.hit('move.after_clean')
  await finishMove(app.unscopedInstanceDb, move, app.clock.now())
  return undefined
}

const KNOWN_WITHIN_MS = 1_000

/** Whether every process uses the new cell. Another one could write where no guard is left, and that would be lost. */
function isKnown({ app: { unscopedInstanceDb: db, clock }, move }: Run): Promise<boolean> {
  return waitForEpoch({ db, clock }, move.epoch ?? 0n, KNOWN_WITHIN_MS)
}

/** The merchant stays where it is. The cancellation has ended the runs before, so none of them can switch. */
async function undo(run: Run): Promise<undefined> {
  const { app, move } = run
  await requirePlace(run)
  await freeOldCell(run)
  await cleanNewCopy(run)
  await finishMove(app.unscopedInstanceDb, move, app.clock.now())
}

async function copyAndSwitch(run: Run): Promise<void> {
  const { app, move } = run
  await prepare(run)
  await app.failpoints.hit('move.after_guard')
  await copyRows(run)
  await app.failpoints.hit('move.after_copy')
  await catchUp(run)
  await compareCopies(run)
  await switchSoon(run)
  move.step = 'clean'
}

/** From here on the old cell records each change, and the new one refuses every writer but this run. */
async function prepare(run: Run): Promise<void> {
  const { app, move, source, target } = run
  await requirePlace(run)
  for (const db of [source, target]) await requireCopyable(db)
  // A run that died in its pause keeps nothing closed.
  await takeOver(run, source, 'outgoing')
  await takeOver(run, target, 'incoming')
  await addMissingMonths(run)
  await addGuards(run, target, 'incoming')
  await addGuards(run, source, 'outgoing')
  if (move.toCell !== 0) await app.copyMerchant(move.merchantId, move.toCell)
  await deleteLateRows(run)
}

/** An empty copy would be equal to that of a cell where the merchant is not. */
async function requirePlace({ app, move }: Run): Promise<void> {
  const { cell } = await findPlace(app.unscopedInstanceDb, move.merchantId)
  if (cell !== move.fromCell) throw new MoveRefused(`the merchant is in ${app.cells.nameOf(cell)}`)
}

async function requireCopyable(db: Db): Promise<void> {
  const obstacle = await findObstacle(db)
  if (obstacle !== undefined) throw new MoveRefused(obstacle)
}

async function addGuards({ app, move, tables, signal }: Run, db: Db, state: MovingState): Promise<void> {
  const guarded = await listGuarded(db, move.merchantId)
  const add = (table: MovedTable) =>
    db.transaction(async (tx) => {
      requireRun(await lockMovingState(tx, move, state))
      await addGuard(tx, table, move.merchantId)
    })
  for (const table of tables)
    if (!guarded.includes(table.name)) await untilUnlocked({ app, signal }, () => add(table))
}

async function addMissingMonths({ app, source, target, tables, signal }: Run): Promise<void> {
  const names = tables.map(({ name }) => name)
  for (const oldest of await listOldestMonths(source, names))
    await untilUnlocked({ app, signal }, () => target.transaction((tx) => addMonths(tx, oldest)))
}

const RENEW_EVERY_MS = 1_000

/** Keeps other processes from the move while the work lasts. Its signal aborts when another run has begun. */
export async function withLease<Result>(
  { app, move }: Pick<Run, 'app' | 'move'>,
  work: (replaced: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ended = new AbortController()
  const replaced = new AbortController()
  const renew = async (): Promise<void> => {
    for (;;) {
      await app.clock.sleep(RENEW_EVERY_MS, ended.signal)
      if (ended.signal.aborted) return
      // A lease that cannot be renewed ends, and with it what this run may write.
      const renewed = renewLease(app.unscopedInstanceDb, move, leaseEnd(app.clock.now()))
      if (!(await renewed.catch(() => true))) return replaced.abort()
    }
  }
  const renewing = renew()
  try {
    return await work(replaced.signal)
  } finally {
    ended.abort()
    await renewing
  }
}
