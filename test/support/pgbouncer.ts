// A pgbouncer in transaction mode between the tests and their server. The program is found in the PATH or in
// COWRY_TEST_PGBOUNCER. Every database of the server is reached under its own name.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from './deployment.ts'
import { eventually } from './process.ts'

export interface Pgbouncer {
  /** The URL of the server's own database; the others differ by name. */
  url: string
  /** False before 1.21, which drops prepared statements. */
  keepsPreparedStatements: boolean
  stop(): Promise<void>
}

export interface PgbouncerOptions {
  /** Connections to the server per database: few, because several files with several databases share one server. */
  poolSize?: number
  /** Whether it sets the timeouts that it drops from startup parameters. */
  setsTimeouts?: boolean
}

const PATHS = ['pgbouncer', '/usr/sbin/pgbouncer']
const NOBODY = 65_534

/** The program, if this machine has it. */
export function findPgbouncer(): { file: string; version: string } | undefined {
  const named = process.env.COWRY_TEST_PGBOUNCER
  for (const file of named ? [named] : PATHS) {
    try {
      const version = /PgBouncer (\d+\.\d+)/.exec(
        execFileSync(file, ['--version'], { encoding: 'utf8' }),
      )?.[1]
      if (version) return { file, version }
    } catch {
      // Not installed.
    }
  }
  return undefined
}

export async function startPgbouncer(serverUrl: string, options: PgbouncerOptions = {}): Promise<Pgbouncer> {
  const program = findPgbouncer()
  if (!program) throw new Error('there is no pgbouncer; set COWRY_TEST_PGBOUNCER to one')
  const folder = await mkdtemp(join(tmpdir(), 'cowry-pgbouncer-'))
  // pgbouncer refuses to run as root.
  await chmod(folder, 0o755)
  const port = await findFreePort()
  const keepsPreparedStatements = Number(program.version.split('.')[1]) >= 21
  const { username, password } = new URL(serverUrl)
  await writeFile(join(folder, 'users.txt'), `"${username}" "${decodeURIComponent(password)}"\n`)
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    settings(serverUrl, folder, port, keepsPreparedStatements, options),
  )
  const isRoot = process.getuid?.() === 0
  const child = spawn(program.file, [join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  })
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGINT')
    await ended
    await rm(folder, { recursive: true, force: true })
  }
  await eventually(
    () => isListening(port),
    (open) => open || child.exitCode !== null,
    10_000,
  )
  if (child.exitCode !== null) throw new Error(`pgbouncer did not start:\n${errors}`)
  const url = new URL(serverUrl)
  url.host = `127.0.0.1:${port}`
  return { url: url.href, keepsPreparedStatements, stop }
}

const TIMEOUTS =
  'set statement_timeout = 10000; set lock_timeout = 2000; set idle_in_transaction_session_timeout = 15000'

function settings(
  serverUrl: string,
  folder: string,
  port: number,
  keepsPreparedStatements: boolean,
  { poolSize = 4, setsTimeouts = true }: PgbouncerOptions,
): string {
  const { hostname, port: serverPort } = new URL(serverUrl)
  return [
    '[databases]',
    `* = host=${hostname} port=${serverPort}${setsTimeouts ? ` connect_query='${TIMEOUTS}'` : ''}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = plain',
    `auth_file = ${join(folder, 'users.txt')}`,
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 2000',
    'server_idle_timeout = 5',
    'server_login_retry = 1',
    // Shorter than any test's timeout, so that a shortage of connections fails clearly.
    'query_wait_timeout = 20',
    'ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,extra_float_digits',
    ...(keepsPreparedStatements ? ['max_prepared_statements = 500'] : []),
    'log_connections = 0',
    'log_disconnections = 0',
    '',
  ].join('\n')
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
