// npm run bench:cells: the same load on a service with one database and on services with several cells, one after the other
// in turns, so that other work on the machine slows all of them.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { cpuOf } from './cpu.ts'
import {
  type Cleanups,
  type Driver,
  type Program,
  startCowry,
  startDriver,
  startProvider,
} from './programs.ts'
import { SECRETS_ENV } from './seed.ts'
import { fillMerchants, type Side } from './side.ts'
import { median, rounded } from './statistics.ts'

const HELP = `npm run bench:cells [-- --citus URL] [-- --rounds N] [-- --seconds N] [-- --connections N] [-- --json]

Compares the rates of a service with one database, of one whose merchants are in two plain PostgreSQL servers, and of one
whose merchants are in two cells on a Citus cluster, if there is one. All run on this machine.

  --citus URL      the database of the coordinator; the schemas that are made there are dropped at the end
  --rounds N       rounds in turns (5)
  --seconds N      of each load (3)
  --connections N  callers (48)
  --json           one JSON document instead of the table
  --help           this text
`
const OPERATIONS = ['charges', 'initiates', 'verify', 'wallet'] as const
type Compared = (typeof OPERATIONS)[number]

const MERCHANTS = 8
const CARDS_EACH = 25
/** The shares of the rates with one database that the others must reach. */
const LEAST = { 'two servers': 0.6, 'two cells on Citus': 0.25 } as const
/** Of the cells on Citus. They are dropped at the end, so they must be of this run. */
const SCHEMAS = ['cowry_bench_1', 'cowry_bench_2']

type CellsSide = Pick<Side, 'name' | 'service' | 'source'>

interface NewCell {
  name: string
  url: string
  isCitus?: boolean
}

interface Figure {
  side: string
  operation: Compared
  perSecond: number
  /** Of the rate with one database: the median of the rounds. */
  ratio: number
  /** Processor time of the service per request, in microseconds. */
  serviceCpu: number
}

const options = parseOptions(HELP, {
  citus: { type: 'string' },
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '3' },
  connections: { type: 'string', default: '48' },
  json: { type: 'boolean', default: false },
})
const plan = {
  rounds: parsePositiveInteger('rounds', options.rounds),
  forMs: parsePositiveInteger('seconds', options.seconds) * 1_000,
  connections: parsePositiveInteger('connections', options.connections),
}
const log = (line: string) => void process.stderr.write(`${line}\n`)
const cleanups: Cleanups = []
try {
  const figures = await compare(await startSides(options.citus), startDriver(cleanups))
  process.stdout.write(options.json ? `${JSON.stringify({ plan, figures }, null, 2)}\n` : render(figures))
  if (figures.some(isTooLow)) process.exitCode = 1
} finally {
  for (const end of cleanups.reverse()) await end()
}

