// Tests start real PostgreSQL servers in temporary folders. A "service" is another Node process that starts the
// database, prints a line and waits, so that tests can kill it.

import assert from 'node:assert/strict'
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { descendantsOf, isRunning } from '../../bench/processes.ts'
import { findPostgresBinaries } from '../../src/kit/embedded-postgres/binaries.ts'
import { MACHINE } from '../../src/kit/embedded-postgres/launcher.ts'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from '../../src/kit/embedded-postgres.ts'

const MODULE_URL = new URL('../../src/kit/embedded-postgres.ts', import.meta.url).href
export const NOBODY_UID = 65534
export const isRoot = process.getuid?.() === 0
export const onLinux = process.platform === 'linux'

// Servers mostly wait for the disk, so the tests run two at a time: they are collected here and declared at the end of
// each file.
const TESTS: [string, (t: TestContext) => Promise<void>][] = []

export function test(name: string, body: (t: TestContext) => Promise<void>): void {
  TESTS.push([name, body])
}

export const TEMPLATE = mkdtempSync(join(tmpdir(), 'cowry-postgres-'))

export function declareTests(subject: string): void {
  describe(subject, { concurrency: 2 }, () => {
    before(async () => {
      const postgres = await startEmbeddedPostgres({ dataDir: TEMPLATE })
      await postgres.stop()
    })
    after(() => rmSync(TEMPLATE, { recursive: true, force: true }))
    // Without a timeout one hanging test would hide the others.
    for (const [name, body] of TESTS) it(name, { timeout: 60_000 }, body)
  })
}

export interface Report {
  url?: string
  name?: string
  message?: string
}

interface Service {
  pid: number
  child: ChildProcess
  report: Report
}

export const SERVICE = `
import { setTimeout as delay } from 'node:timers/promises'
import { startEmbeddedPostgres } from ${JSON.stringify(MODULE_URL)}
import pg from ${JSON.stringify(import.meta.resolve('pg'))}
const { options, at } = JSON.parse(process.argv[1])
if (at) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, at - Date.now())
try {
  const postgres = await startEmbeddedPostgres(options)
  const client = new pg.Client(postgres.url)
  client.on('error', () => {})
  process.once('SIGTERM', async () => { await postgres.stop(); process.exit(0) })
  process.once('SIGINT', async () => {
    let drained = 0
    await client.connect()
    for (; drained < 10; drained += 1) { await delay(30); await client.query('select 1') }
    await client.end()
    await postgres.stop()
    console.log('drained ' + drained)
    process.exit(0)
  })
  setInterval(() => {}, 1000)
  console.log(JSON.stringify({ url: postgres.url }))
} catch (error) {
  console.log(JSON.stringify({ name: error.name, message: error.message }))
}
`

