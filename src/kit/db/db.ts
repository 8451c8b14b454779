// The PostgreSQL client: named prepared statements, one round trip each. A statement is a value made by the sql tag, so
// that a test can prepare every one of them against the migrated schema.

import { createHash } from 'node:crypto'
import pg from 'pg'
import { createBatcher } from './batch.ts'
import { createConnectionEpochs, withTimeout } from './connections/epochs.ts'
import { createLastRows, type SharedRead, sendTogether } from './connections/shared-reads.ts'
import { type QueryScope, READ_TIMEOUT_MESSAGE, scopeOf, UNSCOPED } from './connections/tenant-query.ts'
import { readTimestamp, TIMESTAMPTZ } from './timestamps.ts'

export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Whether it may change rows, also in a with clause. */
  readonly isWrite?: boolean
  /** Concurrent ones of requests share a round trip (shared-reads.ts). */
  readonly isShared?: boolean
  /** Its plan is the best one for any values: PostgreSQL is not to plan it again for the values of each call. */
  readonly hasOnePlan?: boolean
  /** Only a type: the row that the statement returns. */
  readonly row?: Row
}

const statements = new Map<string, Statement<unknown>>()
const WRITE_WORDS = /\b(insert into|update|delete from)\b/

/**
 * A static statement with $1 … placeholders. Interpolations must be constant text of our own, such as a column list;
 * values are always parameters.
 */
export function sql<Row>(strings: TemplateStringsArray, ...fragments: string[]): Statement<Row> {
  const text = String.raw({ raw: strings }, ...fragments).trim()
  const name = `s_${createHash('sha256').update(text).digest('hex').slice(0, 20)}`
  const statement: Statement<Row> = { name, text, isWrite: WRITE_WORDS.test(text) }
  statements.set(name, statement)
  return statement
}

/** A read of few rows by a key: the others of its round trip wait for it. Its values are as SharedRead says. */
export function shared<Row>(statement: Statement<Row>): Statement<Row> {
  const marked = { ...statement, isShared: true }
  statements.set(statement.name, marked)
  return marked
}

/** A read whose plan is the best one for any values. Without effect on a handle that sees every merchant. */
export function onePlan<Row>(statement: Statement<Row>): Statement<Row> {
  const marked = { ...statement, hasOnePlan: true }
  statements.set(statement.name, marked)
  return marked
}

/** Every statement of the modules loaded so far. */
export function allStatements(): Statement<unknown>[] {
  return [...statements.values()]
}

export interface Tx {
  query<Row>(statement: Statement<Row>, values?: readonly unknown[]): Promise<Row[]>
  /** Free-form SQL, for migrations and tests only. */
  script(text: string): Promise<void>
  /** In a transaction: runs the action once it has committed. Absent where each statement commits by itself. */
  afterCommit?(action: () => void): void
}

/** Runs the action once what was written through `tx` is committed: now, or at the end of its transaction. */
export function afterCommit(tx: Tx, action: () => void): void {
  if (tx.afterCommit) tx.afterCommit(action)
  else action()
}

