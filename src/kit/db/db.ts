// One face over PostgreSQL: named prepared statements, one per round trip. A statement is a value made by the sql
// tag, so that a test can prepare every one of them against the migrated schema.

import { createHash } from 'node:crypto'
import pg from 'pg'
import { type QueryScope, scopeOf, UNSCOPED } from './tenant-query.ts'

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
  /**
   * The work asks the database, and does nothing else that must not be done twice: given up for the sake of another, it is
   * done again from its beginning.
   * Patient work is an operator's, such as a migration: its statements take as long as they take.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: { noTimeout?: boolean }): Promise<Result>
  close(): Promise<void>
}

/** The connections that a process has, and how many callers wait for one. */
export interface PoolStats {
  total: number
  idle: number
  waiting: number
}

/** Sees the rows of every merchant. */
export interface ConnectedDb extends Db {
  /** The same connections, behind the wall: the rows of this merchant are there, and no others. */
  forMerchant(merchantId: string): Db
  poolStats(): PoolStats
}

/** The database could not be asked, or its answer did not arrive: a statement may or may not have been committed. */
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
  /** False where a pooler between us and the server loses what was prepared: every statement is then sent in full. */
  preparedStatements?: boolean
  /** How long an answer is waited for. Absent: a little longer than the server takes to give a statement up. */
  responseTimeoutMs?: number
  onError?: (error: Error) => void
}

// A caller that cannot get a connection in this time is told to come back, instead of queueing without end.
const ACQUIRE_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 10_000
const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000
// The server gives a statement up by itself before this. Who hears nothing for longer speaks with nobody any more: the
// server is cut off from us, or it waits for a standby that is cut off from it.
const RESPONSE_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000

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
  const epochs = createConnectionEpochs(pool)
  const { responseTimeoutMs = RESPONSE_TIMEOUT_MS } = options
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
    const client = await epochs.acquire().catch((error: unknown) => {
      throw new DbUnavailable(error)
    })
    let broken: Error | undefined
    try {
      return await work(client)
    } catch (error) {
      const translated = toDbError(error)
      if (isConnectionLost(translated) && translated instanceof Error) broken = translated
      if (isServerLost(error)) epochs.retire(client)
      throw translated
    } finally {
      client.release(broken)
    }
  }

  // A statement without a name is the driver's for one time only.
  const withPreparedName = <Row>(statement: Statement<Row>): Statement<Row> =>
    options.preparedStatements === false ? { ...statement, name: '' } : statement

  const createTx = (client: pg.PoolClient, scope: QueryScope, timeoutMs?: number): Tx => ({
    query: (statement, values = []) =>
      runStatement(
        client,
        { ...UNSCOPED, prefix: scope.prefix },
        withPreparedName(statement),
        values,
        timeoutMs,
      ),
    script: async (text) => void (await client.query(text)),
  })

  const inTransaction = async <Result>(
    client: pg.PoolClient,
    scope: QueryScope,
    noTimeout: boolean,
    work: (tx: Tx) => Promise<Result>,
  ): Promise<Result> => {
    const timeoutMs = noTimeout ? undefined : responseTimeoutMs
    try {
      await client.query(withTimeout(scope.begin, timeoutMs))
      const result = await work(createTx(client, scope, timeoutMs))
      await assertReplicated(client, () => client.query(withTimeout('commit', timeoutMs)))
      return result
    } catch (error) {
      // A connection that is gone or silent is dropped, and what was begun on it ends with it.
      if (!isConnectionLost(error)) await client.query('rollback').catch(() => undefined)
      throw error
    }
  }

  const dbFor = (scope: QueryScope): Db => ({
    query: (statement, values = []) =>
      retryDeadlocks(() =>
        withClient((client) =>
          runStatement(client, scope, withPreparedName(statement), values, responseTimeoutMs),
        ),
      ),
    script: (text) => withClient((client) => createTx(client, scope).script(text)),
    transaction: (work, { noTimeout = false } = {}) =>
      retryDeadlocks(() => withClient((client) => inTransaction(client, scope, noTimeout, work))),
    close: () => {
      isClosing = true
      return pool.end()
    },
  })
  return {
    ...dbFor(UNSCOPED),
    forMerchant: (merchantId) => ({ ...dbFor(scopeOf(merchantId)), script: rejectScript }),
    poolStats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
  }
}

const rejectScript = () => Promise.reject(new Error('behind the wall there are only statements of ours'))

async function runStatement<Row>(
  client: pg.PoolClient,
  scope: QueryScope,
  { name, text }: Statement<Row>,
  values: readonly unknown[],
  timeoutMs: number | undefined,
): Promise<Row[]> {
  const query = {
    ...withTimeout(text, timeoutMs),
    name: name && `${scope.prefix}${name}`,
    values: [...values],
  }
  const result = await assertReplicated(client, () => scope.send(client, query))
  // A boundary: the row type stands right above its query, and a test preparedStatements each against the schema.
  return result.rows as Row[]
}

