// npm run bench:dashboard: the time of every screen of the dashboard for a merchant with a million payments, beside a
// merchant with a thousand and one without any. Each has its own database. Also the export of all payments.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { signInAs, signInAsOperator, type Visitor } from '../test/support/dashboard.ts'
import { type TestService, testService } from '../test/support/service.ts'
import { runAsAdmin, withDatabase } from '../test/support/template.ts'
import { exactCpuOf } from './cpu.ts'
import {
  type Figure,
  LIMIT_MS,
  LIMIT_RATIO,
  type Measured,
  type Report,
  renderTable,
  verdictOf,
} from './dashboard-report.ts'
import { makeDashboardRows } from './dashboard-rows.ts'
import { MEASURED_SCREENS, type MeasuredScreen, type Target, unmeasuredScreens } from './dashboard-screens.ts'
import { measureAbort, measureExport } from './growth-export.ts'
import { makeRows } from './growth-rows.ts'
import { percentile, rounded } from './statistics.ts'

const FEW = 1_000
const ROUNDS = 40
// More executions than a connection needs until it uses a generic plan.
const WARM_UP = 12
const HISTORY_DAYS = 90
const RECORDS_PER_KIND = 50

const HELP = `npm run bench:dashboard [-- --payments N] [-- --rounds N] [-- --only TEXTS] [-- --keep FOLDER] [-- --json FILE]

Makes a merchant without payments, one with ${FEW} and one with N (1000000), each in its own database, opens every screen of
/app and /ops for each in turn, and prints medians and 95th percentiles in milliseconds: the processor time of the service
and the database, which other load on the machine does not change, and at last the time that passed for the largest. An
export is measured to its first bytes. Exits with 1 if a screen needs more than ${LIMIT_MS} ms (p95), or more than ${LIMIT_RATIO} times as
much as the same screen of the merchant with ${FEW} payments (p50). Needs 12 GB of disk; to make the payments takes
minutes.

  --payments N   payments of the largest merchant
  --rounds N     times that each screen is opened (${ROUNDS})
  --only TEXTS   only screens whose name contains one of these texts (with commas between), and no export
  --keep FOLDER  keeps the databases in this folder, and uses those that are there
  --json FILE    also writes the figures to this file
  --help         this text
`

const options = parseOptions(HELP, {
  payments: { type: 'string', default: '1000000' },
  rounds: { type: 'string', default: String(ROUNDS) },
  only: { type: 'string' },
  keep: { type: 'string' },
  json: { type: 'string' },
})

interface Subject extends Target {
  url: string
  cookies: { app: string; ops: string }
  databaseUrl: string
  /** The processor time of each connection of its service so far, by process. */
  connectionTimes(): Promise<Map<number, number>>
}

interface Sample {
  passedMs: number
  serviceMs: number
  databaseMs: number
}

const cleanups: (() => unknown)[] = []
const cleanup = { after: (end: () => unknown) => void cleanups.push(end) }
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

try {
  const missing = unmeasuredScreens()
  if (missing.length > 0) log(`not measured, see bench/dashboard-screens.ts: ${missing.join(', ')}`)
  const report = await measure(parsePositiveInteger('payments', options.payments))
  process.stdout.write(renderTable(report))
  if (options.json) await writeFile(options.json, `${JSON.stringify(report, null, 2)}\n`)
  if (report.screens.some((one) => verdictOf(one) !== '')) process.exitCode = 1
} finally {
  agent.destroy()
  for (const end of cleanups.reverse()) await end()
}

