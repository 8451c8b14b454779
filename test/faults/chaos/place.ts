// A process that is started again whenever it has ended, as a service manager would.

import { appendFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cleanup } from '../../support/database.ts'
import { type RunningProcess, startProcess } from '../../support/process.ts'

export interface Place {
  name: string
  kind: 'api' | 'worker' | 'provider'
  isUp(): boolean
  /** Whether it has worked for at least as long as its start took: on a busy machine it would do nothing but start. */
  hasWorked(): boolean
  /** Kills it where it stands; answers whether there was anything to kill. */
  kill(): Promise<boolean>
  /** Stands still until it is woken up, and does not know it; answers whether there was anything to stop. */
  freeze(): boolean
  wake(): void
}

export interface PlaceOptions {
  name: string
  kind: Place['kind']
  args: string[]
  env: Record<string, string>
  logFile: string
  /** Told what it says when it is ready. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints facts of its own
  onStart(facts: any): void
  complain(words: string): void
}

const REST_AFTER_FAILED_START_MS = 200

/** Resolves when it runs for the first time; ends for good with the test. */
export async function keepRunning(t: Cleanup, options: PlaceOptions): Promise<Place> {
  const { name, kind } = options
  const ends: (() => Promise<void>)[] = []
  let running: RunningProcess | undefined
  let startTookMs = 0
  let upSince = 0
  let isOver = false
  let life: Promise<void> | undefined
  const endAll = async () => {
    for (const end of ends) await end()
  }
  t.after(async () => {
    isOver = true
    await endAll()
    await life
    // One that was just being started when it was over.
    await endAll()
  })

  const start = async (): Promise<RunningProcess> => {
    const ending = { after: (end: () => Promise<void>) => void ends.push(end) }
    const began = performance.now()
    const started = await startProcess(ending, options.args, options.env)
    upSince = performance.now()
    startTookMs = upSince - began
    options.onStart(started.facts)
    return started
  }
  const watch = async (started: RunningProcess): Promise<void> => {
    running = started
    const { code, signal } = await started.ended
    running = undefined
    await appendFile(options.logFile, started.errors())
    if (!isOver && signal !== 'SIGKILL') options.complain(`${name} ended by itself with ${signal ?? code}`)
  }
  const goOn = async (first: RunningProcess): Promise<void> => {
    await watch(first)
    while (!isOver) {
      // The database may be away at this moment, and then there is no start.
      const started = await start().catch(giveUp)
      if (started) await watch(started)
      else await delay(REST_AFTER_FAILED_START_MS)
    }
  }
  const giveUp = async (error: unknown): Promise<undefined> => {
    await appendFile(options.logFile, `no start: ${error}\n`)
    // One that was too slow is still there, and must not come after all.
    await endAll()
  }
  const signal = (what: NodeJS.Signals): boolean => {
    try {
      return running !== undefined && process.kill(running.pid, what)
    } catch {
      // It ended a moment ago, and nobody has heard of it yet.
      return false
    }
  }
  life = goOn(await start())

  return {
    name,
    kind,
    isUp: () => running !== undefined,
    hasWorked: () => running !== undefined && performance.now() - upSince >= startTookMs,
    async kill() {
      if (!running) return false
      await running.kill('SIGKILL')
      return true
    },
    freeze: () => signal('SIGSTOP'),
    wake: () => void signal('SIGCONT'),
  }
}
