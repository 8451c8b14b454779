// Deletes the copy in the cell that a merchant has left, or in the one where it does not go after all. The row of the merchant
// itself stays, because its entries of the audit log stay where they were written.

import type { ConnectedDb } from '../../kit/db/db.ts'
import { deleteLookups, deleteSome } from './copy-queries.ts'
import { deleteMovingState, dropGuard, listGuarded, type MovingState } from './guard-queries.ts'
import { inGuardedCell, type Run, RunEnded, untilUnlocked } from './run.ts'
import type { MovedTable } from './tables.ts'

const BATCH = 2_000

interface Copy {
  db: ConnectedDb
  cell: number
  state: MovingState
}

export async function cleanOldCopy(run: Run): Promise<void> {
  const { move, source } = run
  await deleteCopy(run, { db: source, cell: move.fromCell, state: 'gone' })
  await dropGuards(run)
  await deleteMovingState(source, move)
}

/** Before the switch. Repeated by the next run if this one dies. */
export async function cleanNewCopy(run: Run): Promise<void> {
  const { app, move, source, target } = run
  // By the accounts of the copy, so before these are deleted.
  await inGuardedCell(run, target, 'incoming', (tx) => deleteLookups(tx, move.merchantId))
  await deleteCopy(run, { db: target, cell: move.toCell, state: 'incoming' })
  await app.failpoints.hit('move.after_undo')
  await dropGuards(run)
  for (const db of [source, target]) await deleteMovingState(db, move)
}

async function dropGuards({ app, move, source, target, signal }: Run): Promise<void> {
  for (const db of [source, target])
    for (const table of await listGuarded(db, move.merchantId))
      await untilUnlocked({ app, signal }, () => dropGuard(db, table, move.merchantId))
}

async function deleteCopy(run: Run, copy: Copy): Promise<void> {
  for (const table of run.tables) if (isOfCell(copy, table)) await deleteRows(run, copy, table)
}

/** The instance needs the keys of its own operations. Those of the cell are purged there by their age. */
function isOfCell({ cell }: Copy, { name }: MovedTable): boolean {
  return name !== 'idempotency_keys' || cell !== 0
}

async function deleteRows(run: Run, { db, state }: Copy, table: MovedTable): Promise<void> {
  const { move, signal } = run
  for (;;) {
    if (signal.aborted) throw new RunEnded('the run was stopped')
    const deleted = await inGuardedCell(run, db, state, (tx) => deleteSome(tx, table, move.merchantId, BATCH))
    if (deleted < BATCH) return
  }
}
