// Deletes the copy in the cell that a merchant has left, or in the one where it does not go after all. The row of the merchant
// itself stays, because its entries of the audit log stay where they were written.

import type { ConnectedDb, Db, Tx } from '../../kit/db/db.ts'
import { deleteLookups, deleteSome } from './copy-queries.ts'
import { addDepartedGuard, listUnguarded, saveDeparted } from './departed-queries.ts'
import { deleteMovingState, dropGuard, listGuarded, lockFence, type MovingState } from './guard-queries.ts'
import { inGuardedCell, type Run, RunEnded, requireRun, takeOver, untilUnlocked } from './run.ts'
import type { MovedTable } from './tables.ts'

const BATCH = 2_000

interface Copy {
  db: ConnectedDb
  cell: number
  state: MovingState
}

export async function cleanOldCopy(run: Run): Promise<void> {
  const { app, move, source, target } = run
  const depart = (tx: Tx) => saveDeparted(tx, move.merchantId, app.clock.now())
  await deleteCopy(run, { db: source, cell: move.fromCell, state: 'gone' }, depart)
  await app.failpoints.hit('move.after_delete')
  await guardDeparted(run)
  for (const db of [source, target]) await dropGuards(run, db)
  await deleteMovingState(source, move)
}

/** Before the guards of the move are dropped, so that the old cell refuses the merchant all the time. */
async function guardDeparted({ app, tables, source, signal }: Run): Promise<void> {
  for (const table of await listUnguarded(source, tables))
    await untilUnlocked({ app, signal }, () => source.transaction((tx) => addDepartedGuard(tx, table)))
}

/** Before the switch: the old cell records no changes any more, also while the new one is unavailable. */
export async function freeOldCell(run: Run): Promise<void> {
  const { move, source } = run
  await takeOver(run, source, 'outgoing')
  await dropGuards(run, source)
  await deleteMovingState(source, move)
}

/** Before the switch. Repeated by the next run if this one dies. */
export async function cleanNewCopy(run: Run): Promise<void> {
  const { app, move, target } = run
  await takeOver(run, target, 'incoming')
  // By the accounts of the copy, so before these are deleted.
  await inGuardedCell(run, target, 'incoming', (tx) => deleteLookups(tx, move.merchantId))
  await deleteCopy(run, { db: target, cell: move.toCell, state: 'incoming' })
  await app.failpoints.hit('move.after_undo')
  await dropGuards(run, target)
  await deleteMovingState(target, move)
}

async function dropGuards({ app, move, signal }: Run, db: Db): Promise<void> {
  const drop = (table: string) =>
    db.transaction(async (tx) => {
      requireRun(await lockFence(tx, move))
      await dropGuard(tx, table, move.merchantId)
    })
  for (const table of await listGuarded(db, move.merchantId))
    await untilUnlocked({ app, signal }, () => drop(table))
}

type WithLast = (tx: Tx) => Promise<void>

/** `withLast` is done in the transaction that deletes the last rows. */
async function deleteCopy(run: Run, copy: Copy, withLast?: WithLast): Promise<void> {
  const tables = run.tables.filter((table) => isOfCell(copy, table))
  for (const table of tables)
    await deleteRows(run, copy, table, table === tables.at(-1) ? withLast : undefined)
}

/** The instance needs the keys of its own operations. Those of the cell are purged there by their age. */
function isOfCell({ cell }: Copy, { name }: MovedTable): boolean {
  return name !== 'idempotency_keys' || cell !== 0
}

async function deleteRows(
  run: Run,
  { db, state }: Copy,
  table: MovedTable,
  withLast?: WithLast,
): Promise<void> {
  const { move, signal } = run
  for (;;) {
    if (signal.aborted) throw new RunEnded('the run was stopped')
    const deleted = await inGuardedCell(run, db, state, async (tx) => {
      const count = await deleteSome(tx, table, move.merchantId, BATCH)
      if (count < BATCH) await withLast?.(tx)
      return count
    })
    if (deleted < BATCH) return
  }
}
