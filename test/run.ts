// The README's test command: checks types, style and dead code, then runs every test against one PostgreSQL server, and
// those that depend on the server once more on the oldest version we support. Arguments are test files; without them all
// run.

import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findPostgresBinaries } from '../src/kit/embedded-postgres/binaries.ts'
import { startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { parseArguments, parsePositiveInteger } from './support/command-line.ts'
import { startPgbouncer } from './support/pgbouncer.ts'
import { dropDatabase, prepareTemplate } from './support/template.ts'

const ROOT = join(import.meta.dirname, '..')
// The npm package of the browser is for this platform alone; elsewhere a Chromium can be named.
const HAS_BROWSER =
  Boolean(process.env.COWRY_TEST_BROWSER) || (process.platform === 'linux' && process.arch === 'x64')
const ALL_TESTS = ['src/**/*.test.ts', HAS_BROWSER ? 'test/**/*.test.ts' : 'test/{*,!(browser)/**/*}.test.ts']
// On the oldest version only what speaks to the database in ways of its own: every statement is prepared, and the money,
// the lists, the retries and the gateways run through. The rest is the same program above the same statements.
const OLDEST_TESTS = [
  'test/schema.test.ts',
  'src/kit/tenant-isolation.test.ts',
  'test/api/{amounts,charges,customers,events,gateway,idempotency,initiate,links,p2p,payments,prompts,reconciliation,refunds,verify,wallet,webhooks}*.test.ts',
]
// Long files first, so that the run does not end with all but one processor waiting for the last of them.
const SLOW_FIRST = [
  /^test\/faults\/(?:simulation|chaos|fuzz|failpoints|random-walk)/,
  /^test\/browser\//,
  /^test\/faults\//,
  /^test\/start\//,
  /^src\/kit\/embedded-postgres/,
]
// A file waits as often as it works: for a page, a timer, a process that ends.
const FILES_AT_ONCE = availableParallelism() + 2

const STEP_TIMEOUT_MS = 30 * 60_000

const HELP = `npm test [-- FILE …] [-- --pgbouncer] [-- --workers=N]

Checks types, style and dead code and runs every test, or only the files that are named.

  --pgbouncer  through a pgbouncer in transaction mode, which must be installed
  --workers=N  with N processes behind every service that a test starts, where it is not about one process
  --help       this text
`
const {
  values: { pgbouncer: usesPgbouncer, workers },
  positionals: files,
} = parseArguments(HELP, { pgbouncer: { type: 'boolean' }, workers: { type: 'string' } })
if (workers !== undefined) parsePositiveInteger('workers', workers)
const isFullRun = files.length === 0

if (isFullRun) {
  await step('types, style and dead code', () => run('npm', ['run', '--silent', 'check']))
}
if (isFullRun && !HAS_BROWSER)
  console.log('» browser tests: left out; set COWRY_TEST_BROWSER to a Chromium to run them')
await step('tests', () => withServer(process.env.DATABASE_URL, 18, isFullRun ? ALL_TESTS : files))
if (isFullRun && !process.env.DATABASE_URL) {
  if (findPostgresBinaries(15))
    await step('tests on PostgreSQL 15', () => withServer(undefined, 15, OLDEST_TESTS))
  else console.log('» tests on PostgreSQL 15: left out, there is no package of it for this platform')
}

async function step(name: string, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  console.log(`» ${name}`)
  try {
    await work()
  } catch (error) {
    console.error(`✖ ${name}: ${error instanceof Error ? error.message : error}`)
    process.exit(1)
  }
  console.log(`✔ ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
}

/** Runs the tests on the given server, or on a private one that is gone afterwards. */
async function withServer(url: string | undefined, major: 15 | 18, patterns: string[]): Promise<void> {
  if (url) return runTests(url, patterns)
  const folder = await mkdtemp(join(tmpdir(), 'cowry-test-'))
  // As root the server runs as somebody else, and PostgreSQL 15 walks down to its folder by the whole path.
  await chmod(folder, 0o711)
  const binariesDir = findPostgresBinaries(major)
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres'), binariesDir })
  try {
    await runTests(postgres.url, patterns)
  } finally {
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function runTests(url: string, patterns: string[]): Promise<void> {
  const { adminUrl, template } = await prepareTemplate(url)
  const pooler = usesPgbouncer ? await startPgbouncer(url) : undefined
  const found = slowFirst(patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })))
  if (found.length === 0) throw new Error(`no test file matches ${patterns.join(' ')}`)
  const options = [`--test-concurrency=${FILES_AT_ONCE}`, '--test-timeout=240000', ...reporters()]
  try {
    await run(process.execPath, ['--test', ...options, ...found], {
      COWRY_TEST_DATABASE_URL: adminUrl,
      COWRY_TEST_TEMPLATE: template,
      ...(pooler && { COWRY_TEST_POOLER_URL: pooler.url }),
      ...(workers && { COWRY_TEST_WORKERS: workers }),
      // Every file is a process that loads the same modules: compiled once, they take half the time.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'cowry-test-compile-cache'),
    })
  } finally {
    await pooler?.stop()
    await dropDatabase(adminUrl, template)
  }
}

function slowFirst(found: string[]): string[] {
  const rank = (file: string) => {
    const index = SLOW_FIRST.findIndex((pattern) => pattern.test(file))
    return index === -1 ? SLOW_FIRST.length : index
  }
  return found.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}

/** What a person reads, and below it the files that took longest. */
function reporters(): string[] {
  return ['spec', join(import.meta.dirname, 'support', 'slowest-files.ts')].flatMap((reporter) => [
    `--test-reporter=${reporter}`,
    '--test-reporter-destination=stdout',
  ])
}

function run(command: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    // A file that leaves something open would otherwise keep the run waiting for ever.
    const timeout = STEP_TIMEOUT_MS
    const child = spawn(command, args, {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, ...env },
      timeout,
    })
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`${command} ended with ${signal ?? code}`))
    })
  })
}
