import type { Statement, Tx } from './db.ts'

/** The row of a statement that always returns one, such as an insert or a count. */
export function requireRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows
  if (!row) throw new Error('the statement returned no row')
  return row
}

/** The first row of a statement that returns one or none. */
export async function firstRow<Row>(
  tx: Tx,
  statement: Statement<Row>,
  values: readonly unknown[],
): Promise<Row | undefined> {
  const [row] = await tx.query(statement, values)
  return row
}
