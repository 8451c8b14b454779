// The processor time of processes, from /proc, which only Linux has.

import { existsSync, readFileSync } from 'node:fs'
import { descendantsOf } from './processes.ts'

// USER_HZ, which is 100 on every Linux that Node runs on.
const MICROSECONDS_PER_TICK = 10_000

/** Since its start, in microseconds; NaN where it is unknown. */
export function cpuOf(pid: number): number {
  return ticksOf(pid).own * MICROSECONDS_PER_TICK
}

/** Of a process with all its descendants: running ones, and ended ones that were waited for. */
export function cpuOfTree(pid: number): number {
  const { own, ended } = ticksOf(pid)
  const living = descendantsOf(pid).reduce((sum, child) => {
    const ticks = ticksOf(child)
    return sum + (Number.isNaN(ticks.own) ? 0 : ticks.own + ticks.ended)
  }, 0)
  return (own + ended + living) * MICROSECONDS_PER_TICK
}

/** Of the main thread of a process, to the microsecond; NaN where it is unknown. PostgreSQL has one thread per process. */
export function exactCpuOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000
  } catch {
    return Number.NaN
  }
}

function ticksOf(pid: number): { own: number; ended: number } {
  const unknown = { own: Number.NaN, ended: Number.NaN }
  if (!existsSync('/proc/self/stat')) return unknown
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The process name, in brackets before these fields, may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number)
    return { own: user + system, ended: endedUser + endedSystem }
  } catch {
    // The process ended meanwhile.
    return unknown
  }
}
