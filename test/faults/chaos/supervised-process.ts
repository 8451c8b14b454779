// A process that is restarted whenever it ends, as a service manager would do.

import { appendFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cleanup } from '../../support/database.ts'
import { type RunningProcess, startProcess } from '../../support/process.ts'

export interface SupervisedProcess {
  name: string
  kind: 'api' | 'worker' | 'provider'
  isUp(): boolean
  /** Whether it has run for at least as long as its start took: on a busy machine it would otherwise only start. */
  hasWorked(): boolean
  /** Kills the process; returns whether it was running. */
  kill(): Promise<boolean>
  /** Stops the process for this time (SIGSTOP); returns whether it was running. */
  pause(): boolean
  resume(): void
}

export interface SupervisedProcessOptions {
  name: string
  kind: SupervisedProcess['kind']
  args: string[]
  env: Record<string, string>
  logFile: string
  /** Called with the facts that the process prints when ready. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints facts of its own
  onStart(facts: any): void
  reportError(message: string): void
}

const RESTART_BACKOFF_MS = 200

/** Resolves when it runs for the first time; the test's cleanup ends it. */
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
    // A process that was starting when the run ended.
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
    if (!isOver && signal !== 'SIGKILL')
      options.reportError(`${name} ended unexpectedly with ${signal ?? code}`)
  }
  const supervise = async (first: RunningProcess): Promise<void> => {
    await watch(first)
    while (!isOver) {
      // The database may be down, and then the start fails.
      const started = await start().catch(logFailedStart)
      if (started) await watch(started)
      else await delay(RESTART_BACKOFF_MS)
    }
  }
  const logFailedStart = async (error: unknown): Promise<undefined> => {
    await appendFile(options.logFile, `no start: ${error}\n`)
    // A process that was too slow still runs, and must not become ready later.
    await cleanUpAll()
  }
  const signal = (what: NodeJS.Signals): boolean => {
    try {
      return running !== undefined && process.kill(running.pid, what)
    } catch {
      // It ended a moment ago, and its exit event is not handled yet.
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
