// npm run bench:start: measures the start time, what an idle service needs and the number of packages, each against the
// limit in the README.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { parseOptions } from '../test/support/command-line.ts'
import { measureIdle } from './idle.ts'
import { diskBytesOf, runtimePackages } from './packages.ts'
import { descendantsOf, memoryOf, residentMemoryOf } from './processes.ts'

const ROOT = join(import.meta.dirname, '..')
/** The arguments of npm start, after "exec node". */
const COMMAND: string[] = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  .scripts.start.split(' ')
  .slice(2)
const ROUNDS = 3
// Long enough for the first run of the background jobs; unused connections end after ten seconds.
const IDLE_MS = 15_000
const MEGABYTE = 1_000_000

const HELP = `npm run bench:start [-- --json]

Starts the service ${ROUNDS} times on an empty data folder and once more on the same folder, and prints the medians:
the time to ready of a first and of a second start, the memory, processor time and transactions of the idle service
with its embedded PostgreSQL, and the number and size of run-time packages. Exits with 1 if a limit is exceeded.

  --json  one JSON document instead of the table
  --help  this text
`

interface Measure {
  name: string
  value: number
  unit: 's' | 'MB' | 'packages' | '/s' | '%'
  limit: number
}

interface Round {
  firstStartMs: number
  secondStartMs: number
  idleBytes: number
  transactionsPerSecond: number
  /** Of one core. */
  cpuShare: number
}

const options = parseOptions(HELP, { json: { type: 'boolean' } })
const measures = await measure()
process.stdout.write(options.json ? renderJson(measures) : renderTable(measures))
if (measures.some(exceedsLimit)) process.exitCode = 1

async function measure(): Promise<Measure[]> {
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await runRound())
  const middle = (field: keyof Round) => median(rounds.map((round) => round[field]))
  const packages = await runtimePackages(ROOT)
  return [
    { name: 'first start to ready', value: middle('firstStartMs') / 1_000, unit: 's', limit: 5 },
    { name: 'second start to ready', value: middle('secondStartMs') / 1_000, unit: 's', limit: 5 },
    { name: 'idle memory', value: middle('idleBytes') / MEGABYTE, unit: 'MB', limit: 230 },
    { name: 'idle transactions', value: middle('transactionsPerSecond'), unit: '/s', limit: 2 },
    { name: 'idle processor time', value: middle('cpuShare') * 100, unit: '%', limit: 1 },
    { name: 'run-time packages', value: packages.length, unit: 'packages', limit: 130 },
    // Of which 70 MB are Node's headers, which its package does not leave out.
    { name: '… on disk', value: (await diskBytesOf(ROOT, packages)) / MEGABYTE, unit: 'MB', limit: 320 },
  ]
}

async function runRound(): Promise<Round> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cowry-bench-'))
  try {
    const first = await startService(dataDir)
    await delay(IDLE_MS)
    const databaseBytes = descendantsOf(first.pid).reduce((sum, pid) => sum + memoryOf(pid), 0)
    const idleBytes = residentMemoryOf(first.pid) + databaseBytes
    const idle = await measureIdle(first.pid, dataDir)
    await first.stop()
    const second = await startService(dataDir)
    await second.stop()
    return { firstStartMs: first.readyMs, secondStartMs: second.readyMs, idleBytes, ...idle }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** From the command to the first 200 of /readyz: the time that a user waits. */
async function startService(dataDir: string) {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [...COMMAND, '--json'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, PORT: '0', COWRY_DATA_DIR: dataDir, COWRY_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  try {
    const { url } = JSON.parse(await readLine(child, ended))
    const { status } = await fetch(`${url}/readyz`)
    if (status !== 200) throw new Error(`the service listens and is not ready: HTTP ${status}`)
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  const readyMs = performance.now() - startedAt
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  return { pid: child.pid ?? 0, readyMs, stop }
}

async function readLine(child: ChildProcess, ended: Promise<unknown[]>): Promise<string> {
  if (!child.stdout) throw new Error('the output of the service is not read')
  const failed = ended.then(([code]) => {
    throw new Error(`the service ended with ${code} before it was ready`)
  })
  const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), failed])
  // Its later exit is no failure.
  failed.catch(() => undefined)
  return line
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
}

function exceedsLimit({ value, limit }: Measure): boolean {
  // NaN must count as a miss, so the comparison is negated.
  return !(value <= limit)
}

function renderJson(measures: Measure[]): string {
  const shown = measures.map((one) => ({ ...one, value: round(one), ok: !exceedsLimit(one) }))
  return `${JSON.stringify({ rounds: ROUNDS, measures: shown }, null, 2)}\n`
}

function renderTable(measures: Measure[]): string {
  const lines = measures.map((one) => {
    const value = `${round(one)} ${one.unit}`
    return `${one.name.padEnd(24)}${value.padStart(14)}   limit ${one.limit} ${one.unit}${exceedsLimit(one) ? '   BROKEN' : ''}`
  })
  return `${lines.join('\n')}\n(medians of ${ROUNDS} rounds)\n`
}

function round({ value, unit }: Measure): number {
  return ['s', '/s', '%'].includes(unit) ? Number(value.toFixed(2)) : Math.round(value)
}
