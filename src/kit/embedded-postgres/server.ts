// Starts the server on a free port, waits until it is ready, and stops it.

import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { majorOf, SUPERUSER } from './cluster.ts'
import type { Launcher } from './launcher.ts'
import { readPostmasterFile, stopOrphanServer } from './orphan.ts'
import { explainFailure, type ServerLog } from './server-log.ts'
import { shutDown } from './signals.ts'
import { type Supervised, supervise } from './supervise.ts'

export interface RunningServer {
  program: Supervised
  port: number
}

const DATABASE = 'cowry'
// PostgreSQL's code for a database that does not exist.
const NO_SUCH_DATABASE = '3D000'
const LOOPBACK = '127.0.0.1'
const POLL_MS = 10
const CONNECT_TIMEOUT_MS = 20_000
// Recovery after a crash replays at most about a gigabyte of WAL, which takes a minute or two on a slow disk.
const READY_TIMEOUT_MS = 10 * 60_000
const SLOW_START_MS = 3_000
// Another process may take the port between our check and the server's bind, and backends of a killed server exit with
// a delay. The retries last 12 s in total, longer than the supervisor of such a server needs to stop it.
const RETRIES = 60
const RETRY_DELAY_MS = 200
const TRANSIENT_FAILURE = /could not bind IPv4 address|pre-existing shared memory block/

// Passed on the command line, so that they override the configuration files of the cluster.
const SETTINGS = {
  listen_addresses: LOOPBACK,
  unix_socket_directories: '',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  // A page that changes for the first time after a checkpoint is written whole: 2.4 kB instead of 5.9 kB, and less often.
  wal_compression: 'pglz',
  checkpoint_timeout: '15min',
  max_connections: '100',
  // Allocated on use. Together with the service, the idle memory must stay below 230 MB.
  shared_buffers: '128MB',
  max_logical_replication_workers: '0',
  jit: 'off',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_line_prefix: '%m [%p] ',
  log_min_messages: 'warning',
  log_checkpoints: 'off',
  // Statements contain data of merchants and customers, which must not be in a log.
  log_min_error_statement: 'panic',
}
// Disables the three I/O workers of version 18: our data is usually in memory.
const SETTINGS_FROM_18 = { io_method: 'sync' }

interface ServerOptions {
  settings?: Record<string, string>
  // Absent: any free port.
  port?: number
  onProgress?: (message: string) => void
}

export async function runServer(
  launcher: Launcher,
  cluster: string,
  log: ServerLog,
  { settings, port: wantedPort, onProgress = () => {} }: ServerOptions,
): Promise<RunningServer> {
  const program = join(launcher.binaries, 'bin', 'postgres')
  for (let attempt = 1; ; attempt += 1) {
    const port = wantedPort ?? (await findFreePort())
    const args = serverArguments(launcher, cluster, port, settings)
    const server = {
      port,
      program: await supervise(launcher, program, args, { cwd: cluster, logFd: log.fd }),
    }
    if (await waitUntilReady(server, cluster, onProgress)) return server
    const isTransient = server.program.exit && TRANSIENT_FAILURE.test(log.tail())
    await stopServer(server, cluster)
    if (!isTransient || attempt === RETRIES) {
      throw explainFailure(`The database server did not start: ${server.program.exit}.`, log)
    }
    await delay(RETRY_DELAY_MS)
  }
}

export async function stopServer({ program }: RunningServer, cluster: string): Promise<void> {
  // While the supervisor runs, the process id belongs to the server.
  await shutDown(program.pid, () => program.exit === undefined)
  // If only the supervisor was killed, the server is still running.
  await stopOrphanServer(cluster, () => {})
}

// Connecting also proves that the password is correct, which the server's ready state does not.
export async function ensureDatabase(urlOf: (database: string) => string): Promise<string> {
  const url = urlOf(DATABASE)
  try {
    await runStatements(url, [])
  } catch (error) {
    if ((error as { code?: string }).code !== NO_SUCH_DATABASE) throw error
    await runStatements(urlOf('postgres'), [
      // The detail of a constraint error contains the values of the row, which must not be in the log.
      `alter role ${SUPERUSER} set log_error_verbosity = 'terse'`,
      `create database ${DATABASE} encoding 'UTF8' template template0`,
    ])
  }
  return url
}

async function runStatements(url: string, statements: string[]): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  // keepRunning reports a server that dies while we are connected.
  client.on('error', () => {})
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

async function waitUntilReady(
  { program }: RunningServer,
  cluster: string,
  onProgress: (message: string) => void,
): Promise<boolean> {
  const startedAt = performance.now()
  let hasReported = false
  while (!program.exit) {
    const file = readPostmasterFile(cluster)
    if (file?.ready && file.pid === program.pid) return true
    const waitedMs = performance.now() - startedAt
    if (waitedMs > READY_TIMEOUT_MS) return false
    if (waitedMs > SLOW_START_MS && !hasReported) {
      onProgress('still waiting for the database; after an unclean shutdown it may need a minute to recover')
      hasReported = true
    }
    await delay(POLL_MS)
  }
  return false
}

function serverArguments(
  launcher: Launcher,
  cluster: string,
  port: number,
  overrides: Record<string, string> = {},
): string[] {
  const ours = majorOf(launcher.version) >= 18 ? { ...SETTINGS, ...SETTINGS_FROM_18 } : SETTINGS
  const settings = Object.entries({ ...ours, ...overrides })
  return [
    '-D',
    launcher.nameFolder(cluster),
    '-p',
    String(port),
    ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, LOOPBACK)
  await once(listener, 'listening')
  const address = listener.address()
  listener.close()
  await once(listener, 'close')
  if (address === null || typeof address === 'string')
    throw new Error('the operating system returned no free port')
  return address.port
}
