// The processes of a measurement: PostgreSQL, the sandbox provider, the service, a bare route and the load driver. The
// baselines run in a copy of the database on the same server.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { startService } from '../src/app.ts'
import { GATEWAYS } from '../src/compose/gateways.ts'
import { readConfig } from '../src/config.ts'
import { connectDb, type Db, sql } from '../src/kit/db/db.ts'
import { startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { createLog } from '../src/kit/observability/log.ts'
import { cpuOf, cpuOfTree } from './cpu.ts'
import type { LoadOrder, LoadReport } from './load.ts'
import { type BaselineScripts, prepareBaselines } from './prepare.ts'
import { parentOf } from './processes.ts'
import type { PaidPayment } from './requests.ts'
import { SECRETS_ENV, seed } from './seed.ts'

const ROOT = join(import.meta.dirname, '..')

export interface Program {
  child: ChildProcess
  pid: number
  url: string
}

export interface Rig {
  folder: string
  databaseUrl: string
  /** A copy of the seeded database, so that baselines do not affect the service. */
  baselineUrl: string
  db: Db
  /** Analyzes both databases, so that plans fit the current size of the tables. */
  analyze(): Promise<void>
  postmaster: number
  provider: Program
  bareRoute: Program
  service: Program
  driver: ChildProcess
  paid: PaidPayment[]
  baselines: BaselineScripts
  startService(): Promise<Program>
  drive(order: Omit<LoadOrder, 'source'>): Promise<LoadReport>
  /** Processor time since their start, in microseconds. */
  cpu(): Cpu
}

export interface Cpu {
  service: number
  provider: number
  driver: number
  database: number
}

export interface RigOptions {
  log: (line: string) => void
  /** Further settings of the service. */
  env?: Record<string, string>
  nodeOptions?: readonly string[]
}

/** Builds the rig, runs the callback, and always removes the rig. */
export async function withRig<Result>(
  options: RigOptions,
  use: (rig: Rig) => Promise<Result>,
): Promise<Result> {
  const cleanups: (() => unknown)[] = []
  try {
    return await use(await build(options, cleanups))
  } finally {
    for (const end of cleanups.reverse()) await end()
  }
}

async function build(
  { log, env = {}, nodeOptions = [] }: RigOptions,
  cleanups: (() => unknown)[],
): Promise<Rig> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-bench-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  cleanups.push(() => postgres.stop())
  const provider = await startProvider(cleanups)
  const settings = {
    ...SECRETS_ENV,
    PORT: '0',
    DATABASE_URL: postgres.url,
    COWRY_DATA_DIR: folder,
    COWRY_SANDBOX_URL: provider.url,
    COWRY_RATE_LIMIT: '0',
    ...env,
  }
  log('seeding merchants, customers and saved cards')
  const prepared = await prepareDatabase(settings)
  const baselineUrl = await copyDatabase(postgres.url)
  const db = connectDb({ url: postgres.url, poolSize: 2, applicationName: 'bench' })
  cleanups.push(() => db.close())
  const baselineDb = connectDb({ url: baselineUrl, poolSize: 1, applicationName: 'bench' })
  cleanups.push(() => baselineDb.close())
  const bareRoute = await startBareRoute(cleanups)
  const driver = fork(join(ROOT, 'bench/driver.ts'))
  cleanups.push(() => driver.kill())
  const startServiceProcess = () => startCowry(cleanups, ['serve'], settings, nodeOptions)
  const rig: Rig = {
    ...prepared,
    folder,
    databaseUrl: postgres.url,
    baselineUrl,
    db,
    async analyze() {
      await db.script('analyze')
      await baselineDb.script('analyze')
    },
    postmaster: await findPostmaster(db),
    provider,
    bareRoute,
    service: await startServiceProcess(),
    driver,
    startService: startServiceProcess,
    async drive(order) {
      driver.send({ ...order, source: { paid: prepared.paid } } satisfies LoadOrder)
      // A boundary: the driver answers each order with its report.
      const [report] = (await once(driver, 'message')) as [LoadReport]
      return report
    },
    cpu: () => ({
      service: cpuOf(rig.service.pid),
      provider: cpuOf(provider.pid),
      driver: cpuOf(driver.pid ?? 0),
      database: cpuOfTree(rig.postmaster),
    }),
  }
  return rig
}

/** A service in this process migrates, and its statements are captured. */
async function prepareDatabase(env: Record<string, string>) {
  const config = readConfig(env, GATEWAYS)
  const service = await startService(config, { role: 'api', log: createLog('silent') })
  try {
    await seed(service.db)
    return await prepareBaselines(service.url)
  } finally {
    await service.stop()
  }
}

const BASELINE_DATABASE = 'cowry_baseline'

async function copyDatabase(url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1)
  const asAdmin = new URL(url)
  asAdmin.pathname = '/postgres'
  const admin = connectDb({ url: asAdmin.href, poolSize: 1 })
  try {
    await admin.script(`create database ${BASELINE_DATABASE} template ${name} strategy file_copy`)
  } finally {
    await admin.close()
  }
  const copy = new URL(url)
  copy.pathname = `/${BASELINE_DATABASE}`
  return copy.href
}

const selectParent = sql<{ pid: number }>`select pg_backend_pid() as pid`

async function findPostmaster(db: Db): Promise<number> {
  const [row] = await db.query(selectParent)
  return row ? parentOf(row.pid) : 0
}

/** The provider is another party with its own disk: its records go to a file system in memory, if there is one. */
async function startProvider(cleanups: (() => unknown)[]): Promise<Program> {
  const tmpfs = '/dev/shm'
  const dataDir = await mkdtemp(join(existsSync(tmpfs) ? tmpfs : tmpdir(), 'cowry-bench-provider-'))
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }))
  return startCowry(cleanups, ['sandbox', '--port', '0', '--data-dir', dataDir], {
    ...SECRETS_ENV,
    COWRY_LOG_LEVEL: 'warn',
    // It sends webhooks for checkouts, of which the seed pays some: the port is closed.
    COWRY_PUBLIC_URL: 'http://127.0.0.1:9',
  })
}

async function startCowry(
  cleanups: (() => unknown)[],
  args: readonly string[],
  env: Record<string, string>,
  nodeOptions: readonly string[] = [],
): Promise<Program> {
  const child = spawn(process.execPath, [...nodeOptions, 'src/main.ts', ...args, '--json'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...env },
    // Its log lines are written as always, and discarded.
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  cleanups.push(() => endChild(child))
  // Some commands print a JSON document over several lines: the address is on one line in all of them.
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = /"url": ?"([^"]+)"/.exec(line) ?? []
    if (url !== undefined) return { child, pid: child.pid ?? 0, url }
  }
  throw new Error(`cowry ${args.join(' ')} ended before it was ready`)
}

async function startBareRoute(cleanups: (() => unknown)[]): Promise<Program> {
  const child = fork(join(ROOT, 'bench/bare-route.ts'))
  cleanups.push(() => endChild(child))
  const [{ url }] = await once(child, 'message')
  return { child, pid: child.pid ?? 0, url }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
