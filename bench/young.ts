// npm run bench:young: the first charges and initiates of a new database. PostgreSQL keeps the plans of statements that were
// prepared while the tables were empty, so the first minutes of an instance must not read whole tables, nor all rows of a
// merchant.

import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { CUSTOMER, chargeBody, initiateBody, saveMethod } from '../test/support/builders.ts'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { testService } from '../test/support/service.ts'
import { SMALL_TABLES } from '../test/support/table-growth.ts'
import { cpuOfTree } from './cpu.ts'
import { parentOf } from './processes.ts'
import { rounded } from './statistics.ts'

const STEPS = 10
const AT_ONCE = 16
const METHODS = 20
const LIMIT_RATIO = 1.3

const HELP = `npm run bench:young [-- --charges N]

Starts a new database, without autovacuum, and makes N charges (20000) of ${METHODS} saved cards and as many initiates of new
customers. Prints, for each tenth of them, the processor time of the database per charge with its initiate, the rows that
were read by indexes for them, and how often a growing table was read sequentially. Exits with 1 if one was, or if the
last tenth takes more than ${LIMIT_RATIO} times as much as the first.

  --charges N  how many
  --help       this text
`

const options = parseOptions(HELP, { charges: { type: 'string', default: '20000' } })

interface Step {
  charges: number
  databaseMs: number
  scans: number
  rows: number
  indexRows: number
}

const SELECT_SCANS = `
select relname as "table", seq_scan::integer as scans, seq_tup_read::float8 as rows, idx_tup_fetch::float8 as "indexRows"
from pg_stat_user_tables
where schemaname = current_schema() and relname <> all ($1)`

const cleanups: (() => unknown)[] = []

try {
  const steps = await measure(parsePositiveInteger('charges', options.charges))
  const [first, last] = [steps[0]?.databaseMs ?? Number.NaN, steps.at(-1)?.databaseMs ?? Number.NaN]
  const scans = steps.reduce((sum, step) => sum + step.scans, 0)
  process.stdout.write(
    `Sequential reads of growing tables: ${scans}. The last tenth takes ${rounded(last / first)} times the database time of the first.\n`,
  )
  if (scans > 0 || !(last / first <= LIMIT_RATIO)) process.exitCode = 1
} finally {
  for (const end of cleanups.reverse()) await end()
}

async function measure(charges: number): Promise<Step[]> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-young-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  // Without it no statistics are collected, however long the run takes.
  const settings = { autovacuum: 'off' }
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), settings })
  cleanups.push(() => postgres.stop())
  const env = { COWRY_RATE_LIMIT: '0', COWRY_SETTLEMENT_HOURS: '0' }
  const cleanup = { after: (end: () => unknown) => void cleanups.push(end) }
  const { api } = await testService(cleanup, { databaseUrl: postgres.url, checksInvariants: false, env })
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  cleanups.push(() => client.end())
  const found = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const postmaster = parentOf(found.rows[0]?.pid ?? 0)
  const tokens: string[] = []
  while (tokens.length < METHODS) tokens.push(await saveMethod(api, 'card_success'))
  const steps: Step[] = []
  const perStep = Math.ceil(charges / STEPS)
  for (let done = 0; done < charges; done += perStep) {
    const [before, cpu] = [await scansOf(client), cpuOfTree(postmaster)]
    for (let made = 0; made < perStep; made += AT_ONCE)
      await Promise.all(batchOf(made).map((charge) => charge()))
    const databaseMs = rounded((cpuOfTree(postmaster) - cpu) / 1_000 / perStep)
    const step = { charges: done + perStep, databaseMs, ...differenceOf(before, await scansOf(client)) }
    process.stdout.write(
      `${step.charges} charges: ${databaseMs} ms, ${rounded(step.indexRows / perStep)} rows by index, most of ${step.mostRead}, ${step.scans} scans of ${step.rows} rows ${step.tables}\n`,
    )
    steps.push(step)
  }
  return steps

  function batchOf(first: number) {
    return Array.from({ length: AT_ONCE }, (_, index) => async () => {
      const token = tokens[(first + index) % METHODS] ?? ''
      const charged = await api.post('/api/v1/charges/recurring', chargeBody(token))
      const customer = { ...CUSTOMER, email: `${randomUUID()}@example.com` }
      const initiated = await api.post('/api/v1/checkout/initiate-payment', initiateBody({ customer }))
      for (const { http, text } of [charged, initiated])
        if (http !== 201) throw new Error(`a request answered ${http}: ${text}`)
    })
  }
}

type Reads = Omit<Step, 'charges' | 'databaseMs'>
type Scans = Map<string, Reads>

async function scansOf(client: pg.Client): Promise<Scans> {
  // Other connections report their reads after a second of idling.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query<Reads & { table: string }>(SELECT_SCANS, [Object.keys(SMALL_TABLES)])
  return new Map(rows.map(({ table, ...reads }) => [table, reads]))
}

function differenceOf(before: Scans, after: Scans) {
  const grown = [...after].map(([table, now]) => {
    const then = before.get(table)
    const since = (name: keyof Reads) => now[name] - (then?.[name] ?? 0)
    return { table, scans: since('scans'), rows: since('rows'), indexRows: since('indexRows') }
  })
  const read = grown.filter(({ scans }) => scans > 0).sort((a, b) => b.rows - a.rows)
  return {
    scans: read.reduce((sum, one) => sum + one.scans, 0),
    rows: read.reduce((sum, one) => sum + one.rows, 0),
    indexRows: grown.reduce((sum, one) => sum + one.indexRows, 0),
    mostRead: grown.toSorted((a, b) => b.indexRows - a.indexRows)[0]?.table,
    tables: read.map(({ table, scans }) => `${table} ${scans}`).join(', '),
  }
}
