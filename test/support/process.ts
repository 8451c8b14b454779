// The service and the sandbox provider as processes of their own, to be killed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Ending } from './database.ts'

const ROOT = join(import.meta.dirname, '../..')
const START_TIMEOUT_MS = 60_000

export interface RunningProcess {
  pid: number
  /** The first line of JSON that it printed. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints facts of its own
  facts: any
  errors(): string
  kill(signal: NodeJS.Signals): Promise<void>
  /** Resolves when it has ended, however. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export async function tempFolder(t: Ending, name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `cowry-${name}-`))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))
  return folder
}

/** Starts `cowry <args> --json` with exactly this environment, and waits for its first line. */
export async function startProcess(
  t: Ending,
  args: string[],
  env: Record<string, string>,
): Promise<RunningProcess> {
  const child = spawn(process.execPath, ['src/main.ts', ...args, '--json'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', COWRY_LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  t.after(() => end(child, ended))
  const line = await firstLine(child, ended, () => errors)
  return {
    pid: child.pid ?? 0,
    facts: JSON.parse(line),
    errors: () => errors,
    ended,
    async kill(signal) {
      child.kill(signal)
      await ended
    },
  }
}

async function firstLine(
  child: ChildProcess,
  ended: Promise<{ code: number | null }>,
  errors: () => string,
): Promise<string> {
  if (!child.stdout) throw new Error('the output of the process is not read')
  const lines = createInterface({ input: child.stdout })
  const line = once(lines, 'line').then(([text]) => String(text))
  const failed = ended.then(({ code }) => {
    throw new Error(`the process ended with ${code} before it was ready:\n${errors()}`)
  })
  const late = AbortSignal.timeout(START_TIMEOUT_MS)
  const tooLate = once(late, 'abort').then(() => {
    throw new Error(`the process was not ready in ${START_TIMEOUT_MS} ms:\n${errors()}`)
  })
  return Promise.race([line, failed, tooLate])
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  const force = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(force)
}

/** Asks again until the answer is the one wanted, or fails with the last one. */
export async function eventually<Value>(
  read: () => Promise<Value>,
  isWanted: (value: Value) => boolean,
  withinMs: number,
): Promise<Value> {
  const until = Date.now() + withinMs
  for (;;) {
    const value = await read()
    if (isWanted(value)) return value
    if (Date.now() > until)
      throw new Error(`still not as wanted after ${withinMs} ms: ${JSON.stringify(value)}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
