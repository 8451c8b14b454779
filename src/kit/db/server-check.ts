// Checks the version and the settings of the PostgreSQL server before money is written to it.

import { type Db, sql } from './db.ts'

interface ServerRow {
  version: number
  fsync: string
  fullPageWrites: string
  synchronousCommit: string
  lockTimeout: string
}

const selectServer = sql<ServerRow>`
select
  current_setting('server_version_num')::integer as version,
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as "fullPageWrites",
  current_setting('synchronous_commit') as "synchronousCommit",
  current_setting('lock_timeout') as "lockTimeout"`

const OLDEST_MAJOR = 15

const NO_TIMEOUTS =
  'the connections to the database have no timeouts: a pooler in between has dropped them. With pgbouncer, put ' +
  "connect_query='set statement_timeout = 10000; set lock_timeout = 2000; set idle_in_transaction_session_timeout = 15000' " +
  'into the line of the database (docs/running-in-production.md).'

/** Throws with what to change. In production also if the server acknowledges commits that a power cut can lose. */
export async function requireUsableServer(db: Db, mustBeDurable: boolean): Promise<void> {
  const [server] = await db.query(selectServer)
  if (!server) throw new Error('the database server did not tell its settings')
  const major = Math.floor(server.version / 10_000)
  if (major < OLDEST_MAJOR) {
    throw new Error(`the database server is PostgreSQL ${major}; Cowry needs ${OLDEST_MAJOR} or newer.`)
  }
  // Every connection requests it at its start; a pooler in between may have dropped it.
  if (server.lockTimeout === '0') throw new Error(NO_TIMEOUTS)
  if (!mustBeDurable) return
  const problems = [
    server.fsync === 'off' && 'fsync is off',
    server.fullPageWrites === 'off' && 'full_page_writes is off',
    ['off', 'local'].includes(server.synchronousCommit) &&
      `synchronous_commit is ${server.synchronousCommit}`,
  ].filter((issue) => issue !== false)
  if (problems.length === 0) return
  throw new Error(
    `the database server may lose acknowledged payments in a power cut: ${problems.join(', ')}. Turn it on in postgresql.conf; production does not start without.`,
  )
}
