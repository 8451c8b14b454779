// Starts the service, the sandbox provider and the command line as processes that tests can kill.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isRunning } from '../../bench/processes.ts'
import type { Cleanup } from './database.ts'

export const ROOT = join(import.meta.dirname, '../..')
// Loading the program takes half of a start, and the tests start it a hundred times.
export const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/compile')
// A start takes a second; on a machine that many others use it has taken more than a minute.
const START_TIMEOUT_MS = 180_000
const END_TIMEOUT_MS = 10_000

export interface ProcessOptions {
  /** The command to run instead of the program itself, such as npm start. */
  command?: readonly [file: string, ...args: string[]]
  /** Another user, another checkout, a new process group. */
  uid?: number
  gid?: number
  root?: string
  detached?: boolean
}

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
}

interface Spawned {
  pid: number
  child: ChildProcess
  output(): string
  errors(): string
  /** Resolves when the process has ended, in whatever way. */
  ended: Promise<Ended>
}

export interface RunningProcess extends Omit<Spawned, 'child'> {
  /** The facts that the process printed as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints facts of its own
  facts: any
  /** Sends the signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<Ended>
}

export async function tempFolder(t: Cleanup, name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `cowry-${name}-`))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/** Starts `cowry <args> --json` with exactly this environment, and waits for the facts that it prints when ready. */
export async function startProcess(
  t: Cleanup,
  args: string[],
  env: Record<string, string>,
  options: ProcessOptions = {},
): Promise<RunningProcess> {
  const running = await startUntilOutput(t, [...args, '--json'], env, isJson, options)
  const facts = JSON.parse(running.output())
  // A command that fails prints its error as JSON too.
  if (facts.status === 'error') throw new Error(`${args.join(' ')} failed: ${facts.message}`)
  return { ...running, facts }
}

/** Starts `cowry <args>` without --json, and waits until its output says that it is ready. */
export async function startUntilOutput(
  t: Cleanup,
  args: string[],
  env: Record<string, string>,
  isReady: (output: string) => boolean,
  options: ProcessOptions = {},
): Promise<Omit<RunningProcess, 'facts'>> {
  const { child, ...spawned } = spawnCowry(t, args, env, options)
  await awaitOutput(child, spawned, isReady)
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    return spawned.ended
  }
  return { ...spawned, kill }
}

/** Runs `cowry <args>` to its end. */
export async function runCowry(
  t: Cleanup,
  args: string[],
  env: Record<string, string> = {},
  options: ProcessOptions = {},
): Promise<Ended & { out: string; err: string }> {
  const { child, ended, output, errors } = spawnCowry(t, args, env, options)
  // Not on exit: the last output may arrive after it.
  const [end] = await Promise.all([ended, once(child, 'close')])
  return { ...end, out: output(), err: errors() }
}

/** The one that test/run.ts built, for the processes of this checkout. */
export function programIn(root: string): string {
  return (root === ROOT && process.env.COWRY_TEST_PROGRAM) || 'src/main.ts'
}

function spawnCowry(
  t: Cleanup,
  args: string[],
  env: Record<string, string>,
  { root = ROOT, command = [process.execPath, programIn(root)], ...options }: ProcessOptions,
): Spawned {
  const [file, ...before] = command
  const child = spawn(file, [...before, ...args], {
    ...options,
    cwd: root,
    env: {
      PATH: process.env.PATH ?? '',
      COWRY_LOG_LEVEL: 'warn',
      // On a busy machine the loop of a process may be late without any load.
      COWRY_MAX_LOOP_DELAY_MS: '0',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const texts = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    texts.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    texts.err += chunk
  })
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  t.after(() => end(child, ended))
  return { pid: child.pid ?? 0, child, output: () => texts.out, errors: () => texts.err, ended }
}

async function awaitOutput(
  child: ChildProcess,
  { ended, output, errors }: Omit<Spawned, 'child'>,
  isReady: (output: string) => boolean,
): Promise<void> {
  const stop = new AbortController()
  const ready = new Promise<void>((resolve) => {
    child.stdout?.on('data', () => {
      if (isReady(output())) resolve()
    })
  })
  const failed = ended.then(({ code, signal }) => {
    throw new Error(`the process ended with ${code ?? signal} before it was ready:\n${errors()}`)
  })
  const tooLate = delay(START_TIMEOUT_MS, undefined, { signal: stop.signal }).then(() => {
    throw new Error(`the process was not ready in ${START_TIMEOUT_MS} ms:\n${errors()}`)
  })
  // The promises that lose the race must not count as unhandled rejections.
  for (const loser of [failed, tooLate]) loser.catch(() => undefined)
  try {
    await Promise.race([ready, failed, tooLate])
  } finally {
    stop.abort()
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  // A stopped process must continue to handle the signal.
  child.kill('SIGCONT')
  const force = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS)
  await ended
  clearTimeout(force)
}

// A read costs as much as a request: what takes long is read less often.
const SHORTEST_POLL_MS = 20
const LONGEST_POLL_MS = 150
const POLLS_PER_WAIT = 10

/** Polls until the value is accepted, or fails with the last value. */
export async function eventually<Value>(
  read: () => Promise<Value> | Value,
  isWanted: (value: Value) => boolean,
  withinMs: number,
): Promise<Value> {
  const startedAt = performance.now()
  for (;;) {
    const value = await read()
    if (isWanted(value)) return value
    const waitedMs = performance.now() - startedAt
    if (waitedMs > withinMs) throw new Error(`not accepted after ${withinMs} ms: ${JSON.stringify(value)}`)
    await delay(Math.min(SHORTEST_POLL_MS + waitedMs / POLLS_PER_WAIT, LONGEST_POLL_MS))
  }
}

/** Waits until all these processes have ended. */
export async function awaitExit(pids: number[], withinMs = 10_000): Promise<void> {
  await eventually(
    () => pids.filter(isRunning),
    ({ length }) => length === 0,
    withinMs,
  )
}