export interface Db extends Tx {
  /**
   * The callback must only touch the database: it is re-run if PostgreSQL aborts it as a deadlock or serialization
   * victim. With noTimeout, for an operator's work such as a migration, its statements have no time limit.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, options?: { noTimeout?: boolean }): Promise<Result>
  close(): Promise<void>
}

/** The connections of a process, and the number of callers that wait for one. */
export interface PoolStats {
  total: number
  idle: number
  waiting: number
}

/** Sees the rows of every merchant (unscoped, without row-level security). */
export interface ScopableDb extends Db {
  /** The same connections with row-level security: only the rows of this merchant are visible. */
  forMerchant(merchantId: string, audit?: string): Db
  /** The same connections; changes of audited rows are recorded with this actor (audit-context.ts). */
  audited(audit: string): Db
}

export interface ConnectedDb extends ScopableDb {
  poolStats(): PoolStats
  /** How many statements and transactions of this process have committed that may have changed rows. */
  writeCount(): number
  /** Connections of their own to the same database, for work that must not wait for the others. The caller closes them. */
  apart(poolSize: number): ConnectedDb
}

/** The database was unreachable, or its reply did not arrive: a statement may or may not have been committed. */
export class DbUnavailable extends Error {
  /** The server itself cancelled the statement: nothing of it was written, and other statements may succeed. */
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
  /** False behind a pooler that loses prepared statements: every statement is then sent in full. */
  preparedStatements?: boolean
  /** How long to wait for a reply. Absent: slightly longer than the server's own statement timeout. */
  responseTimeoutMs?: number
  /** How long a caller waits for a connection before it fails, instead of queueing without end. */
  acquireTimeoutMs?: number
  onError?: (error: Error) => void
}

// A request that gets no connection within this time is answered with 503.
const ACQUIRE_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 10_000
const LOCK_TIMEOUT_MS = 2_000
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000
// The server cancels a statement before this. If no reply arrives within this time, assume the server is unreachable or
// blocked on a disconnected synchronous standby.
const RESPONSE_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000

const INT8 = 20
const typeParsers = new pg.TypeOverrides()
// Amounts are bigint columns: a JavaScript number would round them.
typeParsers.setTypeParser(INT8, (text: string) => BigInt(text))
typeParsers.setTypeParser(TIMESTAMPTZ, readTimestamp)

export function connectDb(options: DbOptions): ConnectedDb {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: options.acquireTimeoutMs ?? ACQUIRE_TIMEOUT_MS,
    application_name: options.applicationName ?? 'cowry',
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    types: typeParsers,
    keepAlive: true,
    // The only connection keeps its session, with its locks, while a command does other work.
    ...(options.poolSize === 1 && { idleTimeoutMillis: 0 }),
  })
  const epochs = createConnectionEpochs(pool, ACQUIRE_TIMEOUT_MS)
  const { responseTimeoutMs = RESPONSE_TIMEOUT_MS } = options
  let isClosing = false
  let writes = 0
  // The pool replaces an idle connection that breaks; without a listener the error would end the process. During our
  // own shutdown the server may close first, which is no error.
  pool.on('error', (error) => isClosing || options.onError?.(error))
  pool.on('connect', (client) => {
    // A connection that breaks in use rejects its caller, and also emits this event.
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

  // Without a name the driver prepares the statement for one use.
  const withPreparedName = <Row>(statement: Statement<Row>): Statement<Row> =>
    options.preparedStatements === false ? { ...statement, name: '' } : statement

  const createTx = (client: pg.PoolClient, scope: QueryScope, timeoutMs?: number): Tx => ({
    async query(statement, values = []) {
      const inside = { ...UNSCOPED, prefix: scope.prefix }
      return (await runStatement(client, inside, withPreparedName(statement), values, timeoutMs)).rows
    },
    script: async (text) => void (await client.query(text)),
  })

  const inTransaction = async <Result>(
    client: pg.PoolClient,
    scope: QueryScope,
    noTimeout: boolean,
    work: (tx: Tx) => Promise<Result>,
  ): Promise<Result> => {
    const timeoutMs = noTimeout ? undefined : responseTimeoutMs
    const actions: (() => void)[] = []
    const tx: Tx = {
      ...createTx(client, scope, timeoutMs),
      afterCommit: (action) => void actions.push(action),
    }
    try {
      await scope.begin(client, timeoutMs)
      const result = await work(tx)
      await assertReplicated(client, () => client.query(withTimeout('commit', timeoutMs)))
      writes += 1
      for (const action of actions) action()
      return result
    } catch (error) {
      // Drops a connection that is broken or silent; its transaction ends with it.
      if (!isConnectionLost(error)) await client.query('rollback').catch(() => undefined)
      throw error
    }
  }

  const lastRows = createLastRows()
  /** The reads that are not sent yet: an equal one shares the reply, which is newer than both. */
  const unsent = new Map<string, Promise<unknown[]>>()
  const readShared = createBatcher<SharedRead, unknown[]>({
    run: (reads) => {
      for (const { id } of reads) unsent.delete(id)
      const needs = { types: typeParsers, lastRows, timeoutMs: responseTimeoutMs }
      return retryDeadlocks(() => withClient((client) => sendTogether(client, reads, needs)))
    },
    ...SHARED_READS,
    // A timeout of one statement fails that read alone.
    shouldSplit: (error) => !(error instanceof DbUnavailable) || error.isRolledBack,
  })
  const readOnce = (read: SharedRead): Promise<unknown[]> => {
    const rows = unsent.get(read.id) ?? readShared(read)
    unsent.set(read.id, rows)
    return rows
  }

  const dbFor = (scope: QueryScope): Db => ({
    async query<Row>(statement: Statement<Row>, values: readonly unknown[] = []) {
      const { tenant } = scope
      if (statement.isShared && tenant && options.preparedStatements !== false) {
        const name = `${scope.prefix}${statement.name}`
        const id = JSON.stringify([name, tenant.id, values])
        // Boundaries: the values of shared reads are texts and keys, and rows are as in runStatement.
        const read = { scope, tenant, id, name, text: statement.text, values: values as SharedRead['values'] }
        return readOnce(read) as Promise<Row[]>
      }
      const { rows, rowCount } = await retryDeadlocks(() =>
        withClient((client) =>
          runStatement(client, scope, withPreparedName(statement), values, responseTimeoutMs),
        ),
      )
      if (statement.isWrite && rowCount) writes += 1
      return rows
    },
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
    forMerchant: (merchantId, audit) => ({ ...dbFor(scopeOf(merchantId, audit)), script: rejectScript }),
    audited: (audit) => dbFor(scopeOf(undefined, audit)),
    poolStats: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    writeCount: () => writes,
    apart: (poolSize) => connectDb({ ...options, poolSize }),
  }
}

// Reads that arrive together share a batch. With two batches at most a plain server answered 1.1 times as many balances as
// with four, and as many verifications; two cells on Citus answered 1.2 times as many with four as without a limit. A read
// waits at most 100 ms for batches that hang.
const SHARED_READS = { maxSize: 32, concurrency: 2, stalledAfterMs: 100 }

const rejectScript = () => Promise.reject(new Error('a tenant-scoped handle runs only prepared statements'))

async function runStatement<Row>(
  client: pg.PoolClient,
  scope: QueryScope,
  { name, text, hasOnePlan = false }: Statement<Row>,
  values: readonly unknown[],
  timeoutMs: number | undefined,
): Promise<{ rows: Row[]; rowCount: number | null }> {
  const query = {
    ...withTimeout(text, timeoutMs),
    name: name && `${scope.prefix}${name}`,
    values: [...values],
    hasOnePlan,
  }
  const { rows, rowCount } = await assertReplicated(client, () => scope.send(client, query))
  // A boundary: the row type stands right above its query, and a test prepares each statement against the schema.
  return { rows: rows as Row[], rowCount }
}

const replicationWarnings = new WeakMap<pg.PoolClient, string>()

function watchReplication(client: pg.PoolClient): void {
  client.on('notice', (notice) => {
    // Matched by the function that raises the warning, because the message is in the server's language.
    const isAboutReplication =
      notice.routine === 'SyncRepWaitForLSN' || notice.message?.includes('synchronous replication')
    if (!isAboutReplication) return
    replicationWarnings.set(client, notice.message ?? 'a commit was not replicated')
  })
}

/**
 * A commit whose wait for the synchronous standby was cancelled succeeds with a warning although the standby does not
 * have it. We report an unknown outcome instead of acknowledging it.
 */
async function assertReplicated<Result>(client: pg.PoolClient, work: () => Promise<Result>): Promise<Result> {
  const result = await work()
  const warning = replicationWarnings.get(client)
  if (warning) throw new DbUnavailable(new Error(warning))
  return result
}

// SQLSTATE classes that concern the server or the connection, not the statement.
const UNAVAILABLE_STATES = /^(08|53|57P0|25006|58)/

// Statements that exceeded the lock or statement timeout: the caller gets 503 and may retry.
const TIMEOUT_STATES = new Set(['55P03', '57014'])

function toDbError(error: unknown): unknown {
  if (error instanceof DbUnavailable) return error
  const state = sqlStateOf(error)
  if (state && TIMEOUT_STATES.has(state)) return new DbUnavailable(error, true)
  if (state) return UNAVAILABLE_STATES.test(state) || isNodeLost(error) ? new DbUnavailable(error) : error
  return isConnectionError(error) ? new DbUnavailable(error) : error
}

const NODE_LOST = [
  'failure on connection marked as essential',
  'server closed the connection unexpectedly',
  // The node was excluded by the operator (docs/scaling.md).
  'no active placements were found',
  'cannot find a worker that has active placements',
  'found no worker with all shard placements',
]

/** Citus reports that one of its nodes has ended as an internal error. */
function isNodeLost(error: unknown): boolean {
  return error instanceof Error && NODE_LOST.some((start) => error.message.startsWith(start))
}

const READ_ONLY_STATE = '25006'

/** Not only this connection is unusable, but every connection to the same server. */
function isServerLost(error: unknown): boolean {
  const isSilent = error instanceof Error && error.message === READ_TIMEOUT_MESSAGE
  return isSilent || sqlStateOf(error) === READ_ONLY_STATE
}

/** The connection cannot be used after this error. */
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
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** Raised by guard_moving_merchant and by refuse_departed_merchant, functions of the migrations. */
const MERCHANT_MOVED = ['CW001', 'CW002']

/** The merchant whose write was refused because it works in another cell; undefined for any other error. */
export function movedMerchantOf(error: unknown): string | undefined {
  if (!MERCHANT_MOVED.includes(sqlStateOf(error) ?? '') || !(error instanceof pg.DatabaseError))
    return undefined
  return error.detail
}

// The last one is of Citus: while it moves a schema to another node, a statement was prepared on one and ended on the other.
const RETRYABLE_STATES = new Set(['40P01', '40001', 'CIINF'])
const MAX_DEADLOCK_ATTEMPTS = 3

/**
 * Retries work that the server rolled back, such as a deadlock or serialization victim: nothing of it was written. Without
 * backoff, because the other transaction has its locks by then.
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
