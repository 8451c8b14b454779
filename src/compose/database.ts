// The database of the service: connected, checked and migrated, and its handle with row-level security.

import { join } from 'node:path'
import type { Config } from '../config.ts'
import { type ConnectedDb, connectDb } from '../kit/db/db.ts'
import { migrate } from '../kit/db/migrate.ts'
import { requireUsableServer } from '../kit/db/server-check.ts'
import { applyRowLevelSecurity } from '../kit/db/tenant-isolation.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../kit/embedded-postgres.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import { explainDatabase } from '../start-advice.ts'
import type { Stops } from './parts.ts'

export interface DatabaseOptions {
  /** Receives progress lines for the operator's terminal. */
  onProgress?: (line: string) => void
  /** Called when the embedded PostgreSQL exits by itself, and after each failed restart of it. */
  onDatabaseExit?: (reason: string) => void
  /** Called when it runs again. */
  onDatabaseRestart?: () => void
  /** How long a request waits for a connection before it is answered with 503; tests on a busy machine wait longer. */
  acquireTimeoutMs?: number
}

/** A command waits longer for its connection than a request, also on a busy machine. */
export const COMMAND: DatabaseOptions = { acquireTimeoutMs: 30_000 }

/** Starts the embedded PostgreSQL, which is used when DATABASE_URL is not set. */
export function startEmbedded(
  { dataDir }: Config,
  { onProgress, onDatabaseExit, onDatabaseRestart }: DatabaseOptions,
): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    dataDir: join(dataDir, 'postgres'),
    onProgress,
    onExit: onDatabaseExit,
    onRestart: onDatabaseRestart,
  })
}

export async function openDatabase(
  config: Config,
  options: DatabaseOptions,
  log: Log,
  stops: Stops,
): Promise<ConnectedDb> {
  let url = config.databaseUrl
  if (url === null) {
    const postgres = await startEmbedded(config, options)
    stops.push(() => postgres.stop())
    url = postgres.url
  }
  const onError = (error: Error) => log.write('database.connection_lost', errorFields(error))
  const { poolSize, preparedStatements } = config
  const db = connectDb({
    url,
    poolSize,
    preparedStatements,
    onError,
    acquireTimeoutMs: options.acquireTimeoutMs,
  })
  stops.push(() => db.close())
  await requireUsableServer(db, config.environment === 'production').catch(explainDatabase(config))
  const { applied } = await migrate(db).catch(explainDatabase(config))
  if (applied.length > 0) log.write('database.migrated', { count: applied.length })
  return db
}

/**
 * Row-level security, the second tenant isolation beside the merchant id in every statement. Without the privileges for
 * it the service runs with the first one alone, and logs a warning.
 */
export async function areTenantsIsolated(db: ConnectedDb, log: Log): Promise<boolean> {
  const gaps = await applyRowLevelSecurity(db)
  if (gaps.length === 0) return true
  const reason = gaps.map(({ what, why }) => `${what} ${why}`).join('; ')
  log.write('database.tenant_isolation_off', { reason })
  return false
}
