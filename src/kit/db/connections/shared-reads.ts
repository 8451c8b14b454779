// Concurrent reads of requests share a round trip: they are sent on one connection in one write, as one transaction, each
// tenant before its reads. A statement that a connection has run before is not described again, because PostgreSQL
// refuses a prepared statement whose columns have changed. Most of the cost of a small read is not its rows: it is waking
// the server and this process, starting its statement, and reading the names and types of the columns.

import type pg from 'pg'
import { type BoundStatement, type DriverConnection, sendStatement } from './pipeline.ts'
import { orRollBack, type QueryScope, statementsAround, type Tenant } from './tenant-query.ts'

export interface SharedRead extends Omit<BoundStatement, 'values'> {
  scope: QueryScope
  tenant: Tenant
  /**
   * Texts. The last one may be an array of keys: each row then begins with its key, in the form in which PostgreSQL writes
   * it, and reads of one tenant that differ in the keys alone become one statement, which takes a quarter of the time for each
   * of twelve.
   */
  values: readonly (string | readonly string[])[]
  /** Equal for reads of the same statement, tenant and values. */
  id: string
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
  get(id: string): Returned | undefined
  set(id: string, returned: Returned): void
}

interface Returned {
  values: readonly Values[]
  rows: Row[]
}

// A payment with its attempts and its method usually takes about ten kilobytes, and two for each kept text of its record.
const MAX_LAST_ROWS = 500
const MAX_KEPT_LENGTH = 64_000

export function createLastRows(): LastRows {
  const returned = new Map<string, Returned>()
  // The map stays in the order of use, and its first entry is the oldest.
  const set = (id: string, value: Returned) => {
    returned.delete(id)
    returned.set(id, value)
    const [oldest] = returned.keys()
    if (returned.size > MAX_LAST_ROWS && oldest !== undefined) returned.delete(oldest)
  }
  return {
    get(id) {
      const found = returned.get(id)
      if (found) set(id, found)
      return found
    },
    set,
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
    rowsOf.set(read, frozen(rows))
  }
  const prepared = reads.filter((read) => !rowsOf.has(read))
  const valuesOf = await sendPrepared(client, prepared, timeoutMs)
  for (const read of prepared) {
    const readRow = known.get(read.name)
    if (!readRow) throw new Error('a shared read is prepared')
    rowsOf.set(read, toRows(lastRows, read.id, valuesOf.get(read) ?? [], readRow))
  }
  return reads.map((read) => rowsOf.get(read) ?? [])
}

function toRows(lastRows: LastRows, id: string, values: readonly Values[], readRow: ReadRow): Row[] {
  const last = lastRows.get(id)
  if (last && areEqual(last.values, values)) return last.rows
  const rows = frozen(values.map(readRow))
  if (lengthOf(values) <= MAX_KEPT_LENGTH) lastRows.set(id, { values, rows })
  return rows
}

/** Several callers share them. */
function frozen(rows: Row[]): Row[] {
  for (const row of rows) Object.freeze(row)
  return Object.freeze(rows) as Row[]
}

const lengthOf = (values: readonly Values[]) =>
  values.flat().reduce((length, value) => length + (value?.length ?? 0), 0)

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

interface Step {
  statement: BoundStatement
  /** Takes the values of a row; absent for a statement that is not a read. */
  takeRow?: (values: Values) => void
}

/** What is sent, in this order. */
function planSteps(
  client: pg.PoolClient,
  reads: readonly SharedRead[],
  valuesOf: Map<SharedRead, Values[]>,
): Step[] {
  const { before, after } = statementsAround(client)
  const steps: Step[] = before.map((statement) => ({ statement }))
  for (const ofTenant of Map.groupBy(reads, ({ tenant }) => tenant.id).values()) {
    const [first] = ofTenant
    // The tenant lasts until the end of the transaction, or until the next one is set.
    if (first) steps.push({ statement: first.tenant.setterFor(client) })
    for (const group of Map.groupBy(ofTenant, statementIdOf).values()) steps.push(stepOf(group, valuesOf))
  }
  for (const statement of after) steps.push({ statement })
  return steps
}

/** Equal for reads that one statement can answer. */
function statementIdOf(read: SharedRead): string {
  return keysOf(read) ? JSON.stringify([read.name, textsOf(read)]) : read.id
}

function keysOf({ values }: SharedRead): readonly string[] | undefined {
  const last = values.at(-1)
  return typeof last === 'string' ? undefined : last
}

const textsOf = ({ values }: SharedRead) => values.filter((value) => typeof value === 'string')

function stepOf(reads: readonly SharedRead[], valuesOf: Map<SharedRead, Values[]>): Step {
  const [first] = reads
  if (!first) throw new Error('a statement without a read')
  const { name, text } = first
  const values = textsOf(first)
  for (const read of reads) valuesOf.set(read, [])
  const takeFor = (some: readonly SharedRead[], row: Values) => {
    for (const read of some) valuesOf.get(read)?.push(row)
  }
  const keys = keysOf(first)
  if (values.length + (keys ? 1 : 0) !== first.values.length)
    throw new Error('the values of a shared read are texts and keys')
  if (!keys) return { statement: { name, text, values }, takeRow: (row) => takeFor(reads, row) }
  const readsOf = new Map<string, SharedRead[]>()
  for (const read of reads)
    for (const key of keysOf(read) ?? []) readsOf.set(key, [...(readsOf.get(key) ?? []), read])
  return {
    statement: { name, text, values: [...values, arrayText([...readsOf.keys()])] },
    takeRow: (row) => takeFor(readsOf.get(row[0] ?? '') ?? [], row),
  }
}

/** PostgreSQL's text form of an array of texts. */
function arrayText(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`
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
      steps[done]?.takeRow?.(fields)
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
