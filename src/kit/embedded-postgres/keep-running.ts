// Keeps the server running while the service runs: if it exits by itself, for example because the disk is full or because
// someone killed it, it is started again on the same port, with backoff, until that succeeds. Committed data is on disk,
// so nothing is lost; meanwhile the service is not ready and answers 503.

import { setTimeout as delay } from 'node:timers/promises'
import type { Launcher } from './launcher.ts'
import { stopOrphanServer } from './orphan.ts'
import { type RunningServer, runServer, stopServer } from './server.ts'
import { explainFailure, type ServerLog } from './server-log.ts'

const FIRST_DELAY_MS = 250
const MAX_DELAY_MS = 15_000
// A start that is under way when the service stops. If it takes longer, the supervisor stops the server later.
const STOP_WAIT_MS = 10_000

interface Kept {
  server: RunningServer
  cluster: string
  launcher: Launcher
  log: ServerLog
  settings?: Record<string, string>
  /** Called when the server has exited, and after each start that failed. */
  onExit?: (reason: string) => void
  /** Called when it runs again. */
  onRestart?: () => void
}

/** Returns the function that stops the server for good. */
export function keepRunning(kept: Kept): () => Promise<void> {
  const { cluster, log, onExit, onRestart } = kept
  const stopping = new AbortController()
  let current = kept.server
  const watch = async () => {
    for (;;) {
      await current.program.exited
      if (stopping.signal.aborted) return
      onExit?.(explainFailure(`The database server has exited: ${current.program.exit}.`, log).message)
      const restarted = await restart(kept, stopping.signal)
      if (!restarted) return
      current = restarted
      if (stopping.signal.aborted) return await stopServer(current, cluster)
      onRestart?.()
    }
  }
  const watching = watch()
  return async () => {
    stopping.abort()
    await stopServer(current, cluster)
    await Promise.race([watching, delay(STOP_WAIT_MS, undefined, { ref: false })])
  }
}

/** Undefined if the service stops first. */
async function restart(kept: Kept, signal: AbortSignal): Promise<RunningServer | undefined> {
  const { server, cluster, launcher, log, settings, onExit } = kept
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    await delay(delayMs, undefined, { signal, ref: false }).catch(() => undefined)
    if (signal.aborted) return undefined
    try {
      // If only the supervisor was killed, the server still runs, and nothing would stop it with this process.
      await stopOrphanServer(cluster, () => {})
      const restarted = await runServer(launcher, cluster, log, { settings, port: server.port })
      restarted.program.unref()
      return restarted
    } catch (error) {
      onExit?.(error instanceof Error ? error.message : String(error))
    }
  }
}
