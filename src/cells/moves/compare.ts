// Compares both copies row by row while the merchant works. A row that differs must have a recorded change, which the switch
// copies and compares.

import { type CopiedRow, type RowDigest, readDigests, readRange } from './copy-queries.ts'
import { listUnrecorded } from './guard-queries.ts'
import { MoveRefused, type Run, RunEnded, readCopying } from './run.ts'
import { isLateOnly, type MovedTable } from './tables.ts'

const BATCH = 2_000

export async function compareCopies(run: Run): Promise<void> {
  for (const table of run.tables)
    if (!isLateOnly(table) && isComparable(run, table)) await compareTable(run, table)
}

/** The instance has keys of its own operations beside those of the cell. */
function isComparable({ move }: Run, { name }: MovedTable): boolean {
  return name !== 'idempotency_keys' || move.toCell !== 0
}

async function compareTable(run: Run, table: MovedTable): Promise<void> {
  const { move, source, target, signal } = run
  const { merchantId } = move
  let after: CopiedRow['key'] | undefined
  for (;;) {
    if (signal.aborted) throw new RunEnded('the run was stopped')
    const page = await readCopying(source, (tx) => readRange(tx, table, merchantId, after, BATCH))
    // The last range has no end, so that a row which only the new copy has is found.
    const until = page.length < BATCH ? undefined : page.at(-1)?.key
    const range = { after, until }
    const one = await readCopying(source, (tx) => readDigests(tx, table, merchantId, range))
    const other = await readCopying(target, (tx) => readDigests(tx, table, merchantId, range))
    const differing = diffOf(one, other)
    if (differing.length > 0) await requireRecorded(run, table, differing)
    if (until === undefined) return
    after = until
  }
}

/** The keys that only one has, or with another digest. */
export function diffOf(one: readonly RowDigest[], other: readonly RowDigest[]): string[] {
  const lines = (rows: readonly RowDigest[]) =>
    new Map(rows.map(({ key, digest }) => [JSON.stringify(key), digest]))
  const [left, right] = [lines(one), lines(other)]
  return [...new Set([...left.keys(), ...right.keys()])].filter((key) => left.get(key) !== right.get(key))
}

/** Read after the rows, so every change that was seen is in it. */
async function requireRecorded({ move, source }: Run, table: MovedTable, differing: string[]): Promise<void> {
  const unknown = await listUnrecorded(source, move.merchantId, table.name, differing)
  if (unknown.length === 0) return
  throw new MoveRefused(
    `the copies of ${table.name} differ in ${unknown.length} rows without a change, such as ${unknown[0]}`,
  )
}
