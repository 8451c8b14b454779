// The README's test command: checks types, style and dead code, then runs every test against one PostgreSQL server, and
// the API tests once more on the oldest version we support. Arguments are test files; without them all run.

import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findPostgresBinaries, startEmbeddedPostgres } from '../src/kit/embedded-postgres.ts'
import { dropDatabase, prepareTemplate } from './support/template.ts'

const ROOT = join(import.meta.dirname, '..')
// The npm package of the browser is for this platform alone; elsewhere a Chromium can be named.
const HAS_BROWSER =
  Boolean(process.env.COWRY_TEST_BROWSER) || (process.platform === 'linux' && process.arch === 'x64')
const EVERY_TEST = [
  'src/**/*.test.ts',
  HAS_BROWSER ? 'test/**/*.test.ts' : 'test/{*,!(browser)/**/*}.test.ts',
]
const API_TESTS = ['test/api/**/*.test.ts']

const LONGEST_STEP_MS = 30 * 60_000

const files = process.argv.slice(2)
const isWhole = files.length === 0

if (isWhole) {
  await step('types, style and dead code', () => run('npm', ['run', '--silent', 'check']))
}
if (isWhole && !HAS_BROWSER)
  console.log('» browser tests: left out; set COWRY_TEST_BROWSER to a Chromium to run them')
await step('tests', () => withServer(process.env.DATABASE_URL, 18, isWhole ? EVERY_TEST : files))
if (isWhole && !process.env.DATABASE_URL) {
  if (findPostgresBinaries(15))
    await step('API tests on PostgreSQL 15', () => withServer(undefined, 15, API_TESTS))
  else console.log('» API tests on PostgreSQL 15: left out, there is no package of it for this platform')
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
  const found = patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()
  if (found.length === 0) throw new Error(`no test file matches ${patterns.join(' ')}`)
  try {
    const options = ['--test', `--test-concurrency=${availableParallelism()}`, '--test-timeout=240000']
    await run(process.execPath, [...options, ...found], {
      COWRY_TEST_DATABASE_URL: adminUrl,
      COWRY_TEST_TEMPLATE: template,
    })
  } finally {
    await dropDatabase(adminUrl, template)
  }
}

function run(command: string, args: string[], env: Record<string, string> = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    // A file that leaves something open would otherwise keep the run waiting for ever.
    const timeout = LONGEST_STEP_MS
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
