// Deletes the copy in the cell that a merchant has left. The row of the merchant itself stays, because its entries of the audit
// log stay where they were written.

import { deleteSome } from './copy-queries.ts'
import { deleteMovingState, dropGuard, listGuarded } from './guard-queries.ts'
import { inGuardedCell, type Run, RunEnded, untilUnlocked } from './run.ts'
import type { MovedTable } from './tables.ts'

const BATCH = 2_000

export async function cleanOldCopy(run: Run): Promise<void> {
  const { app, move, source, target, tables, signal } = run
  for (const table of tables) if (isOfCell(run, table)) await deleteRows(run, table)
  for (const db of [source, target])
    for (const table of await listGuarded(db, move.merchantId))
      await untilUnlocked({ app, signal }, () => dropGuard(db, table, move.merchantId))
  await deleteMovingState(source, move)
}

/** The instance needs the keys of its own operations. */
function isOfCell({ move }: Run, { name }: MovedTable): boolean {
  return name !== 'idempotency_keys' || move.fromCell !== 0
}

async function deleteRows(run: Run, table: MovedTable): Promise<void> {
  const { move, source, signal } = run
  for (;;) {
    if (signal.aborted) throw new RunEnded('the process stops')
    const deleted = await inGuardedCell(run, source, 'gone', (tx) =>
      deleteSome(tx, table, move.merchantId, BATCH),
    )
    if (deleted < BATCH) return
  }
}