export function spawnService(
  options: EmbeddedPostgresOptions,
  { at }: { at?: number },
  how: SpawnOptions = {},
): ChildProcess {
  const input = JSON.stringify({ options, at })
  return spawn(process.execPath, ['--input-type=module', '-e', SERVICE, input], {
    ...how,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

export async function runService(
  t: TestContext,
  options: EmbeddedPostgresOptions,
  when: { at?: number } = {},
  how: SpawnOptions = {},
): Promise<Service> {
  const child = spawnService(options, when, how)
  endWithTest(t, child)
  const report: Report = JSON.parse(await readLine(child))
  return { pid: child.pid ?? 0, child, report }
}

export async function startService(
  t: TestContext,
  options: EmbeddedPostgresOptions,
  when: { at?: number } = {},
  how: SpawnOptions = {},
): Promise<Service & { url: string }> {
  const service = await runService(t, options, when, how)
  assert.ok(service.report.url, service.report.message)
  return { ...service, url: service.report.url }
}

// The server of a killed service takes a moment to end; remove the folder afterwards.
export function endWithTest(t: TestContext, child: ChildProcess): void {
  undoAfter(t, async () => {
    const processes = child.pid && child.exitCode === null ? descendantsOf(child.pid) : []
    child.kill('SIGKILL')
    await assertGone(processes)
  })
}

export async function readLine(child: ChildProcess): Promise<string> {
  assert.ok(child.stdout)
  const lines = createInterface(child.stdout)
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close').then(() => [''])])
  lines.close()
  return line
}

export async function startInProcess(
  t: TestContext,
  options: EmbeddedPostgresOptions,
  machine = MACHINE,
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres(options, machine)
  undoAfter(t, () => postgres.stop())
  return postgres
}

// Every user may traverse the folder, as /tmp itself.
export function makeFolder(t: TestContext, uid?: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'cowry-postgres-'))
  chmodSync(folder, 0o755)
  if (uid !== undefined) chownSync(folder, uid, uid)
  undoAfter(t, () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  return folder
}

// The data folder of a service that was stopped. initdb is slow, so each test copies it.
export function makeDataFolder(t: TestContext): string {
  const folder = makeFolder(t)
  cpSync(TEMPLATE, folder, { recursive: true })
  return folder
}

// Clean up in reverse order: a server stops before its folder is removed. Node runs hooks in the order of registration.
const UNDO = new WeakMap<TestContext, (() => unknown)[]>()

function undoAfter(t: TestContext, undo: () => unknown): void {
  const steps = UNDO.get(t) ?? []
  steps.push(undo)
  if (steps.length > 1) return
  UNDO.set(t, steps)
  t.after(async () => {
    for (const step of steps.reverse()) await step()
  })
}

export function copyWithoutLinks(t: TestContext): string {
  const original = requireBinaries()
  const copy = join(makeFolder(t), 'native')
  cpSync(original, copy, {
    recursive: true,
    filter: (path) => !lstatSync(path).isSymbolicLink() && !path.endsWith('.a'),
  })
  return copy
}

export function hideEverything(t: TestContext): { dataDir: string; binariesDir: string } {
  const hidden = makeFolder(t)
  chmodSync(hidden, 0o700)
  const binariesDir = join(hidden, 'native')
  cpSync(requireBinaries(), binariesDir, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => !path.endsWith('.a'),
  })
  mkdirSync(join(hidden, '.cowry'))
  return { dataDir: join(hidden, '.cowry', 'postgres'), binariesDir }
}

function requireBinaries(): string {
  const binaries = findPostgresBinaries(18)
  assert.ok(binaries, 'the package with PostgreSQL 18 is not installed')
  return binaries
}

export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

export async function openConnection(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  // These tests stop servers while clients are connected.
  client.on('error', () => {})
  await client.connect()
  undoAfter(t, () => client.end())
  return client
}

export function serverPid(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0])
}

export function ownerOf(pid: number): number | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'uid=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout.trim() === '' ? undefined : Number(stdout)
}

export async function assertGone(pids: number[]): Promise<void> {
  await waitUntil(() => !pids.some(isRunning), `${pids} are gone`)
}

export async function waitUntil(happened: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!happened()) {
    assert.ok(performance.now() < deadline, `timed out waiting until ${what}`)
    await delay(30)
  }
}

// PSS divides shared pages among processes. A process that has ended, such as a vacuum worker, counts as zero.
export function measureKilobytes(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
  } catch {
    return 0
  }
}

export function whyUnprivilegedCannotRun(): string | undefined {
  const script = `import(${JSON.stringify(MODULE_URL)})`
  const { status } = spawnSync(process.execPath, ['-e', script], {
    uid: NOBODY_UID,
    gid: NOBODY_UID,
    cwd: '/',
  })
  return status === 0
    ? undefined
    : 'the user nobody cannot run Node or read the sources where this checkout lies'
}

export function whyNoNamespace(): string | undefined {
  const { status } = spawnSync(MACHINE.unshare, ['--user', '--map-user=65534', '--map-group=65534', 'true'])
  return status === 0 ? undefined : 'this system does not allow user namespaces'
}
