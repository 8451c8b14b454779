// A process that is started again whenever it has ended, as a service manager would.

import { appendFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cleanup } from '../../support/database.ts'
import { type RunningProcess, startProcess } from '../../support/process.ts'

export interface SupervisedProcess {
  name: string
  kind: 'api' | 'worker' | 'provider'
  isUp(): boolean
  /** Whether it has worked for at least as long as its start took: on a busy machine it would do nothing but start. */
  hasWorked(): boolean
  /** Kills it where it stands; answers whether there was anything to kill. */
  kill(): Promise<boolean>
  /** Stands still until it is woken up, and does not know it; answers whether there was anything to stop. */
  pause(): boolean
  resume(): void
}

export interface SupervisedProcessOptions {
  name: string
  kind: SupervisedProcess['kind']
  args: string[]
  env: Record<string, string>
  logFile: string
  /** Told what it says when it is ready. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints facts of its own
  onStart(facts: any): void
  reportError(words: string): void
}

const RESTART_BACKOFF_MS = 200

/** Resolves when it runs for the first time; cleanups for good with the test. */
export async function superviseProcess(
  t: Cleanup,
  options: SupervisedProcessOptions,
): Promise<SupervisedProcess> {
  const { name, kind } = options
  const cleanups: (() => Promise<void>)[] = []
  let running: RunningProcess | undefined
  let startDurationMs = 0
  let upSince = 0
  let isOver = false
  let supervision: Promise<void> | undefined
  const cleanUpAll = async () => {
    for (const end of cleanups) await end()
  }
  t.after(async () => {
    isOver = true
    await cleanUpAll()
    await supervision
    // One that was just being started when it was over.
    await cleanUpAll()
  })

  const start = async (): Promise<RunningProcess> => {
    const cleanup = { after: (end: () => Promise<void>) => void cleanups.push(end) }
    const began = performance.now()
    const started = await startProcess(cleanup, options.args, options.env)
    upSince = performance.now()
    startDurationMs = upSince - began
    options.onStart(started.facts)
    return started
  }
  const watch = async (started: RunningProcess): Promise<void> => {
    running = started
    const { code, signal } = await started.ended
    running = undefined
    await appendFile(options.logFile, started.errors())
    if (!isOver && signal !== 'SIGKILL') options.reportError(`${name} ended by itself with ${signal ?? code}`)
  }
  const supervise = async (first: RunningProcess): Promise<void> => {
    await watch(first)
    while (!isOver) {
      // The database may be away at this moment, and then there is no start.
      const started = await start().catch(logFailedStart)
      if (started) await watch(started)
      else await delay(RESTART_BACKOFF_MS)
    }
  }
  const logFailedStart = async (error: unknown): Promise<undefined> => {
    await appendFile(options.logFile, `no start: ${error}\n`)
    // One that was too slow is still there, and must not come after all.
    await cleanUpAll()
  }
  const signal = (what: NodeJS.Signals): boolean => {
    try {
      return running !== undefined && process.kill(running.pid, what)
    } catch {
      // It ended a moment ago, and nobody has heard of it yet.
      return false
    }
  }
  supervision = supervise(await start())

  return {
    name,
    kind,
    isUp: () => running !== undefined,
    hasWorked: () => running !== undefined && performance.now() - upSince >= startDurationMs,
    async kill() {
      if (!running) return false
      await running.kill('SIGKILL')
      return true
    },
    pause: () => signal('SIGSTOP'),
    resume: () => void signal('SIGCONT'),
  }
}
