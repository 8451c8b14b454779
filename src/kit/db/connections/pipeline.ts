// Statements that are sent to the server in one write, before one Sync. On PostgreSQL alone they are one transaction. The
// driver has no call for it, so this file uses internals of it; its version is pinned.

import pg from 'pg'

export interface BoundStatement {
  /** Empty: it is prepared for this use. */
  name: string
  text: string
  values: readonly string[]
}

/** A statement of the driver. Without a name it is prepared for one use. */
export type SentQuery = pg.QueryConfig & { name: string; query_timeout?: number; hasOnePlan?: boolean }

export const unnamed = (text: string): BoundStatement => ({ name: '', text, values: [] })

export interface DriverConnection {
  stream: { cork(): void; uncork(): void }
  submittedNamedStatements: Record<string, string>
  parse(message: { name: string; text: string }): void
  bind(message: { statement: string; values: readonly string[] }): void
  execute(message: object): void
  sync(): void
}

export function sendStatement(
  connection: DriverConnection,
  { name, text, values }: Readonly<BoundStatement>,
): void {
  if (name === '') connection.parse({ name, text })
  connection.bind({ statement: name, values })
  connection.execute({})
}

/** Sends the statement between others, in one round trip, and returns its result after the reply to the last one. */
export function sendBetween(
  client: pg.PoolClient,
  before: readonly BoundStatement[],
  config: SentQuery,
  after: readonly BoundStatement[] = [],
): Promise<pg.QueryResult> {
  // Without the mode, the driver would send a statement without name and values by the simple protocol, and skip the
  // others.
  return submit(client, config, (query) =>
    between(before, Object.assign(query, { queryMode: 'extended' }), after),
  )
}

/** Sends one statement. */
export function sendAlone(client: pg.PoolClient, config: SentQuery): Promise<pg.QueryResult> {
  return submit(client, config, (query) => query)
}

/** Not with the object, which the driver copies property by property: that takes twenty times as long as the rest. */
function submit(
  client: pg.PoolClient,
  { text, values, name, query_timeout }: SentQuery,
  prepare: (query: DriverQuery) => DriverQuery,
): Promise<pg.QueryResult> {
  const sent = new Promise<pg.QueryResult>((resolve, reject) => {
    const query = new DriverQuery(text, values, (error, result) => (error ? reject(error) : resolve(result)))
    client.query(prepare(Object.assign(query, { name, query_timeout })))
  })
  return sent.catch((error: Error) => {
    // As the driver does: the stack ends in its socket, and should name the callers.
    Error.captureStackTrace(error)
    throw error
  })
}

type Done = (error: Error | undefined, result: pg.QueryResult) => void

// A boundary: the driver's types leave out its callback, and how its queries write to the connection.
const DriverQuery = pg.Query as unknown as new (
  text: string,
  values: unknown[] | undefined,
  done: Done,
) => DriverQuery

interface DriverQuery extends pg.Submittable {
  name: string
  text: string
  query_timeout: number | undefined
  hasBeenParsed(connection: DriverConnection): boolean
  prepare(connection: DriverConnection): void
  /** Sends the statement, and the Sync. */
  _getRows(connection: DriverConnection): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: DriverConnection): void
}

/** The same query, whose connection ignores the replies to the others. If one fails, the server skips the rest. */
function between(
  before: readonly BoundStatement[],
  query: DriverQuery,
  after: readonly BoundStatement[],
): DriverQuery {
  const { prepare, handleDataRow, handleCommandComplete } = query
  let done = 0
  return Object.assign(query, {
    prepare(connection: DriverConnection) {
      if (before.some(({ name }) => name === '')) parseFirst(query, connection)
      for (const statement of before) sendStatement(connection, statement)
      prepare.call(query, connection)
    },
    _getRows(connection: DriverConnection) {
      connection.execute({})
      for (const statement of after) sendStatement(connection, statement)
      connection.sync()
    },
    handleDataRow(message: unknown) {
      if (done === before.length) handleDataRow.call(query, message)
    },
    handleCommandComplete(message: unknown, connection: DriverConnection) {
      if (done === before.length) handleCommandComplete.call(query, message, connection)
      done += 1
    },
  })
}

/** The driver marks its query as prepared at the first ParseComplete, so the Parse of the query is sent first. */
function parseFirst(query: DriverQuery, connection: DriverConnection): void {
  const { name, text } = query
  if (name === '' || query.hasBeenParsed(connection)) return
  connection.parse({ name, text })
  connection.submittedNamedStatements[name] = text
}
