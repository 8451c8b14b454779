// One face over PostgreSQL: named prepared statements, one per round trip. A statement is a value made by the sql
// tag, so that a test can prepare every one of them against the migrated schema.

import { createHash } from 'node:crypto'
import pg from 'pg'

export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Only a type: the row that the statement returns. */
  readonly row?: Row
}

const statements = new Map<string, Statement<unknown>>()

/**
 * A static statement with $1 … placeholders. What is interpolated must be constant text of our own, such as a column
 * list; values never are.
 */
export function sql<Row>(strings: TemplateStringsArray, ...fragments: string[]): Statement<Row> {
  const text = String.raw({ raw: strings }, ...fragments).trim()
  const name = `s_${createHash('sha256').update(text).digest('hex').slice(0, 20)}`
  const statement: Statement<Row> = { name, text }
  statements.set(name, statement)
  return statement
}

/** Every statement of the modules loaded so far. */
export function allStatements(): Statement<unknown>[] {
  return [...statements.values()]
}

export interface Tx {
  query<Row>(statement: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>
  /** Free-form text, for migrations and tests only. */
  script(text: string): Promise<void>
}

export interface Db extends Tx {
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

/** The database could not be asked, or its answer did not arrive: a statement may or may not have been committed. */
/** The connections that a process has, and how many callers wait for one. */
export interface PoolUse {
  total: number
  idle: number
  waiting: number
}

export interface ConnectedDb extends Db {
  use(): PoolUse
}

export class DbUnavailable extends Error {
  /** The server itself gave the statement up, so nothing of it was written and other statements may well go through. */
  readonly isRolledBack: boolean

  constructor(cause: unknown, isRolledBack = false) {
    super(`the database did not answer: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'DbUnavailable'
    this.isRolledBack = isRolledBack
  }
}

export interface DbOptions {
  url: string
  poolSize: number
  applicationName?: string
  onError?: (error: Error) => void
}

// A caller that cannot get a connection in this time is told to come back, instead of queueing without end.
const ACQUIRE_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 10_000
const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000

const INT8 = 20
const typeParsers = new pg.TypeOverrides()
// Amounts are bigint columns: a JavaScript number would round them.
typeParsers.setTypeParser(INT8, (text: string) => BigInt(text))

export function connectDb(options: DbOptions): ConnectedDb {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: ACQUIRE_TIMEOUT_MS,
    application_name: options.applicationName ?? 'cowry',
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    types: typeParsers,
    keepAlive: true,
  })
  let isClosing = false
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process. At our own end
  // the server may hang up first, and nobody need hear of it.
  pool.on('error', (error) => isClosing || options.onError?.(error))
  pool.on('connect', (client) => {
    // One that breaks while it is in use tells whoever waits for it, and this event besides.
    client.on('error', () => undefined)
    watchReplication(client)
  })

  const withClient = async <Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw new DbUnavailable(error)
    })
    let broken: Error | undefined
    try {
      return await work(client)
    } catch (error) {
      const translated = translate(error)
      if (translated instanceof DbUnavailable && !translated.isRolledBack) broken = translated
      throw translated
    } finally {
      client.release(broken)
    }
  }

  const txOver = (client: pg.PoolClient): Tx => ({
    query: (statement, values = []) => run(client, statement, values),
    script: async (text) => void (await client.query(text)),
  })

  return {
    query: (statement, values = []) => withClient((client) => run(client, statement, values)),
    script: (text) => withClient((client) => txOver(client).script(text)),
    transaction: (work) =>
      withClient(async (client) => {
        await client.query('begin')
        try {
          const result = await work(txOver(client))
          await certain(client, () => client.query('commit'))
          return result
        } catch (error) {
          // When the connection itself is gone there is nothing to roll back, and its error is the one to tell.
          await client.query('rollback').catch(() => undefined)
          throw error
        }
      }),
    close: () => {
      isClosing = true
      return pool.end()
    },
  }
}

async function run<Row>(
  client: pg.PoolClient,
  statement: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  const query = { name: statement.name, text: statement.text, values: [...values] }
    use: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  const result = await certain(client, () => client.query(query))
  // A boundary: the row type stands right above its query, and a test prepares each against the schema.
  return result.rows as Row[]
}

const replicationWarnings = new WeakMap<pg.PoolClient, string>()

function watchReplication(client: pg.PoolClient): void {
  client.on('notice', (notice) => {
    if (notice.code !== '01000' || !notice.message?.includes('synchronous replication')) return
    replicationWarnings.set(client, notice.message)
  })
}

/**
 * A commit whose wait for the synchronous standby was cancelled succeeds with a warning although the standby does not
 * have it. We say that we do not know instead of acknowledging it.
 */
async function certain<Result>(client: pg.PoolClient, work: () => Promise<Result>): Promise<Result> {
  const result = await work()
  const warning = replicationWarnings.get(client)
  if (warning) throw new DbUnavailable(new Error(warning))
  return result
}

// Classes of SQLSTATE that are about the server or the connection, not about the statement.
const UNAVAILABLE_STATES = /^(08|53|57P0|25006|58)/

// Statements that took too long, waiting for a lock or at work: the caller is told to come back.
const GIVEN_UP_STATES = new Set(['55P03', '57014'])

function translate(error: unknown): unknown {
  if (error instanceof DbUnavailable) return error
  const state = sqlStateOf(error)
  if (state && GIVEN_UP_STATES.has(state)) return new DbUnavailable(error, true)
  if (state) return UNAVAILABLE_STATES.test(state) ? new DbUnavailable(error) : error
  return isConnectionError(error) ? new DbUnavailable(error) : error
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENOENT)/.test(code) ||
    /[Cc]onnection (terminated|ended|error)|is not queryable/.test(error.message)
  )
}

/** The SQLSTATE of a server error, such as 23505 for a unique violation. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  return error.code
}

const DEADLOCK_STATES = new Set(['40P01', '40001'])
const DEADLOCK_TRIES = 3

export function isDeadlock(error: unknown): boolean {
  return DEADLOCK_STATES.has(sqlStateOf(error) ?? '')
}

/** Runs work again that the server rolled back for the sake of another: nothing of it was written. */
export async function retryDeadlocks<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (tries === DEADLOCK_TRIES || !isDeadlock(error)) throw error
    }
  }
}
