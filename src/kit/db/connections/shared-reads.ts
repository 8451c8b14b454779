// Concurrent reads of requests share a round trip: they are sent on one connection in one write, each with its own tenant
// before it, as one transaction. A statement that a connection has run before is not described again, because PostgreSQL
// refuses a prepared statement whose columns have changed. Most of the cost of a small read is not its rows: it is waking
// the server and this process, and reading the names and types of the columns.

import type pg from 'pg'
import type { QueryScope, Setter } from './tenant-query.ts'

export interface SharedRead {
  scope: QueryScope
  name: string
  text: string
  values: readonly string[]
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
  await new Promise<void>((resolve, reject) => {
    const done = (error: unknown) => (error ? reject(error) : resolve())
    client.query(createPipeline(reads, known, rowsOf, timeoutMs, done))
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

interface Connection {
  stream: { cork(): void; uncork(): void }
  bind(message: { statement: string; values: readonly string[] }): void
  execute(message: object): void
  sync(): void
}

/** Of one statement: the reader of its rows and where they go; nothing for one that sets a tenant. */
type Step = { readRow: ReadRow; rows: Row[] } | undefined

/** What the driver sends to a connection, and the replies that it hands over. */
function createPipeline(
  reads: readonly SharedRead[],
  known: ReadonlyMap<string, ReadRow>,
  rowsOf: Map<SharedRead, Row[]>,
  timeoutMs: number,
  callback: (error?: unknown) => void,
) {
  const steps: Step[] = []
  let done = 0
  /** A value that could not be read: reported after the last reply. */
  let failure: unknown
  const send = (
    connection: Connection,
    { name, values }: Pick<SharedRead, 'name' | 'values'>,
    step: Step,
  ) => {
    steps.push(step)
    connection.bind({ statement: name, values })
    connection.execute({})
  }
  return {
    reads,
    query_timeout: timeoutMs,
    callback,
    submit(connection: unknown) {
      // A boundary: the driver's types leave out how its queries write to the connection.
      const driver = connection as Connection
      driver.stream.cork()
      let tenant: Setter | undefined
      for (const read of reads) {
        const readRow = known.get(read.name)
        const { setter } = read.scope
        if (!readRow || !setter) throw new Error('a shared read has a tenant and a prepared statement')
        // The tenant lasts until the end of the transaction, or until the next one is set.
        if (tenant?.values[0] !== setter.values[0]) send(driver, setter, undefined)
        tenant = setter
        const rows: Row[] = []
        rowsOf.set(read, rows)
        send(driver, read, { readRow, rows })
      }
      driver.sync()
      driver.stream.uncork()
      return null
    },
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      const step = steps[done]
      try {
        if (step && !failure) step.rows.push(step.readRow(fields))
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
