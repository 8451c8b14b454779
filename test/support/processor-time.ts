// Processor seconds of a process and all that it has started. Unlike the duration of a file they hardly depend on what else
// the machine does, so two runs can be compared.

import { readFileSync } from 'node:fs'
import { descendantsOf } from '../../bench/processes.ts'

// Linux reports in hundredths of a second on every platform that Node.js runs on.
const TICKS_PER_SECOND = 100

/** Of this process, of its running descendants, and of those that have ended. On other systems than Linux: its own alone. */
export function processorSeconds(pid = process.pid): number {
  if (process.platform !== 'linux') {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  return [pid, ...descendantsOf(pid)].reduce((sum, one) => sum + readTicks(one), 0) / TICKS_PER_SECOND
}

/** User and system time of the process and of its children that it has waited for. */
function readTicks(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The process name, in brackets before these fields, may contain any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  } catch {
    // It ended meanwhile, and its parent has its time.
    return 0
  }
}
