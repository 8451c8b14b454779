// PostgreSQL servers of a pair: copies of one migrated cluster, each a process tree that can be killed at once.

import { chmodSync, realpathSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { descendantsOf } from '../../../bench/processes.ts'
import { connectDb } from '../../../src/kit/db/db.ts'
import { migrate } from '../../../src/kit/db/migrate.ts'
import { findPostgresBinaries } from '../../../src/kit/embedded-postgres/binaries.ts'
import { fixOwnership, readPassword, SUPERUSER } from '../../../src/kit/embedded-postgres/cluster.ts'
import { chooseLauncher, type Launcher, MACHINE } from '../../../src/kit/embedded-postgres/launcher.ts'
import { openServerLog } from '../../../src/kit/embedded-postgres/server-log.ts'
import { supervise } from '../../../src/kit/embedded-postgres/supervise.ts'
import { startEmbeddedPostgres } from '../../../src/kit/embedded-postgres.ts'
import type { Cleanup } from '../../support/database.ts'
import { findFreePort } from '../../support/deployment.ts'
import { eventually, tempFolder } from '../../support/process.ts'

/** A migrated cluster that was stopped cleanly: one copy can be a primary, and another its standby. */
export interface Base {
  folder: string
  cluster: string
  password: string
  launcher: Launcher
}

export interface Server {
  port: number
  /** A direct connection that bypasses every proxy. */
  url: string
  query<Row extends pg.QueryResultRow>(text: string, withinMs?: number): Promise<Row[]>
  /** Kills all its processes with SIGKILL. */
  kill(): Promise<void>
}

export async function prepareBase(t: Cleanup): Promise<Base> {
  const folder = await tempFolder(t, 'failover')
  // As root the servers run as another user, who needs to traverse their folders.
  chmodSync(folder, 0o711)
  const dataDir = join(folder, 'base')
  const binaries = findPostgresBinaries(18)
  if (!binaries) throw new Error('there is no PostgreSQL for this platform in node_modules')
  const postgres = await startEmbeddedPostgres({ dataDir })
  const db = connectDb({ url: postgres.url, poolSize: 1 })
  await migrate(db)
  await db.close()
  await postgres.stop()
  const cluster = realpathSync(join(dataDir, 'cluster'))
  const launcher = await chooseLauncher({
    dataDir,
    cluster,
    binaries: realpathSync(binaries),
    machine: MACHINE,
  })
  return { folder, cluster, password: readPassword(cluster), launcher }
}

// The settings that the service requires; short timeouts detect a cut link within a round.
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'on',
  synchronous_commit: 'on',
  shared_buffers: '64MB',
  max_connections: '100',
  wal_sender_timeout: '5s',
  wal_receiver_timeout: '5s',
  wal_keep_size: '256MB',
  log_min_messages: 'warning',
}

export async function startServer(
  t: Cleanup,
  base: Base,
  name: string,
  settings: Record<string, string>,
): Promise<Server> {
  const { launcher } = base
  const cluster = join(base.folder, name)
  await cp(base.cluster, cluster, { recursive: true, verbatimSymlinks: true })
  if (settings.primary_conninfo) writeFileSync(join(cluster, 'standby.signal'), '')
  fixOwnership(cluster, launcher)
  const port = await findFreePort()
  const log = openServerLog(join(base.folder, `${name}.log`))
  const options = Object.entries({ ...SETTINGS, ...settings }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ])
  const args = ['-D', launcher.nameFolder(cluster), '-p', String(port), ...options]
  const program = await supervise(launcher, join(launcher.binaries, 'bin', 'postgres'), args, {
    cwd: cluster,
    logFd: log.fd,
  })
  const kill = async () => {
    if (program.exit !== undefined) return
    // The parent first, so that it does not restart its children.
    for (const pid of [program.pid, ...descendantsOf(program.pid)]) killQuietly(pid)
    await program.exited
  }
  t.after(async () => {
    await kill()
    log.close()
  })
  const url = `postgres://${SUPERUSER}:${base.password}@127.0.0.1:${port}/cowry`
  const server: Server = { port, url, kill, query: (text, withinMs) => runQuery(url, text, withinMs) }
  await eventually(() => isAnswering(server), Boolean, 30_000)
  return server
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

async function isAnswering(server: Server): Promise<boolean> {
  try {
    await server.query('select 1')
    return true
  } catch {
    // Not yet: it recovers, or does not listen.
    return false
  }
}

async function runQuery<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  withinMs = 20_000,
): Promise<Row[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 2_000,
    query_timeout: withinMs,
    application_name: 'the test',
  })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    // Not awaited: a server that waits for its standby closes the connection only after the wait.
    void client.end().catch(() => undefined)
  }
}
