// Stops processes by signals of increasing force, and checks whether a process is alive.

import { setTimeout as delay } from 'node:timers/promises'

// SIGINT is PostgreSQL's fast shutdown. SIGQUIT is the immediate shutdown: it loses no commit, but the next start needs
// a recovery. PostgreSQL 18 needs it when SIGINT arrives at a bad moment during a recovery.
export const IMMEDIATE_AFTER_SECONDS = 5
export const KILL_AFTER_SECONDS = 10
const TIMEOUT_SECONDS = 15
const POLL_MS = 10

export async function shutDown(pid: number, isRunning: () => boolean | Promise<boolean>): Promise<void> {
  const startedAt = performance.now()
  let signals = 0
  while (await isRunning()) {
    const seconds = (performance.now() - startedAt) / 1000
    if (seconds > TIMEOUT_SECONDS) {
      throw new Error(`The database server ${pid} does not stop. Kill it (kill -9 ${pid}) and start again.`)
    }
    // The signal is sent once a second, because a server that has just started does not handle it yet.
    if (seconds >= signals) {
      sendSignal(pid, chooseSignal(seconds))
      signals += 1
    }
    await delay(POLL_MS)
  }
}

function chooseSignal(seconds: number): NodeJS.Signals {
  if (seconds < IMMEDIATE_AFTER_SECONDS) return 'SIGINT'
  return seconds < KILL_AFTER_SECONDS ? 'SIGQUIT' : 'SIGKILL'
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // We may not signal the process of another user, but it is alive.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // The process exited between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
