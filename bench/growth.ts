// npm run bench:growth: measures whether the service gets slower as tables grow. Services whose merchant has a
// thousand, a hundred thousand and a million customers and postings get the same requests in turn. It also measures the
// footprint of one charge.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { testService } from '../test/support/service.ts'
import { runAsAdmin, withDatabase } from '../test/support/template.ts'
import { type Exported, measureExport } from './growth-export.ts'
import { type Footprint, measureFootprint } from './growth-footprint.ts'
import { closeConnections, get, OPERATIONS, type Operation, type Subject } from './growth-operations.ts'
import { growthSize, makeRows } from './growth-rows.ts'
import { median, percentile, rounded } from './statistics.ts'

const SMALLEST = 1_000
const ROUNDS = 60
// More executions than a connection needs until it uses a generic plan.
const WARM_UP = 12

const HELP = `npm run bench:growth [-- --rows N] [-- --rounds N] [-- --json FILE]

Fills three databases with ${SMALLEST}, N / 10 and N customers and postings of one merchant (N: 1000000), sends the same
requests to each in turn, and prints the medians and 95th percentiles in milliseconds. Exits with 1 if the largest takes
more than a limit times as long as the smallest. A quarter as many payments are in filtered lists, in reports and in a CSV
file, whose time and memory are printed. Needs about 3 GB of disk and ten minutes.

  --rows N     customers and postings of the largest database
  --rounds N   requests of each kind (${ROUNDS})
  --json FILE  also writes the figures to this file
  --help       this text
`

const options = parseOptions(HELP, {
  rows: { type: 'string', default: '1000000' },
  rounds: { type: 'string', default: String(ROUNDS) },
  json: { type: 'string' },
})

interface Figure {
  p50Ms: number
  p95Ms: number
}

interface Measured {
  name: string
  limit: number | null
  /** The p50 at the largest size divided by that at the smallest. */
  ratio: number
  /** By number of rows. */
  figures: Record<string, Figure>
}

interface Report {
  sizes: number[]
  operations: Measured[]
  /** The CSV file of all payments of the largest database. */
  exported: Exported
  footprint: Footprint
  machine: { cpus: number; model: string; node: string }
}

const cleanups: (() => Promise<void>)[] = []
const cleanup = { after: (end: () => Promise<void>) => void cleanups.push(end) }

try {
  const report = await measure(
    parsePositiveInteger('rows', options.rows),
    parsePositiveInteger('rounds', options.rounds),
  )
  process.stdout.write(renderTable(report))
  if (options.json) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
  if (report.operations.some(exceedsLimit)) process.exitCode = 1
} finally {
  closeConnections()
  for (const end of cleanups.reverse()) await end()
}

async function measure(rows: number, rounds: number): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-growth-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  cleanups.push(() => postgres.stop())
  const sizes = [...new Set([SMALLEST, Math.max(SMALLEST, Math.round(rows / 10)), rows])]
  const subjects: Subject[] = []
  for (const size of sizes) subjects.push(await makeSubject(postgres.url, size))
  const operations = await measureInterleaved(subjects, rounds)
  const largest = subjects.at(-1)
  if (!largest) throw new Error('there is no database')
  log('export of all payments')
  const exported = await measureExport({
    url: `${largest.url}/api/v1/payments/export`,
    headers: { 'x-api-key': largest.key },
  })
  const footprint = await measureFootprint(cleanup, await newDatabase(postgres.url, 'growth_footprint'))
  const machine = { cpus: cpus().length, model: cpus()[0]?.model.trim() ?? '', node: process.version }
  return { sizes, operations, exported, footprint, machine }
}

async function newDatabase(adminUrl: string, name: string): Promise<string> {
  await runAsAdmin(adminUrl, `create database ${name}`)
  return withDatabase(adminUrl, name)
}

