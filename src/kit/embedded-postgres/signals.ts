// Signals processes to end, and checks whether they are alive.

import { setTimeout as delay } from 'node:timers/promises'

// SIGINT is PostgreSQL's fast shutdown. SIGQUIT is its immediate one, which loses nothing that was committed but needs
// a recovery at the next start; PostgreSQL 18 needs it when SIGINT comes at a bad moment during a recovery.
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
      throw new Error(`The database server ${pid} does not end. End it (kill -9 ${pid}) and start again.`)
    }
    // Once a second, because a server that has just started does not handle signals yet.
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
    // Another user's process may not be signalled, but it is alive.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It exited between the check and the signal, which is the intended result.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
