// Copies a merchant while it works: first all rows by their keys, then, again and again, those that have changed meanwhile.

import {
  type CopiedRow,
  deleteKeyed,
  deleteLate,
  deleteLookups,
  insertRows,
  type KeyedRows,
  readKeyed,
  readRange,
} from './copy-queries.ts'
import { type Change, deleteChanges, listChanges } from './guard-queries.ts'
import { saveProgress } from './move-queries.ts'
import { inGuardedCell, type Run, RunEnded, readCopying, requireRun } from './run.ts'
import { isLateOnly, type MovedTable } from './tables.ts'

const BATCH = 1_000

/** Copies the rows that are not late, from where the run before has stopped. */
export async function copyRows(run: Run): Promise<void> {
  const { copiedUntil } = run.move
  const tables = run.tables.filter((table) => !isLateOnly(table))
  const first = tables.findIndex(({ name }) => name === copiedUntil?.table)
  for (const [index, table] of tables.entries())
    if (index >= first) await copyTable(run, table, index === first ? copiedUntil?.key : undefined)
}

async function copyTable(run: Run, table: MovedTable, from: CopiedRow['key'] | undefined): Promise<void> {
  const { app, move, source, target, signal } = run
  let after = from
  for (;;) {
    if (signal.aborted) throw new RunEnded('the run was stopped')
    const rows = await readCopying(source, (tx) => readRange(tx, table, move.merchantId, after, BATCH))
    const last = rows.at(-1)
    if (!last) return
    const texts = rows.map(({ row }) => row)
    await inGuardedCell(run, target, 'incoming', (tx) =>
      insertRows(tx, [{ table, rows: texts }], { isRepeatable: true }),
    )
    after = last.key
    const progress = { table: table.name, key: after }
    requireRun(await saveProgress(app.unscopedInstanceDb, move, progress, rows.length))
    if (rows.length < BATCH) return
  }
}

/** By table, each key once. */
export function groupChanges(tables: readonly MovedTable[], changes: readonly Change[]): KeyedRows[] {
  const byTable = Map.groupBy(changes, ({ table }) => table)
  return tables.flatMap((table) => {
    const found = byTable.get(table.name)
    if (!found) return []
    const keys = new Map(found.map(({ key }) => [JSON.stringify(key), key]))
    return [{ table, keys: [...keys.values()] }]
  })
}

// A change of one unique value, such as the default method, is of two rows: the more changes at once, the fewer are apart.
const MOST_CHANGES = 20_000
/** So few that they can be copied during the switch. */
const FEW_CHANGES = 500

const FEWEST_CHANGES = 20
const MOST_ROUNDS = 20

/** Copies what has changed, until little is left; the more tries of the switch there were, the less, if it can be done. */
export async function catchUp(run: Run, tries = 1): Promise<void> {
  const { move, source, target, tables, signal } = run
  const few = Math.max(FEWEST_CHANGES, FEW_CHANGES >> (tries - 1))
  for (let rounds = 1; ; rounds += 1) {
    if (signal.aborted) throw new RunEnded('the run was stopped')
    const changes = await listChanges(source, move.merchantId, MOST_CHANGES)
    if (changes.length === 0) return
    const changed = groupChanges(tables, changes)
    if (changed.length > 0) {
      const rows = await readCopying(source, (tx) => readKeyed(tx, changed))
      await inGuardedCell(run, target, 'incoming', async (tx) => {
        await deleteKeyed(tx, changed)
        await insertRows(tx, rows)
      })
    }
    const ids = changes.map(({ id }) => id)
    await deleteChanges(source, move.merchantId, ids)
    if (changes.length < (rounds < MOST_ROUNDS ? few : FEW_CHANGES)) return
  }
}

/** What a switch that has failed may have left in the new cell. */
export function deleteLateRows(run: Run): Promise<void> {
  return inGuardedCell(run, run.target, 'incoming', async (tx) => {
    await deleteLookups(tx, run.move.merchantId)
    for (const table of run.tables)
      if (table.late !== undefined) await deleteLate(tx, table, run.move.merchantId)
  })
}
