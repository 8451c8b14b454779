// Cleans up after a service that died. Its server may still be shutting down, or was killed and left postmaster.pid
// behind. The caller must hold the lock of the data folder.

import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { isAlive, KILL_AFTER_SECONDS, shutDown } from './signals.ts'

export interface PostmasterFile {
  pid: number
  ready: boolean
}

const POLL_MS = 20
// Larger than any process id of a kernel, and still a positive 32-bit number, which PostgreSQL requires.
const NO_PROCESS = 2_147_483_646

export function readPostmasterFile(cluster: string): PostmasterFile | undefined {
  try {
    const lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    const pid = Number(lines[0])
    // The eighth line is the server's state.
    return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export async function stopOrphanServer(
  cluster: string,
  onProgress: (message: string) => void,
): Promise<void> {
  const file = readPostmasterFile(cluster)
  if (!file) return
  if (!canIdentify()) {
    await waitForExit(file.pid)
  } else if (await isServerOf(file.pid, cluster)) {
    onProgress(`waiting for the database server ${file.pid} of a service that was killed`)
    await shutDown(file.pid, () => isServerOf(file.pid, cluster))
  }
  overwritePid(cluster)
}

// In a chroot without /proc we cannot identify a process, so we do not signal it. If it is a server, its supervisor
// stops it.
function canIdentify(): boolean {
  return process.platform !== 'linux' || existsSync('/proc/self')
}

async function waitForExit(pid: number): Promise<void> {
  const deadline = performance.now() + (KILL_AFTER_SECONDS + 2) * 1000
  while (isAlive(pid) && performance.now() < deadline) await delay(POLL_MS)
}

// A process id alone is no proof: after a crash or a reboot it may belong to any program. The working directory of a
// server is its cluster's folder.
async function isServerOf(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== 'linux') return isServerByCommand(pid, cluster)
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return readlinkSync(`/proc/${pid}/cwd`) === cluster && command.includes('postgres')
  } catch {
    // The process has exited, is a zombie, or belongs to another user. None of these is our server.
    return false
  }
}

async function isServerByCommand(pid: number, cluster: string): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)('/bin/ps', ['-ww', '-o', 'command=', '-p', String(pid)])
    return stdout.includes('postgres') && stdout.includes(cluster)
  } catch {
    // ps fails when there is no such process.
    return false
  }
}

// PostgreSQL refuses to start while any process with the id in this file exists. In a container, process ids restart at
// one, so that process may be the new server itself. We do not remove the file, because PostgreSQL reads the shared
// memory key from it, by which it detects backends that survived their server.
function overwritePid(cluster: string): void {
  if (!readPostmasterFile(cluster)) return
  const path = join(cluster, 'postmaster.pid')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, String(NO_PROCESS)))
}
