// Invariants are views in the database that return violating rows; this module counts them.

import { type Db, sql, type Tx } from './db.ts'

export interface InvariantReport {
  name: string
  violations: number
}

const countInvariants = sql<{ report: Record<string, number> }>`select count_invariants() as report`

export async function checkInvariants(db: Db): Promise<InvariantReport[]> {
  const count = async (tx: Tx) => {
    // Reads all rows, sequentially (migrate.ts rules it out elsewhere), without a time limit.
    await tx.script('set local statement_timeout = 0; set local enable_seqscan = on')
    return tx.query(countInvariants)
  }
  const [row] = await db.transaction(count, { noTimeout: true })
  return Object.entries(row?.report ?? {})
    .map(([name, violations]) => ({ name, violations }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