async function measure(most: number): Promise<Report> {
  const folder = options.keep ? resolve(options.keep) : await mkdtemp(join(tmpdir(), 'cowry-dashboard-'))
  if (!options.keep) cleanups.push(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  cleanups.push(() => postgres.stop())
  const subjects: Subject[] = []
  for (const payments of [0, FEW, most]) subjects.push(await makeSubject(postgres.url, payments))
  const [before = 0] = loadavg()
  const screens = await measureScreens(subjects, parsePositiveInteger('rounds', options.rounds))
  const largest = subjects.at(-1)
  if (!largest) throw new Error('there is no merchant')
  const source = { url: `${largest.url}/app/payments/export`, headers: { cookie: largest.cookies.app } }
  if (!options.only) log('the export of all payments')
  const exported = options.only ? null : await measureExport(source)
  const abortedAfterMs = options.only ? null : await measureAbort(source, largest.databaseUrl)
  const [after = 0] = loadavg()
  return {
    payments: subjects.map(({ payments }) => payments),
    ...{ screens, exported, abortedAfterMs, load: { before, after } },
  }
}

async function makeSubject(adminUrl: string, payments: number): Promise<Subject> {
  const name = `dashboard_${payments}`
  const databaseUrl = withDatabase(adminUrl, name)
  const isNew = !(await hasDatabase(adminUrl, name))
  if (isNew) await runAsAdmin(adminUrl, `create database ${name}`)
  const env = { COWRY_RATE_LIMIT: '0' }
  const service = await testService(cleanup, { role: 'api', databaseUrl, checksInvariants: false, env })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const found = await client.query<{ id: string }>('select id from merchants order by id limit 1')
    const merchant = found.rows[0]?.id ?? ''
    await setTimeZone(service, merchant)
    const from = new Date(Date.now() - HISTORY_DAYS * 86_400_000)
    const customers = Math.ceil(payments / 4)
    const size = { customers, payments, due: 0, from }
    if (isNew && payments > 0) {
      await makeRows(client, merchant, size, (step) => log(`${payments} payments: ${step}`))
      await makeDashboardRows(client, merchant, payments)
    }
    const cookieOf = ({ cookies }: Visitor) =>
      [...cookies].map(([cookie, value]) => `${cookie}=${value}`).join('; ')
    const cookies = {
      app: cookieOf(await signInAs(service, merchant)),
      ops: cookieOf(await signInAsOperator(service)),
    }
    const records = { ...(await recordsOf(client, merchant)), merchant }
    return {
      ...{ url: service.url, databaseUrl, cookies, records, payments, customers, now: new Date() },
      ...(await watchConnections(databaseUrl)),
    }
  } finally {
    await client.end()
  }
}

/** The days of reports are not those in UTC, so each report also reads hours. */
async function setTimeZone({ admin }: TestService, merchant: string): Promise<void> {
  const { http, text } = await admin.send('PATCH', `/admin/v1/merchants/${merchant}`, {
    body: JSON.stringify({ settings: { timeZone: 'Africa/Nairobi' } }),
    headers: { 'content-type': 'application/json' },
  })
  if (http !== 200) throw new Error(text)
}

async function watchConnections(databaseUrl: string): Promise<Pick<Subject, 'connectionTimes'>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  cleanups.push(() => client.end())
  return {
    async connectionTimes() {
      const { rows } = await client.query<{ pid: number }>(
        "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'",
      )
      return new Map(rows.map(({ pid }) => [pid, exactCpuOf(pid) / 1_000]))
    },
  }
}

async function hasDatabase(adminUrl: string, name: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    return (await client.query('select from pg_database where datname = $1', [name])).rowCount === 1
  } finally {
    await client.end()
  }
}

async function recordsOf(client: pg.Client, merchant: string) {
  const ids = async (source: string, every: string) => {
    const text = `select id from ${source} where merchant_id = $1 and ${every} order by id limit ${RECORDS_PER_KIND}`
    return (await client.query<{ id: string }>(text, [merchant])).rows.map(({ id }) => id)
  }
  const spread = `id::text ~ '[0-3]$'`
  return {
    paid: await ids('payments', `status = 'successful' and ${spread}`),
    declined: await ids('payments', `status = 'failed' and ${spread}`),
    refunded: await ids('payments', `status = 'partially_refunded' and ${spread}`),
    customers: await ids('customers', spread),
    events: await ids('events', spread),
  }
}

