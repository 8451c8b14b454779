/** The row of a statement that always returns one, such as an insert or a count. */
export function requireRow<Row>(rows: readonly Row[]): Row {
  const [row] = rows
  if (!row) throw new Error('the statement returned no row')
  return row
}
