// Requests from outside to a process: they find it dead, it dies over them, or nobody hears the answer.

import { ApiError } from '../../../src/core/errors.ts'
import { DbUnavailable } from '../../../src/kit/db.ts'
import type { Machine } from './machine.ts'
import type { Host, Sim } from './sim.ts'

export type Reply<Value> =
  | { kind: 'answered'; value: Value }
  | { kind: 'refused'; code: string }
  /** The service says that it cannot know, or cannot do it now. */
  | { kind: 'unavailable' }
  /** Nobody knows what became of it. */
  | { kind: 'lost' }

export interface Switchboard {
  call<Value>(
    machine: Machine,
    label: string,
    work: (machine: Machine) => Promise<Value>,
  ): Promise<Reply<Value>>
  /** Everybody who waits for this machine hears that it is gone. */
  drop(host: Host): void
}

const PATIENCE_MS = 35_000

export function createSwitchboard(sim: Sim): Switchboard {
  const { chance, scheduler } = sim
  const waiting = new Map<Host, Set<() => void>>()

  const call: Switchboard['call'] = <Value>(
    machine: Machine,
    label: string,
    work: (machine: Machine) => Promise<Value>,
  ) =>
    new Promise<Reply<Value>>((resolve) => {
      let isOver = false
      const waiters = waiting.get(machine) ?? new Set()
      waiting.set(machine, waiters)
      const hear = (reply: Reply<Value>) => {
        if (isOver) return
        isOver = true
        waiters.delete(lose)
        const heard: Reply<Value> = sim.suffers('replyLost') ? { kind: 'lost' } : reply
        scheduler.after(chance.between(0.1, 5), `${label} is ${heard.kind}`, () => resolve(heard))
      }
      const lose = () => hear({ kind: 'lost' })
      scheduler.after(chance.pick(ARRIVALS_MS), label, () => {
        if (!machine.isUp) return lose()
        waiters.add(lose)
        scheduler.after(PATIENCE_MS, `${label} gives up`, lose)
        sim.reach(machine, machine.epoch, 0, label, () => {
          void work(machine).then(
            (value) => hear({ kind: 'answered', value }),
            (error: unknown) => hear(readError(sim, label, error)),
          )
        })
      })
    })
  return {
    call,
    drop(host) {
      const waiters = [...(waiting.get(host) ?? [])]
      waiting.delete(host)
      for (const lose of waiters) lose()
    },
  }
}

// A few fixed times, so that requests often arrive at the very same moment.
const ARRIVALS_MS = [1, 1, 2, 5]

function readError<Value>(sim: Sim, label: string, error: unknown): Reply<Value> {
  if (error instanceof ApiError) {
    return error.code === 'temporarily_unavailable'
      ? { kind: 'unavailable' }
      : { kind: 'refused', code: error.code }
  }
  if (error instanceof DbUnavailable) {
    const rows = rowsOf(error.cause)
    if (error.isRolledBack && rows > 1) sim.violate(`${label} fails for the sake of ${rows - 1} others`)
    return { kind: 'unavailable' }
  }
  sim.violate(`${label} breaks: ${error instanceof Error ? error.stack : String(error)}`)
  return { kind: 'unavailable' }
}

/** How many rows the statement was about that failed. */
function rowsOf(cause: unknown): number {
  return cause instanceof Error && 'rows' in cause ? Number(cause.rows) : 1
}