async function startSides(citus: string | undefined): Promise<CellsSide[]> {
  if (citus !== undefined) await requireNoSchemas(citus)
  const sides = [await startSide('one database', [])]
  const second = await startEmbeddedPostgres({ dataDir: join(await newFolder(), 'postgres') })
  cleanups.push(() => second.stop())
  sides.push(await startSide('two servers', [{ name: 'second', url: second.url }]))
  if (citus === undefined) {
    log('without Citus: --citus names no cluster')
    return sides
  }
  const cells = ['bench-1', 'bench-2'].map((name) => ({ name, url: citus, isCitus: true }))
  cleanups.push(() => dropSchemas(citus))
  sides.push(await startSide('two cells on Citus', cells))
  return sides
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-bench-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/** The merchants are in the cells in turn: on plain servers also in the database of the instance, on Citus only there. */
async function startSide(name: string, cells: readonly NewCell[]): Promise<CellsSide> {
  log(`preparing ${name}`)
  const provider = await startProvider(cleanups)
  const env = {
    ...SECRETS_ENV,
    PORT: '0',
    COWRY_DATA_DIR: await newFolder(),
    COWRY_SANDBOX_URL: provider.url,
    COWRY_RATE_LIMIT: '0',
    COWRY_MAX_LOOP_DELAY_MS: '0',
  }
  const service = await startWithCells(env, cells)
  const places = cells.some(({ isCitus }) => isCitus) ? [] : ['main']
  places.push(...cells.map((cell) => cell.name))
  const keys: string[] = []
  while (keys.length < MERCHANTS)
    keys.push(await createMerchant(service, places[keys.length % places.length]))
  return { name, service, source: await fillMerchants(service.url, keys, CARDS_EACH) }
}

/** A cell is used by processes that were started after it was added. */
async function startWithCells(env: Record<string, string>, cells: readonly NewCell[]): Promise<Program> {
  const start = (own: Cleanups) => startCowry(own, { args: ['serve'], env })
  if (cells.length === 0) return start(cleanups)
  const first: Cleanups = []
  try {
    const { url } = await start(first)
    for (const cell of cells) await operate(url, '/admin/v1/cells', cell)
  } finally {
    for (const end of first) await end()
  }
  const service = await start(cleanups)
  for (const { name } of cells) await operate(service.url, `/admin/v1/cells/${name}/activate`, {})
  return service
}

async function createMerchant({ url }: Program, cell: string | undefined): Promise<string> {
  const { uuid } = await operate(url, '/admin/v1/merchants', { name: 'Shop', cell })
  const { apiKey } = await operate(url, `/admin/v1/merchants/${uuid}/keys`, { name: 'bench', scopes: ['*'] })
  if (apiKey === undefined) throw new Error('the merchant has no key')
  return apiKey
}

async function operate(url: string, path: string, body: object): Promise<Record<string, string>> {
  const headers = {
    authorization: `Bearer ${SECRETS_ENV.COWRY_ADMIN_TOKEN}`,
    'content-type': 'application/json',
  }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${path} answered HTTP ${answer.status}: ${text}`)
  return JSON.parse(text).data
}

async function requireNoSchemas(url: string): Promise<void> {
  const found = await queryOnce(url, 'select nspname from pg_namespace where nspname = any ($1)', [SCHEMAS])
  if (found.length > 0) throw new Error(`the cluster has ${SCHEMAS.join(' or ')} already: drop it first`)
}

async function dropSchemas(url: string): Promise<void> {
  for (const name of SCHEMAS) await queryOnce(url, `drop schema if exists ${name} cascade`)
}

async function queryOnce(url: string, text: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
    .query(text, values)
    .then(({ rows }) => rows)
    .finally(() => client.end())
}

async function compare(sides: readonly CellsSide[], driver: Driver): Promise<Figure[]> {
  const drive = async ({ name, service, source }: CellsSide, operation: Compared) => {
    const before = cpuOf(service.pid)
    const { connections, forMs } = plan
    const report = await driver.drive({ url: service.url, operation, connections, forMs, source })
    const { answered, failed, firstFailure, tookMs } = report
    if (failed > 0) throw new Error(`${failed} of ${operation} of ${name} failed: ${firstFailure}`)
    return { perSecond: answered / (tookMs / 1_000), serviceCpu: (cpuOf(service.pid) - before) / answered }
  }
  log('warming up')
  for (const side of sides) for (const operation of OPERATIONS) await drive(side, operation)
  const figures: Figure[] = []
  for (const operation of OPERATIONS) {
    const rounds: Awaited<ReturnType<typeof drive>>[][] = []
    for (let round = 0; round < plan.rounds; round += 1)
      rounds.push(await takeTurns(sides, round, (side) => drive(side, operation)))
    for (const [index, { name: side }] of sides.entries()) {
      const middle = (pick: (round: (typeof rounds)[number]) => number) => rounded(median(rounds.map(pick)))
      figures.push({
        side,
        operation,
        perSecond: middle((round) => round[index]?.perSecond ?? 0),
        ratio: middle((round) => (round[index]?.perSecond ?? 0) / (round[0]?.perSecond ?? 1)),
        serviceCpu: middle((round) => round[index]?.serviceCpu ?? 0),
      })
    }
    log(`${operation} measured`)
  }
  return figures
}

/** Another side goes first in each round; the results are in the order of the sides. */
async function takeTurns<Value>(
  sides: readonly CellsSide[],
  round: number,
  measure: (side: CellsSide) => Promise<Value>,
): Promise<Value[]> {
  const taken = new Map<CellsSide, Value>()
  for (let turn = 0; turn < sides.length; turn += 1) {
    const side = sides[(round + turn) % sides.length]
    if (side) taken.set(side, await measure(side))
  }
  // A boundary: each side had its turn.
  return sides.map((side) => taken.get(side) as Value)
}

function leastOf(side: string): number {
  return Object.entries(LEAST).find(([name]) => name === side)?.[1] ?? 0
}

function isTooLow({ side, ratio }: Figure): boolean {
  return ratio < leastOf(side)
}

function render(figures: readonly Figure[]): string {
  const lines = figures.map((figure) => {
    const { side, operation, perSecond, ratio, serviceCpu } = figure
    const least = leastOf(side)
    const limit = least === 0 ? '' : `least ${least}${isTooLow(figure) ? '   BROKEN' : ''}`
    const values = [operation.padEnd(10), side.padEnd(20), `${perSecond}/s`.padStart(10)]
    return [...values, `${ratio} times`.padStart(13), `${serviceCpu} µs`.padStart(10), ` ${limit}`]
      .join('')
      .trimEnd()
  })
  return [
    `${plan.rounds} rounds in turns, ${plan.connections} connections, ${MERCHANTS} merchants. Processor time of the service is per request.`,
    ...lines,
    '',
  ].join('\n')
}
