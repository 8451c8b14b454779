// A server may outlive its service for a moment (it is still shutting down) or leave its postmaster.pid behind (it was
// killed). The holder of the folder's lock may stop the server and repair the file.

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
// Larger than any process id of a kernel, and still a positive 32-bit number as PostgreSQL demands.
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

// In a chroot without /proc the owner of the process is unknown, so it is not signalled. If it is a server, its
// supervisor stops it.
function canIdentify(): boolean {
  return process.platform !== 'linux' || existsSync('/proc/self')
}

async function waitForExit(pid: number): Promise<void> {
  const deadline = performance.now() + (KILL_AFTER_SECONDS + 2) * 1000
  while (isAlive(pid) && performance.now() < deadline) await delay(POLL_MS)
}

// A process id alone proves nothing: after a crash or a reboot it may belong to any program. A server has its cluster's
// folder as working directory.
async function isServerOf(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== 'linux') return isServerByCommand(pid, cluster)
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return readlinkSync(`/proc/${pid}/cwd`) === cluster && command.includes('postgres')
  } catch {
    // It is gone, a zombie, or another user's: in no case a server of ours.
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

// PostgreSQL refuses to start while the process in this file lives, whatever it is; and in a container, where process
// ids start from one again, that may be the new server itself. The file is not removed, because PostgreSQL also finds
// in it the shared memory by which it detects surviving backends.
function overwritePid(cluster: string): void {
  if (!readPostmasterFile(cluster)) return
  const path = join(cluster, 'postmaster.pid')
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^\d+/, String(NO_PROCESS)))
}
