// The processes of a measurement: PostgreSQL, the sandbox provider, the service, a bare route and the load driver. The
// baselines run in a copy of the database on the same server.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
import {
  type Cleanups,
  type Program,
  startBareRoute,
  startCowry,
  startDriver,
  startProvider,
} from './programs.ts'
import type { PaidPayment } from './requests.ts'
import { SECRETS_ENV, seed } from './seed.ts'

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
  const cleanups: Cleanups = []
  try {
    return await use(await build(options, cleanups))
  } finally {
    for (const end of cleanups.reverse()) await end()
  }
}

async function build({ log, env = {}, nodeOptions = [] }: RigOptions, cleanups: Cleanups): Promise<Rig> {
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
    COWRY_MAX_LOOP_DELAY_MS: '0',
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
  const driver = startDriver(cleanups)
  const startServiceProcess = () => startCowry(cleanups, { args: ['serve'], env: settings, nodeOptions })
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

    startService: startServiceProcess,
    drive: (order) => driver.drive({ ...order, source: { paid: prepared.paid } }),
    cpu: () => ({
      service: cpuOf(rig.service.pid),
      provider: cpuOf(provider.pid),
      driver: cpuOf(driver.pid),
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
