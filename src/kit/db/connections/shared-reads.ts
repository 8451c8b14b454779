// Concurrent reads of requests share a round trip: they are sent on one connection in one write, as one transaction, each
// tenant before its reads. A statement that a connection has run before is not described again, because PostgreSQL
// refuses a prepared statement whose columns have changed. Most of the cost of a small read is not its rows: it is waking
// the server and this process, and reading the names and types of the columns.

import type pg from 'pg'
import { type BoundStatement, type DriverConnection, sendStatement } from './pipeline.ts'
import { orRollBack, type QueryScope, statementsAround, type Tenant } from './tenant-query.ts'

export interface SharedRead extends BoundStatement {
  scope: QueryScope
  tenant: Tenant
  /** Equal for reads of the same statement, tenant and values. */
  key: string
}

type Row = Record<string, unknown>
type Values = readonly (string | null)[]
type Parse = (text: string) => unknown
type ReadRow = (values: Values) => Row

/**
 * What each read returned last. A read that returns the same values returns the same rows, so that callers can keep what they
 * made of them. The rows are always read: a change of another process is seen at once.
 */
export interface LastRows {
  get(key: string): Returned | undefined
  set(key: string, returned: Returned): void
}

interface Returned {
  values: readonly Values[]
  rows: Row[]
}

// A payment with its attempts and its method takes about ten kilobytes.
const MAX_LAST_ROWS = 500

export function createLastRows(): LastRows {
  const returned = new Map<string, Returned>()
  return {
    get: (key) => returned.get(key),
    set(key, value) {
      returned.delete(key)
      returned.set(key, value)
      const [oldest] = returned.keys()
      if (returned.size > MAX_LAST_ROWS && oldest !== undefined) returned.delete(oldest)
    },
  }
}

// What each connection has prepared.
const readers = new WeakMap<pg.PoolClient, Map<string, ReadRow>>()

/** Returns the rows of each read. If one fails, all of them fail. */
export async function sendTogether(
  client: pg.PoolClient,
  reads: readonly SharedRead[],
  { types, lastRows, timeoutMs }: { types: pg.TypeOverrides; lastRows: LastRows; timeoutMs: number },
): Promise<Row[][]> {
  const known = readers.get(client) ?? new Map<string, ReadRow>()
  readers.set(client, known)
  const rowsOf = new Map<SharedRead, Row[]>()
  for (const read of reads) {
    const { scope, name, text, values } = read
    if (known.has(name)) continue
    const query = { name, text, values: [...values], query_timeout: timeoutMs }
    const { fields, rows } = await scope.send(client, query)
    known.set(name, rowReader(fields, types))
    rowsOf.set(read, rows)
  }
  const prepared = reads.filter((read) => !rowsOf.has(read))
  const valuesOf = await sendPrepared(client, prepared, timeoutMs)
  for (const read of prepared) {
    const readRow = known.get(read.name)
    if (!readRow) throw new Error('a shared read is prepared')
    rowsOf.set(read, toRows(lastRows, read.key, valuesOf.get(read) ?? [], readRow))
  }
  return reads.map((read) => rowsOf.get(read) ?? [])
}

function toRows(lastRows: LastRows, key: string, values: readonly Values[], readRow: ReadRow): Row[] {
  const last = lastRows.get(key)
  if (last && areEqual(last.values, values)) return last.rows
  const rows = values.map((one) => Object.freeze(readRow(one)))
  // Several callers share them.
  Object.freeze(rows)
  lastRows.set(key, { values, rows })
  return rows
}

const areEqual = (one: readonly Values[], other: readonly Values[]) =>
  one.length === other.length &&
  one.every((values, row) => values.every((value, at) => value === other[row]?.[at]))

async function sendPrepared(
  client: pg.PoolClient,
  reads: readonly SharedRead[],
  timeoutMs: number,
): Promise<Map<SharedRead, Values[]>> {
  const valuesOf = new Map<SharedRead, Values[]>()
  if (reads.length === 0) return valuesOf
  await orRollBack(client, timeoutMs, () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const done = (error: unknown) => (error ? reject(error) : resolve())
    client.query(createPipeline(planSteps(client, reads, valuesOf), timeoutMs, done))
    return promise
  })
  return valuesOf
}

function rowReader(fields: readonly pg.FieldDef[], types: pg.TypeOverrides): ReadRow {
  const names = fields.map(({ name }) => name)
  // A boundary: the driver's types have another parameter, for parsers of values in text form.
  const parsers = fields.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text') as unknown as Parse)
  const empty: Row = Object.fromEntries(names.map((name) => [name, null]))
  return (values) => {
    if (values.length !== names.length) throw new Error('the columns of a prepared statement have changed')
    const row = { ...empty }
    for (let index = 0; index < names.length; index += 1) {
      const value = values[index] ?? null
      if (value !== null) row[names[index] ?? ''] = parsers[index]?.(value)
    }
    return row
  }
}

const byTenant = ({ tenant: a }: SharedRead, { tenant: b }: SharedRead) =>
  Number(a.id > b.id) - Number(a.id < b.id)

interface Step {
  statement: BoundStatement
  /** Where the values of its rows go; absent for a statement that is not a read. */
  rows?: Values[]
}

/** What is sent, in this order. */
function planSteps(
  client: pg.PoolClient,
  reads: readonly SharedRead[],
  valuesOf: Map<SharedRead, Values[]>,
): Step[] {
  const { before, after } = statementsAround(client)
  const steps: Step[] = before.map((statement) => ({ statement }))
  let tenantId: string | undefined
  for (const read of reads.toSorted(byTenant)) {
    if (read.values.some((value) => typeof value !== 'string'))
      throw new Error('the values of a shared read are texts')
    // The tenant lasts until the end of the transaction, or until the next one is set.
    if (tenantId !== read.tenant.id) steps.push({ statement: read.tenant.setterFor(client) })
    tenantId = read.tenant.id
    const rows: Values[] = []
    valuesOf.set(read, rows)
    steps.push({ statement: read, rows })
  }
  for (const statement of after) steps.push({ statement })
  return steps
}

/** What the driver sends to a connection, and the replies that it hands over. */
function createPipeline(steps: readonly Step[], timeoutMs: number, callback: (error?: unknown) => void) {
  let done = 0
  return {
    query_timeout: timeoutMs,
    callback,
    submit(connection: unknown) {
      // A boundary: the driver's types leave out how its queries write to the connection.
      const driver = connection as DriverConnection
      driver.stream.cork()
      for (const { statement } of steps) sendStatement(driver, statement)
      driver.sync()
      driver.stream.uncork()
      return null
    },
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      steps[done]?.rows?.push(fields)
    },
    handleCommandComplete() {
      done += 1
    },
    handleError(error: unknown) {
      this.callback(error)
    },
    handleReadyForQuery() {
      this.callback()
    },
  }
}
