// The test commands of package.json. `npm test` runs the tests in their quick form. `npm run test:rest` checks types, style
// and dead code, runs the other files and the larger forms, and repeats what depends on the environment. Arguments are test
// files.

import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { findPostgresBinaries } from '../src/kit/embedded-postgres/binaries.ts'
import { startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { exitWithUsageError, parseArguments, parsePositiveInteger } from './support/command-line.ts'
import { largestFirst, PROCESSOR_TIMES, sharingFirst, writeGroup } from './support/groups.ts'
import { findPgbouncer, startPgbouncer } from './support/pgbouncer.ts'
import { processorSeconds } from './support/processor-time.ts'
import { buildProgram } from './support/program.ts'
import { dropDatabase, prepareTemplate } from './support/template.ts'
import {
  ALONE,
  BROWSER_GROUPS,
  DATABASE_TESTS,
  EVERY_TEST,
  findTestFiles,
  HAS_BROWSER,
  LARGER_FORMS,
  REST_ONLY,
  SHARED_STATE_TESTS,
} from './support/test-files.ts'

const ROOT = join(import.meta.dirname, '..')
// A file waits as often as it works: for a page, a timer, a process that exits.
const SHARED_PROCESSES = availableParallelism() + 2
// Files with a process of their own wait for browsers and other processes. In the quick form they take half as long as the
// files that share processes, so half as many run beside them from the start to the end.
const BESIDE_SHARED = 2

const SHOWN_FILES = 20
const MAX_STEP_MS = 40 * 60_000
const MAX_OUTPUT_BYTES = 16 * 1024 ** 2
const TEST_TIMEOUT_MS = 240_000
// Enough for the databases of all files that run at once.
const MEMORY_DISK_BYTES = 3 * 1024 ** 3

// The services of all processes are open at once.
const MAX_CONNECTIONS = 400
// Each new database is a checkpoint, after which every page that changes is logged as a whole: to compress these pages took a
// twentieth of the processor time of the server.
const SERVER_SETTINGS = {
  max_connections: String(MAX_CONNECTIONS),
  wal_compression: 'off',
}
// A few files need no more connections than the default of PostgreSQL, and start too few processes to build the program.
const FEW_FILES = 10

const HELP = `npm test [-- FILE …]
npm run test:rest
npm run test:all
npm run test:long

npm test runs the tests in their quick form. test:rest checks types, style and dead code (npm run check) and runs the tests
that take too long for npm test, the larger forms of tests that prove by number, and what depends on the environment again
(oldest PostgreSQL, pgbouncer, two workers). test:all does both. test:long runs the files with a larger form in their
longest form.

  --rest       the rest only
  --all        npm test, then the rest
  --long       the longest form, of the files that have a larger one or of those named
  --pgbouncer  through a pgbouncer in transaction mode, which must be installed
  --oldest     on PostgreSQL 15, the oldest that is supported
  --workers=N  with N processes behind every service that a test starts, where it is not about one process
  --help       this text
`
const {
  values: { pgbouncer: isPooled, oldest: isOldest, workers, rest: isRest, all: isAll, long: isLong },
  positionals: files,
} = parseArguments(HELP, {
  pgbouncer: { type: 'boolean' },
  oldest: { type: 'boolean' },
  workers: { type: 'string' },
  rest: { type: 'boolean' },
  all: { type: 'boolean' },
  long: { type: 'boolean' },
})
if (workers !== undefined) parsePositiveInteger('workers', workers)
if ([isRest, isAll, isLong].filter(Boolean).length > 1)
  exitWithUsageError('Give one of --rest, --all and --long.')
if ((isRest || isAll) && (isPooled || isOldest || workers !== undefined || files.length > 0))
  exitWithUsageError(
    '--rest and --all run on PostgreSQL 15, through pgbouncer and with two workers by themselves, and take no files.',
  )

interface Run {
  patterns: readonly string[]
  without?: readonly string[]
  major?: 15 | 18
  isPooled?: boolean
  workers?: string
  form?: 'rest' | 'long'
}

const startedAt = performance.now()
const form = isLong ? 'long' : undefined
const major = isOldest ? 15 : undefined
const failed: string[] = []
const failures: string[] = []
if (files.length > 0)
  await step('tests', () => runOnServer({ patterns: files, isPooled, workers, form, major }))
else if (isLong) await runLong()
else {
  if (!isRest) await runMain()
  if (isRest || isAll) await runRest()
}
if (failed.length > 0) {
  if (failures.length > 0) console.error(`\nThe tests that failed:\n${failures.join('')}`)
  console.error(`✖ ${commandName()}: ${failed.join(', ')} (${secondsSince(startedAt)})`)
  process.exit(1)
}
console.log(`✔ ${commandName()}: ${secondsSince(startedAt)}`)

function commandName(): string {
  if (isLong) return 'npm run test:long'
  if (isAll) return 'npm run test:all'
  return isRest ? 'npm run test:rest' : 'npm test'
}

async function runLong(): Promise<void> {
  const patterns = [...REST_ONLY, ...LARGER_FORMS]
  await step('longest forms', () => runOnServer({ patterns, isPooled, workers, form: 'long', major }))
}

async function runMain(): Promise<void> {
  if (!HAS_BROWSER) console.log('» browser tests: left out; set COWRY_TEST_BROWSER to a Chromium to run them')
  await step('tests', () =>
    runOnServer({ patterns: EVERY_TEST, without: REST_ONLY, isPooled, workers, major }),
  )
}

async function runRest(): Promise<void> {
  await step('types, style and dead code', async () => {
    const output = await runQuietly('npm', ['run', '--silent', 'check'])
    if (output !== undefined) throw new Error(`npm run check\n${output}`)
  })
  const patterns = [...REST_ONLY, ...LARGER_FORMS]
  await step('larger forms', () => runOnServer({ patterns, form: 'rest' }))
  if (process.env.DATABASE_URL) {
    console.log('» PostgreSQL 15, pgbouncer, two workers: left out, because DATABASE_URL names the server')
    return
  }
  if (findPostgresBinaries(15))
    await step('PostgreSQL 15', () => runOnServer({ patterns: DATABASE_TESTS, major: 15 }))
  else console.log('» PostgreSQL 15: left out, there is no package of it for this platform')
  if (findPgbouncer())
    await step('pgbouncer', () => runOnServer({ patterns: DATABASE_TESTS, isPooled: true }))
  else console.log('» pgbouncer: left out, it is not installed')
  await step('two workers', () => runOnServer({ patterns: SHARED_STATE_TESTS, workers: '2' }))
}

function secondsSince(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}

/** A step that fails does not prevent the next ones, so that one run finds everything. */
async function step(name: string, work: () => Promise<void>): Promise<void> {
  const since = performance.now()
  const processorSince = processorSeconds()
  console.log(`» ${name}`)
  try {
    await work()
  } catch (error) {
    console.error(`✖ ${name}: ${error instanceof Error ? error.message : error}`)
    failed.push(name)
    return
  }
  const processor = (processorSeconds() - processorSince).toFixed(0)
  console.log(`✔ ${name} (${secondsSince(since)}, ${processor} s of processor time)`)
}

/** Runs the tests on the server of DATABASE_URL, or on a private one that is removed afterwards. */
async function runOnServer(tests: Run): Promise<void> {
  const url = process.env.DATABASE_URL
  const folder = await mkdtemp(join(await fastFolder(), 'cowry-test-'))
  // As root the server runs as another user, and PostgreSQL 15 walks down to its folder by the whole path.
  await chmod(folder, 0o711)
  if (url) return runTests(url, tests, folder).finally(() => rm(folder, { recursive: true, force: true }))
  const binariesDir = findPostgresBinaries(tests.major ?? 18)
  const dataDir = join(folder, 'postgres')
  const postgres = await startEmbeddedPostgres({ dataDir, binariesDir, settings: SERVER_SETTINGS })
  try {
    await runTests(postgres.url, tests, folder)
  } finally {
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** A file system in memory, where there is one with room: the tests then wait for no disk. */
async function fastFolder(): Promise<string> {
  const memory = '/dev/shm'
  const free = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  return free > MEMORY_DISK_BYTES ? memory : tmpdir()
}

async function runTests(url: string, tests: Run, folder: string): Promise<void> {
  const without = findTestFiles(tests.without ?? [])
  const found = findTestFiles(tests.patterns).filter((file) => !without.includes(file))
  if (found.length === 0) throw new Error(`no test file matches ${tests.patterns.join(' ')}`)
  await requireConnections(url, found.length)
  const { adminUrl, template } = await prepareTemplate(url)
  const pooler = tests.isPooled ? await startPgbouncer(url) : undefined
  const program = found.length > FEW_FILES ? await buildProgram() : undefined
  const options = [
    `--test-concurrency=${tests.form ? SHARED_PROCESSES : SHARED_PROCESSES + BESIDE_SHARED}`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    ...(tests.form ? ['--test-only'] : []),
    ...reporters(),
  ]
  const failuresFile = join(folder, 'failures.txt')
  try {
    const entries = writeEntries(folder, found, tests)
    await run(process.execPath, ['--test', ...options, ...entries], {
      COWRY_TEST_DATABASE_URL: adminUrl,
      COWRY_TEST_TEMPLATE: template,
      ...(program && { COWRY_TEST_PROGRAM: program.file }),
      ...(pooler && { COWRY_TEST_POOLER_URL: pooler.url }),
      ...(tests.workers && { COWRY_TEST_WORKERS: tests.workers }),
      ...(tests.form && { COWRY_TEST_FORM: tests.form }),
      COWRY_TEST_FAILURES: failuresFile,
      // Every process loads the same modules: compiled once, they load in half the time.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'cowry-test-compile-cache'),
    })
    printProcessorTimes(folder)
  } finally {
    if (existsSync(failuresFile)) failures.push(readFileSync(failuresFile, 'utf8'))
    await pooler?.stop()
    await program?.remove()
    await dropDatabase(adminUrl, template)
  }
}

/** A server of DATABASE_URL may allow fewer connections than the run opens, which would fail in the middle of it. */
async function requireConnections(url: string, fileCount: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query('show max_connections')
    if (fileCount <= FEW_FILES || Number(rows[0].max_connections) >= MAX_CONNECTIONS) return
    throw new Error(`the server of DATABASE_URL must have max_connections of ${MAX_CONNECTIONS} or more`)
  } finally {
    await client.end()
  }
}

/** One entry for each process, the longest first: in a larger form these are the browsers and the files of their own. */
function writeEntries(folder: string, found: readonly string[], { form }: Run): string[] {
  const entries = join(folder, 'entries')
  mkdirSync(entries)
  const groupsOf = (patterns: readonly RegExp[]) =>
    patterns
      .map((_, index) => found.filter((file) => patterns.findIndex((one) => one.test(file)) === index))
      .filter(({ length }) => length > 0)
  const lines = groupsOf(ALONE)
  // In the quick form one browser takes less time than its start in each of three processes.
  const browsers = groupsOf(form ? BROWSER_GROUPS : BROWSER_GROUPS.slice(-1))
  const own = [...browsers, ...(form ? lines.flat().map((file) => [file]) : lines)]
  const together = found.filter((file) => !own.flat().includes(file))
  const queue = sharingFirst(ROOT, largestFirst(ROOT, together))
  const shared = Array.from({ length: Math.min(together.length, SHARED_PROCESSES) }, () => queue)
  const groups = form ? [...own, ...shared] : [...shared, ...own]
  return groups.map((group, index) =>
    writeGroup(entries, `group-${String(index + 1).padStart(3, '0')}`, ROOT, group),
  )
}

/** The report that a person reads, below it the files that took longest, and in a file the tests that failed. */
function reporters(): string[] {
  return ['spec', join(import.meta.dirname, 'support', 'summary-reporter.ts')].flatMap((reporter) => [
    `--test-reporter=${reporter}`,
    '--test-reporter-destination=stdout',
  ])
}

/** Each file with all processes that it started, but without PostgreSQL. Compare these between runs: durations depend on the load. */
function printProcessorTimes(folder: string): void {
  const lines = readFileSync(join(folder, 'entries', PROCESSOR_TIMES), 'utf8')
    .trim()
    .split('\n')
  if (lines.length < 2) return
  const largest = lines.toSorted((a, b) => Number.parseFloat(b) - Number.parseFloat(a)).slice(0, SHOWN_FILES)
  console.log(`\nMost processor time of ${lines.length} files:`)
  for (const line of largest) console.log(`${line.split(' ')[0]?.padStart(7)} s  ${line.split(' ')[1]}`)
}

/** Returns the output of a command that fails. */
function runQuietly(command: string, args: string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { cwd: ROOT, timeout: MAX_STEP_MS, maxBuffer: MAX_OUTPUT_BYTES },
      (error, out, err) => {
        resolve(error ? `${out}${err}` || error.message : undefined)
      },
    )
  })
}

function run(command: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    // A file that leaves a handle open would otherwise keep the run waiting without end.
    const timeout = MAX_STEP_MS
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
