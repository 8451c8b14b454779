// A whole service in this process, on a database of its own, spoken to over real HTTP. When it ends, every invariant is
// checked, so API tests prove them over all that they did. With COWRY_TEST_WORKERS it is as many processes on one
// port instead, wherever a test needs nothing inside of them.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Service, startService } from '../../src/app.ts'
import { GATEWAYS } from '../../src/compose/gateways.ts'
import { type Role, readConfig } from '../../src/config.ts'
import type { RateLimit } from '../../src/core/rate-limit.ts'
import { ONE_CELL } from '../../src/kit/cells/cells.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Failpoints } from '../../src/kit/failpoints.ts'
import { createLog, type Log } from '../../src/kit/observability/log.ts'
import type { ScryptCost } from '../../src/people/passwords.ts'
import { type Api, createApi, postUntilFree } from './api.ts'
import { addTestCells, dbOverCells, TEST_CELLS } from './cells.ts'
import { CLUSTER_URL } from './cluster.ts'
import { type Cleanup, testDatabaseUrl } from './database.ts'
import { assertInvariants } from './invariants.ts'
import { startProcess } from './process.ts'
import { canShare, SHARED_SERVICE, sharedValue } from './process-values.ts'
import { connectTestDb, TEST_ACQUIRE_TIMEOUT_MS } from './test-db.ts'

export interface TestService extends Service {
  databaseUrl: string
  dataDir: string
  /** With the demo merchant's key, which has every scope. */
  api: Api
  /** With another key, or none. */
  apiWith(key: string | undefined): Api
  admin: Api
  /** A new merchant and a key of it with these scopes, and with this rate limit. */
  newMerchant(scopes?: string[], rateLimit?: RateLimit): Promise<{ uuid: string; key: string; api: Api }>
  /** With a cluster: the name of the cell for the next merchant. */
  nextCell?: () => string
}

export interface TestServiceOptions {
  env?: Record<string, string>
  clock?: Clock
  /** Absent: nothing is logged. */
  log?: Log
  databaseUrl?: string
  /** Absent: those of the environment, which are none. */
  failpoints?: Failpoints
  /** Absent: requests and background work in one. */
  role?: Role
  /** Off for a test that breaks them on purpose. */
  checksInvariants?: boolean
  /** True for a test of the demo merchant, of what all merchants share, or of the start and the stop. */
  isOwn?: boolean
  /** Absent: one, or as many as COWRY_TEST_CELLS says. */
  cells?: number
  /** The address at which the service finds the database of a cell; absent: its own. */
  cellAddress?: (url: string) => Promise<string>
  /** Absent: longer than in operation, because the machine may be busy. */
  acquireTimeoutMs?: number
  /** Absent: less than in operation. */
  passwordCost?: ScryptCost
}

/**
 * A service for this file. Files of one process that set nothing share one service, which saves its start and the
 * preparation of its statements; each file gets a merchant of its own. Any other service ends with its file or test: the
 * background work of one that stays open costs more than its start.
 */
export async function testService(t: Cleanup, options: TestServiceOptions = {}): Promise<TestService> {
  if (!canShare() || Object.keys(options).length > 0) return startOwnService(t, options)
  // Its invariants are checked once, when it ends, so one that a later file repairs is missed. A check after each file would
  // take PostgreSQL a tenth of a second, and more with each file.
  const shared = await sharedValue(SHARED_SERVICE, (end) => startOwnService(end, {}))
  const merchant = await createMerchant(shared, 'Demo Shop')
  return { ...shared, api: merchant.api, demoKey: merchant.key }
}

async function createMerchant(
  { admin, apiWith, nextCell }: TestService,
  name: string,
  scopes = ['*'],
  rateLimit?: RateLimit,
) {
  const merchant = await postUntilFree(admin, '/admin/v1/merchants', { name, cell: nextCell?.() })
  assert.equal(merchant.http, 201, merchant.text)
  const { uuid } = merchant.body.data
  const key = await postUntilFree(admin, `/admin/v1/merchants/${uuid}/keys`, {
    name: 'test',
    scopes,
    rateLimit,
  })
  assert.equal(key.http, 201, key.text)
  const apiKey: string = key.body.data.apiKey
  return { uuid, key: apiKey, api: apiWith(apiKey) }
}

