// The processes of this machine with their parents and memory. From /proc where it exists, and from ps elsewhere.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

interface ProcessFacts {
  pid: number
  parent: number
  /** A zombie counts as dead. */
  isRunning: boolean
}

/** The descendants of a running process: when it is dead its children have another parent. */
export function descendantsOf(pid: number): number[] {
  const all = listProcesses()
  const below = (of: number): number[] =>
    all.filter(({ parent }) => parent === of).flatMap((one) => [one.pid, ...below(one.pid)])
  return below(pid)
}

/** Its parent; 0 when the process does not exist. */
export function parentOf(pid: number): number {
  return listProcesses().find((one) => one.pid === pid)?.parent ?? 0
}

export function isRunning(pid: number): boolean {
  const found = existsSync('/proc/self/stat') ? readProcess(pid) : listProcesses()
  return found.some((one) => one.pid === pid && one.isRunning)
}

/**
 * Its share of its pages (PSS): PostgreSQL's processes share most of theirs, and RSS, which is all that some systems
 * report, would count them several times.
 */
export function memoryOf(pid: number): number {
  const kilobytes = findKilobytes(`/proc/${pid}/smaps_rollup`, 'Pss')
  return kilobytes === undefined ? residentMemoryOf(pid) : 1_024 * kilobytes
}

/** All its pages (RSS). In the PSS of a service, the pages of Node.js that it shares with the bench count in half. */
export function residentMemoryOf(pid: number): number {
  return (
    1_024 * (findKilobytes(`/proc/${pid}/status`, 'VmRSS') ?? Number(ps('-o', 'rss=', '-p', String(pid))))
  )
}

function listProcesses(): ProcessFacts[] {
  if (existsSync('/proc/self/stat')) {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? readProcess(Number(name)) : []))
  }
  return [...ps('-A', '-o', 'pid=,ppid=,stat=').matchAll(/^\s*(\d+)\s+(\d+)\s+(\S)/gm)].map(
    ([, pid, parent, state]) => ({ pid: Number(pid), parent: Number(parent), isRunning: state !== 'Z' }),
  )
}

function readProcess(pid: number): ProcessFacts[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The process name, in brackets before these fields, may contain any character.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parent: Number(parent), isRunning: state !== 'Z' }]
  } catch {
    // The process ended meanwhile.
    return []
  }
}

function findKilobytes(path: string, field: string): number | undefined {
  try {
    const match = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(path, 'utf8'))
    return match ? Number(match[1]) : undefined
  } catch {
    // Older kernels and other systems do not have it.
    return undefined
  }
}

function ps(...args: string[]): string {
  return execFileSync('ps', args, { encoding: 'utf8' })
}
