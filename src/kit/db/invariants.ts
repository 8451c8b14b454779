// What must always be true stands in the database as views that return violating rows; here they are counted.

import { type Db, sql, type Tx } from './db.ts'

export interface InvariantReport {
  name: string
  violations: number
}

const countInvariants = sql<{ report: Record<string, number> }>`select count_invariants() as report`

export async function checkInvariants(db: Db): Promise<InvariantReport[]> {
  const count = async (tx: Tx) => {
    // Over all books there are, however long that takes.
    await tx.script('set local statement_timeout = 0')
    return tx.query(countInvariants)
  }
  const [row] = await db.transaction(count, { noTimeout: true })
  return Object.entries(row?.report ?? {})
    .map(([name, violations]) => ({ name, violations }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
