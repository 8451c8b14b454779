// The processes of this machine: who started whom, and how much memory each has. From /proc where there is one, and from
// ps elsewhere.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

interface ProcessFacts {
  pid: number
  parent: number
  /** A dead process that nobody has taken note of is dead all the same. */
  isRunning: boolean
}

/** The processes below this one, as long as it lives: when it is dead its children are somebody else's. */
export function descendantsOf(pid: number): number[] {
  const all = listProcesses()
  const below = (of: number): number[] =>
    all.filter(({ parent }) => parent === of).flatMap((one) => [one.pid, ...below(one.pid)])
  return below(pid)
}

/** Who started it; 0 when it is not there. */
export function parentOf(pid: number): number {
  return listProcesses().find((one) => one.pid === pid)?.parent ?? 0
}

export function isRunning(pid: number): boolean {
  return listProcesses().some((one) => one.pid === pid && one.isRunning)
}

/**
 * Its share of the pages that it has (PSS): PostgreSQL's processes share most of theirs, and would be counted many times
 * over by what each can see (RSS), which is all that some systems tell.
 */
export function memoryOf(pid: number): number {
  const kilobytes =
    findKilobytes(`/proc/${pid}/smaps_rollup`, 'Pss') ?? findKilobytes(`/proc/${pid}/status`, 'VmRSS')
  return 1_024 * (kilobytes ?? Number(ps('-o', 'rss=', '-p', String(pid))))
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
    // Its name, in brackets before these fields, may hold anything.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parent: Number(parent), isRunning: state !== 'Z' }]
  } catch {
    // It ended while we looked.
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