/** Each screen of one merchant after the other, so that other load on the machine affects all of them alike. */
async function measureScreens(subjects: readonly Subject[], rounds: number): Promise<Measured[]> {
  const { only } = options
  const chosen = MEASURED_SCREENS.filter(
    ({ name }) => only === undefined || only.split(',').some((text) => name.includes(text)),
  )
  const measured: Measured[] = []
  for (const [index, screen] of chosen.entries()) {
    const one = await measureScreen(screen, subjects, rounds)
    const p50s = Object.values(one.figures).map((figure) => figure?.p50Ms ?? '–')
    log(`${index + 1} of ${chosen.length}: ${one.name}: ${p50s.join(' → ')} ms ${verdictOf(one)}`)
    measured.push(one)
  }
  return measured
}

async function measureScreen(
  screen: MeasuredScreen,
  subjects: readonly Subject[],
  rounds: number,
): Promise<Measured> {
  const took = new Map(subjects.map(({ payments }) => [payments, [] as Sample[]]))
  for (let round = -WARM_UP; round < rounds; round += 1) {
    for (const subject of subjects) {
      // Numbers that are far apart, the same in every run.
      const path = screen.path(subject, Math.abs(round) * 7_919 + 13)
      if (path === undefined || path.includes('NaN')) continue
      const sample = await sampleOf(subject, () => open(subject, screen.area, path))
      if (round >= 0) took.get(subject.payments)?.push(sample)
    }
  }
  const figures = [...took].map(([payments, times]) => [String(payments), figureOf(times)] as const)
  const [empty, few, most] = figures.map(([, figure]) => figure?.p50Ms)
  return {
    name: screen.name,
    limitMs: screen.limitMs === undefined ? LIMIT_MS : screen.limitMs,
    figures: Object.fromEntries(figures),
    ratio: rounded((most ?? Number.NaN) / (few ?? Number.NaN)),
    ratioToEmpty: empty === undefined ? null : rounded((most ?? Number.NaN) / empty),
  }
}

async function sampleOf({ connectionTimes }: Subject, work: () => Promise<number>): Promise<Sample> {
  const before = await connectionTimes()
  const service = process.cpuUsage()
  const passedMs = await work()
  const { user, system } = process.cpuUsage(service)
  // A new connection has used nothing before. One that was closed meanwhile was not in use.
  const databaseMs = [...(await connectionTimes())].reduce(
    (sum, [pid, ms]) => sum + ms - (before.get(pid) ?? 0),
    0,
  )
  return { passedMs, serviceMs: (user + system) / 1_000, databaseMs }
}

function figureOf(samples: readonly Sample[]): Figure | null {
  if (samples.length === 0) return null
  const at = (share: number, of: (sample: Sample) => number) => rounded(percentile(samples.map(of), share))
  // Where processor time is unknown, the time that passed.
  const needed = ({ passedMs, serviceMs, databaseMs }: Sample) =>
    Number.isNaN(databaseMs) ? passedMs : serviceMs + databaseMs
  return {
    p50Ms: at(0.5, needed),
    p95Ms: at(0.95, needed),
    databaseMs: at(0.5, ({ databaseMs }) => databaseMs),
    passedP50Ms: at(0.5, ({ passedMs }) => passedMs),
    passedP95Ms: at(0.95, ({ passedMs }) => passedMs),
  }
}

/** Milliseconds until the whole page has arrived; of an export, its first bytes. */
function open({ url, cookies }: Subject, area: 'app' | 'ops', path: string): Promise<number> {
  const headers = { cookie: cookies[area], accept: 'text/html', 'accept-encoding': 'gzip, br, zstd' }
  const startedAt = performance.now()
  return new Promise((done, fail) => {
    const sent = request(`${url}${path}`, { agent, headers }, (answer) => {
      // 503: the database has cancelled a statement that took too long, which the figure shows.
      if (answer.statusCode !== 200 && answer.statusCode !== 503)
        fail(new Error(`${path} answered ${answer.statusCode}`))
      const finish = () => done(performance.now() - startedAt)
      answer.on('error', fail).on('end', finish)
      answer.on('data', () => {
        if (answer.headers['content-disposition'] === undefined) return
        finish()
        answer.removeListener('error', fail).on('error', () => undefined)
        answer.destroy()
      })
    })
    sent.on('error', fail).end()
  })
}

function log(message: string): void {
  process.stderr.write(`» ${message}\n`)
}
