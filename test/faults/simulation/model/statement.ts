// Identifies statements for the model: it calls the real function once with a Db that only records the statement. So no
// SQL text is repeated here or goes stale.

import type { Db, Statement } from '../../../../src/kit/db/db.ts'
import type { Row, TableAccess } from './store.ts'

export type Run = (access: TableAccess, values: readonly unknown[]) => Row[]

export interface ModelledStatement {
  /** The function of the service that runs the statement. */
  name: string
  statement: Statement<unknown>
  run: Run
}

/** The statements that a function runs; the recording Db returns no rows. */
function captureStatements(work: (db: Db) => Promise<unknown>): Statement<unknown>[] {
  const captured: Statement<unknown>[] = []
  const db: Db = {
    query: (statement) => {
      captured.push(statement)
      return Promise.resolve([])
    },
    script: () => Promise.resolve(),
    transaction: (transact) => transact(db),
    close: () => Promise.resolve(),
  }
  // The function fails without rows; the error does not matter.
  void work(db).catch(() => undefined)
  return captured
}

export function modelStatement(
  name: string,
  work: (db: Db) => Promise<unknown>,
  run: Run,
): ModelledStatement {
  const [statement] = captureStatements(work)
  if (!statement) throw new Error(`${name} runs no statement`)
  return { name, statement, run }
}

const camel = (column: string) => column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Columns under the names that rows have in the service. */
export function pickColumns(...columns: string[]): (row: Row) => Row {
  const names = columns.map((column) => [column, camel(column)] as const)
  return (row) => {
    const picked: Row = {}
    for (const [column, name] of names) picked[name] = row[column]
    return picked
  }
}

export type Kind = 'date' | 'minor'

/** The columns that the statement of the function reads from JSON with jsonb_to_recordset. */
export function recordsetColumns(work: (db: Db) => Promise<unknown>): string[] {
  const [statement] = captureStatements(work)
  const [, columns] = /jsonb_to_recordset\(\$1::jsonb\) as \w+ \(([^)]+)\)/.exec(statement?.text ?? '') ?? []
  if (columns === undefined) throw new Error('the statement reads no recordset')
  return columns.split(',').map((column) => column.trim().split(' ')[0] ?? '')
}

/** As jsonb_to_recordset: parses rows from JSON, each column by its type; absent columns are null. */
export function readRows(json: unknown, kinds: Record<string, Kind>, columns: readonly string[]): Row[] {
  // A boundary: the service makes the text, and the columns define its types.
  const rows = JSON.parse(json as string) as Row[]
  return rows.map((row) =>
    Object.fromEntries(
      columns.map((name) => [name, name in kinds ? readValue(row[name], kinds[name]) : (row[name] ?? null)]),
    ),
  )
}

function readValue(value: unknown, kind: Kind | undefined): unknown {
  if (value === null || value === undefined) return null
  return kind === 'date' ? new Date(value as string) : BigInt(value as string)
}

/** Of PostgreSQL's text of bytes. */
export const bytea = (text: unknown) => Buffer.from(String(text).slice(2), 'hex')

/** For ordering: dates by their time, null as later than every date. */
export function timeOf(value: unknown): number {
  return value === null || value === undefined ? Number.POSITIVE_INFINITY : (value as Date).getTime()
}

/** True only where both exist and the first is not later. */
export function isDue(value: unknown, now: unknown): boolean {
  return value !== null && timeOf(value) <= timeOf(now)
}

export function isSame(a: unknown, b: unknown): boolean {
  return a !== null && b !== null && timeOf(a) === timeOf(b)
}

export const latest = (a: unknown, b: unknown): unknown => {
  if (a === null) return b
  return b === null || timeOf(a) >= timeOf(b) ? a : b
}

export const orderBy =
  (...columns: string[]) =>
  (a: Row, b: Row): number => {
    for (const column of columns) {
      const [left, right] = [String(a[column]), String(b[column])]
      if (left !== right) return left < right ? -1 : 1
    }
    return 0
  }

export const byTime = (column: string) => (a: Row, b: Row) => timeOf(a[column]) - timeOf(b[column])

/** Locks and returns due rows that are not locked, the earliest first. */
export function claim(
  access: TableAccess,
  table: string,
  column: string,
  now: unknown,
  limit: unknown,
): Row[] {
  const due = access.all(table).filter((row) => isDue(row[column], now) && access.isUnlocked(table, row))
  const claimed = due.sort(byTime(column)).slice(0, Number(limit))
  for (const row of claimed) access.lock(table, row)
  return claimed
}