/** The driver gives the answer up after this; without it, never. */
function withTimeout(text: string, timeoutMs: number | undefined) {
  return { text, query_timeout: timeoutMs }
}

/** Connections of one generation lead to the same server, as far as anybody knows. */
interface ConnectionEpochs {
  acquire(): Promise<pg.PoolClient>
  /** The server of this connection is not the one to speak with any more: all that were made with it or before are dropped. */
  retire(client: pg.PoolClient): void
}

function createConnectionEpochs(pool: pg.Pool): ConnectionEpochs {
  const epochOf = new WeakMap<pg.PoolClient, number>()
  const writable = new WeakSet<pg.PoolClient>()
  let currentEpoch = 0
  pool.on('connect', (client) => void epochOf.set(client, currentEpoch))
  // Not by the pool's own verify: a caller whose time runs out meanwhile is told so, and the connection is then given to
  // nobody and never comes back.
  const checkWritable = async (client: pg.PoolClient): Promise<void> => {
    try {
      await requireWritable(client)
    } catch (error) {
      client.release(true)
      throw error
    }
    writable.add(client)
  }
  return {
    async acquire() {
      for (;;) {
        const client = await pool.connect()
        if (epochOf.get(client) === currentEpoch) {
          if (!writable.has(client)) await checkWritable(client)
          return client
        }
        client.release(true)
      }
    },
    retire(client) {
      // Many of one generation find out at about the same time; those that were made since may be right.
      if (epochOf.get(client) === currentEpoch) currentEpoch += 1
    },
  }
}

/** After a failover the address may still lead to a server that only reads. */
async function requireWritable(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query(withTimeout('show transaction_read_only', ACQUIRE_TIMEOUT_MS))
  if (rows[0]?.transaction_read_only === 'on')
    throw new Error('the server takes no writes: it is a standby, or was made read-only')
}

const replicationWarnings = new WeakMap<pg.PoolClient, string>()

function watchReplication(client: pg.PoolClient): void {
  client.on('notice', (notice) => {
    // By the function that gives the warning, because its words are in the language of the server.
    const isAboutReplication =
      notice.routine === 'SyncRepWaitForLSN' || notice.message?.includes('synchronous replication')
    if (!isAboutReplication) return
    replicationWarnings.set(client, notice.message ?? 'a commit was not replicated')
  })
}

/**
 * A commit whose wait for the synchronous standby was cancelled succeeds with a warning although the standby does not
 * have it. We say that we do not know instead of acknowledging it.
 */
async function assertReplicated<Result>(client: pg.PoolClient, work: () => Promise<Result>): Promise<Result> {
  const result = await work()
  const warning = replicationWarnings.get(client)
  if (warning) throw new DbUnavailable(new Error(warning))
  return result
}

// Classes of SQLSTATE that are about the server or the connection, not about the statement.
const UNAVAILABLE_STATES = /^(08|53|57P0|25006|58)/

// Statements that took too long, waiting for a lock or at work: the caller is told to come back.
const TIMEOUT_STATES = new Set(['55P03', '57014'])

function toDbError(error: unknown): unknown {
  if (error instanceof DbUnavailable) return error
  const state = sqlStateOf(error)
  if (state && TIMEOUT_STATES.has(state)) return new DbUnavailable(error, true)
  if (state) return UNAVAILABLE_STATES.test(state) ? new DbUnavailable(error) : error
  return isConnectionError(error) ? new DbUnavailable(error) : error
}

const READ_TIMEOUT_MESSAGE = 'Query read timeout'
const READ_ONLY_STATE = '25006'

/** Not only this connection is of no use, but all that lead where it leads. */
function isServerLost(error: unknown): boolean {
  const isSilent = error instanceof Error && error.message === READ_TIMEOUT_MESSAGE
  return isSilent || sqlStateOf(error) === READ_ONLY_STATE
}

/** Nothing more can be said on the connection that it happened on. */
function isConnectionLost(error: unknown): boolean {
  const translated = toDbError(error)
  return translated instanceof DbUnavailable && !translated.isRolledBack
}

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return (
    /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH|ENOENT)/.test(code) ||
    /[Cc]onnection (terminated|ended|error)|is not queryable/.test(error.message) ||
    error.message === READ_TIMEOUT_MESSAGE
  )
}

/** The SQLSTATE of a server error, such as 23505 for a unique violation. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  return error.code
}

const RETRYABLE_STATES = new Set(['40P01', '40001'])
const MAX_DEADLOCK_ATTEMPTS = 3

/**
 * Runs work again that the server rolled back for the sake of another: nothing of it was written. At once, because the
 * other has by then what it waited for.
 */
export async function retryDeadlocks<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (!RETRYABLE_STATES.has(sqlStateOf(error) ?? '')) throw error
      if (attempt === MAX_DEADLOCK_ATTEMPTS) throw new DbUnavailable(error, true)
    }
  }
}