async function makeSubject(adminUrl: string, rows: number): Promise<Subject> {
  const databaseUrl = await newDatabase(adminUrl, `growth_${rows}`)
  const env = { COWRY_RATE_LIMIT: '0' }
  const service = await testService(cleanup, { role: 'api', databaseUrl, checksInvariants: false, env })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const found = await client.query<{ id: string }>('select id from merchants order by id')
    await makeRows(client, found.rows[0]?.id ?? '', growthSize(rows), (message) => log(`filling ${message}`))
  } finally {
    await client.end()
  }
  const { url, db, demoKey } = service
  const subject = { rows, url, db, key: demoKey ?? '' }
  const middle = JSON.parse(await get(subject, '/api/v1/customers?createdTo=2026-02-14T00:00:00Z'))
  return { ...subject, cursor: encodeURIComponent(middle.meta.nextCursor) }
}

/** One after the other at each size, so that other load on the machine affects all of them alike. */
async function measureInterleaved(subjects: readonly Subject[], rounds: number): Promise<Measured[]> {
  const startedAt = performance.now()
  const measured: Measured[] = []
  for (const [done, operation] of OPERATIONS.entries()) {
    const spent = performance.now() - startedAt
    const left =
      done === 0 ? '' : `, ${((spent / done) * (OPERATIONS.length - done) * 1e-3).toFixed(0)} s left`
    log(`${operation.name}${left}`)
    const figures = await measureOperation(operation, subjects, rounds)
    log(
      `  ${Object.values(figures.figures)
        .map(({ p50Ms }) => p50Ms)
        .join(' → ')} ms`,
    )
    measured.push(figures)
  }
  return measured
}

async function measureOperation(
  operation: Operation,
  subjects: readonly Subject[],
  rounds: number,
): Promise<Measured> {
  const took = new Map(subjects.map(({ rows }) => [rows, [] as number[]]))
  for (let round = -WARM_UP; round < rounds; round += 1) {
    for (const subject of subjects) {
      // Numbers that are far apart, the same in every run.
      const n = (Math.abs(round) * 7_919 + 13) % subject.rows
      const startedAt = performance.now()
      await operation.run(subject, n)
      if (round >= 0) took.get(subject.rows)?.push(performance.now() - startedAt)
    }
  }
  const figures = Object.fromEntries([...took].map(([rows, times]) => [rows, figureOf(times)]))
  const p50s = Object.values(figures).map(({ p50Ms }) => p50Ms)
  const ratio = rounded((p50s.at(-1) ?? Number.NaN) / (p50s[0] ?? Number.NaN))
  return { name: operation.name, limit: operation.limit, ratio, figures }
}

function figureOf(times: readonly number[]): Figure {
  return { p50Ms: rounded(median(times)), p95Ms: rounded(percentile(times, 0.95)) }
}

function exceedsLimit({ limit, ratio }: Measured): boolean {
  return limit !== null && !(ratio <= limit)
}

function log(message: string): void {
  process.stderr.write(`» ${message}\n`)
}

function renderTable({ sizes, operations, exported, footprint }: Report): string {
  const heads = ['', ...sizes.flatMap((size) => [`p50 at ${size}`, 'p95']), 'ratio', 'limit', '']
  const lines = operations.map((one) => [
    one.name,
    ...sizes.flatMap((size) => [one.figures[size]?.p50Ms, one.figures[size]?.p95Ms].map(String)),
    String(one.ratio),
    one.limit === null ? '' : String(one.limit),
    exceedsLimit(one) ? 'BROKEN' : '',
  ])
  const widths = heads.map((head, at) => Math.max(head.length, ...lines.map((line) => line[at]?.length ?? 0)))
  const table = [heads, ...lines]
    .map((line) =>
      line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))),
    )
    .map((line) => line.join('  ').trimEnd())
  const stored = Object.entries(footprint.rows).map(([table, count]) => `${table} ${count}`)
  return [
    ...table,
    '',
    `The CSV file of ${exported.rows} payments takes ${exported.seconds} s. The process has ${exported.beforeMb} MB before, ` +
      `${exported.halfMb} MB at most in the first half of the file and ${exported.peakMb} MB in all of it.`,
    `One charge writes ${footprint.walBytes} bytes of WAL and leaves ${footprint.storedBytes} bytes with their indexes in ` +
      `rows of: ${stored.join(', ')}.`,
    '',
  ].join('\n')
}
