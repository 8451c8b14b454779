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
}

type Row = Record<string, unknown>
type Parse = (text: string) => unknown
type ReadRow = (values: readonly (string | null)[]) => Row

// What each connection has prepared.
const readers = new WeakMap<pg.PoolClient, Map<string, ReadRow>>()

/** Returns the rows of each read. If one fails, all of them fail. */
export async function sendTogether(
  client: pg.PoolClient,
  reads: readonly SharedRead[],
  types: pg.TypeOverrides,
  timeoutMs: number,
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
  await sendPrepared(
    client,
    reads.filter((read) => !rowsOf.has(read)),
    known,
    rowsOf,
    timeoutMs,
  )
  return reads.map((read) => rowsOf.get(read) ?? [])
}

async function sendPrepared(
  client: pg.PoolClient,
  reads: readonly SharedRead[],
  known: ReadonlyMap<string, ReadRow>,
  rowsOf: Map<SharedRead, Row[]>,
  timeoutMs: number,
): Promise<void> {
  if (reads.length === 0) return
  await orRollBack(client, timeoutMs, () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const done = (error: unknown) => (error ? reject(error) : resolve())
    client.query(createPipeline(planSteps(client, reads, known, rowsOf), timeoutMs, done))
    return promise
  })
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
  /** Where its rows go; absent for a statement that is not a read. */
  addRow?: (values: readonly (string | null)[]) => void
}

/** What is sent, in this order. */
function planSteps(
  client: pg.PoolClient,
  reads: readonly SharedRead[],
  known: ReadonlyMap<string, ReadRow>,
  rowsOf: Map<SharedRead, Row[]>,
): Step[] {
  const { before, after } = statementsAround(client)
  const steps: Step[] = before.map((statement) => ({ statement }))
  let tenantId: string | undefined
  for (const read of reads.toSorted(byTenant)) {
    const readRow = known.get(read.name)
    if (!readRow || read.values.some((value) => typeof value !== 'string'))
      throw new Error('a shared read is prepared, and its values are texts')
    // The tenant lasts until the end of the transaction, or until the next one is set.
    if (tenantId !== read.tenant.id) steps.push({ statement: read.tenant.setterFor(client) })
    tenantId = read.tenant.id
    const rows: Row[] = []
    rowsOf.set(read, rows)
    steps.push({ statement: read, addRow: (values) => rows.push(readRow(values)) })
  }
  for (const statement of after) steps.push({ statement })
  return steps
}

/** What the driver sends to a connection, and the replies that it hands over. */
function createPipeline(steps: readonly Step[], timeoutMs: number, callback: (error?: unknown) => void) {
  let done = 0
  /** A value that could not be read: reported after the last reply. */
  let failure: unknown
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
      try {
        if (!failure) steps[done]?.addRow?.(fields)
      } catch (error) {
        failure = error
      }
    },
    handleCommandComplete() {
      done += 1
    },
    handleError(error: unknown) {
      this.callback(error)
    },
    handleReadyForQuery() {
      this.callback(failure)
    },
  }
}