async function startOwnService(t: Cleanup, options: TestServiceOptions): Promise<TestService> {
  let service: Service | undefined
  t.after(async () => {
    if (!service) return
    try {
      if (options.checksInvariants ?? true) await assertInvariants(service)
    } finally {
      await service.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
  })
  const databaseUrl = options.databaseUrl ?? (await testDatabaseUrl(t))
  const dataDir = await mkdtemp(join(tmpdir(), 'cowry-service-'))
  const env = {
    PORT: '0',
    DATABASE_URL: databaseUrl,
    COWRY_DATA_DIR: dataDir,
    COWRY_ADMIN_TOKEN: ADMIN_TOKEN,
    COWRY_POOL_SIZE: '2',
    // The tests share the event loop of the service, and a busy machine delays it.
    COWRY_MAX_LOOP_DELAY_MS: '0',
    ...options.env,
  }
  const { clock, log, failpoints } = options
  const needsInProcess = clock ?? log ?? failpoints ?? options.passwordCost
  const cells = options.cells ?? TEST_CELLS
  if (cells > 1) await addTestCells(t, readConfig(env, GATEWAYS), cells, options.cellAddress)
  service =
    WORKERS !== undefined && !needsInProcess
      ? await startTestCluster(env, WORKERS, options.role)
      : await startInProcess(env, options)
  const { url, demoKey } = service
  const apiWith = (key: string | undefined) => createApi(url, key === undefined ? {} : { 'x-api-key': key })
  const admin = createApi(url, { authorization: `Bearer ${ADMIN_TOKEN}` })
  const started: TestService = {
    ...service,
    db: dbOverCells(service.db, service.cells),
    databaseUrl,
    dataDir,
    admin,
    apiWith,
    api: apiWith(demoKey ?? undefined),
    newMerchant: (scopes, rateLimit) => createMerchant(started, 'Another Shop', scopes, rateLimit),
    ...(CLUSTER_URL && options.cells === undefined && { nextCell: cellsInTurn(service) }),
  }
  if (!started.nextCell || demoKey === null) return started
  const merchant = await createMerchant(started, 'Demo Shop')
  return { ...started, api: merchant.api, demoKey: merchant.key }
}

/** Those of the cluster. The demo merchant and the other ones of a new service are in the database of the instance. */
function cellsInTurn({ cells: { numbers, nameOf } }: Service): () => string {
  let made = 0
  return () => {
    made += 1
    return nameOf(numbers[1 + (made % (numbers.length - 1))] ?? 0)
  }
}

const WORKERS = process.env.COWRY_TEST_WORKERS

/** For a test of what only one process has: what it asks the database, how exactly it counts, how it fails in itself. */
export const ONE_PROCESS = {
  skip: WORKERS === undefined && TEST_CELLS === 1 ? false : 'it is about one process and its database',
}

// With the cost in operation, passwords took a twelfth of the processor time of the API tests.
const PASSWORD_COST = { logN: 4, r: 8, p: 1 }

function startInProcess(env: Record<string, string>, options: TestServiceOptions) {
  const {
    role,
    clock,
    failpoints,
    log = createLog((process.env.COWRY_TEST_LOG ?? 'silent') as 'silent'),
  } = options
  const config = readConfig(env, GATEWAYS)
  return startService(
    { ...config, failpoints: failpoints ?? config.failpoints },
    {
      ...{ role, clock, log, passwordCost: options.passwordCost ?? PASSWORD_COST },
      acquireTimeoutMs: options.acquireTimeoutMs ?? TEST_ACQUIRE_TIMEOUT_MS,
    },
  )
}

async function startTestCluster(
  env: Record<string, string>,
  size: string,
  role: Role = 'all',
): Promise<Service> {
  const cleanups: (() => unknown)[] = []
  const own: Cleanup = { after: (end) => void cleanups.push(end) }
  const stop = async () => {
    // Some tests stop it themselves, and it is stopped again after each.
    for (const end of cleanups.splice(0).toReversed()) await end()
  }
  try {
    const cluster = await startProcess(own, ['serve', '--role', role, '--workers', size], {
      COWRY_LOG_LEVEL: 'info',
      ...env,
    })
    const { url, demoKey = null, dashboard: signInUrl = null } = cluster.facts
    const db = connectTestDb({ url: env.DATABASE_URL ?? '', poolSize: 4 })
    own.after(() => db.close())
    // A boundary: the document is an object.
    const openApi = role === 'worker' ? {} : ((await (await fetch(`${url}/openapi.json`)).json()) as object)
    const publicUrl = env.COWRY_PUBLIC_URL ?? url
    return {
      url,
      publicUrl,
      demoKey,
      signInUrl,
      db,
      cells: { ...ONE_CELL, open: () => db },
      openApi: () => openApi,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

export const ADMIN_TOKEN = 'a-token-of-the-tests-0123456789abcdef'
