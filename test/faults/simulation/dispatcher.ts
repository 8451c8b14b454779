// Requests from outside to a process: the process is dead, dies during the request, or its response is lost.

import { ApiError } from '../../../src/core/errors.ts'
import { DbUnavailable } from '../../../src/kit/db/db.ts'
import type { Machine } from './machine.ts'
import type { Host, Sim } from './sim.ts'

export type Reply<Value> =
  | { kind: 'answered'; value: Value }
  | { kind: 'refused'; code: string }
  /** The service reports an unknown outcome, or a temporary failure. */
  | { kind: 'unavailable' }
  /** The outcome is unknown. */
  | { kind: 'lost' }

export interface Dispatcher {
  call<Value>(
    machine: Machine,
    label: string,
    work: (machine: Machine) => Promise<Value>,
  ): Promise<Reply<Value>>
  /** Fails all requests that wait for this machine. */
  failPending(host: Host): void
}

const CLIENT_TIMEOUT_MS = 35_000

export function createDispatcher(sim: Sim): Dispatcher {
  const { prng, scheduler } = sim
  const waiting = new Map<Host, Set<() => void>>()

  const call: Dispatcher['call'] = <Value>(
    machine: Machine,
    label: string,
    work: (machine: Machine) => Promise<Value>,
  ) =>
    new Promise<Reply<Value>>((resolve) => {
      let isOver = false
      const waiters = waiting.get(machine) ?? new Set()
      waiting.set(machine, waiters)
      const complete = (reply: Reply<Value>) => {
        if (isOver) return
        isOver = true
        waiters.delete(loseReply)
        const delivered: Reply<Value> = sim.injects('replyLost') ? { kind: 'lost' } : reply
        scheduler.after(prng.between(0.1, 5), `${label} is ${delivered.kind}`, () => resolve(delivered))
      }
      const loseReply = () => complete({ kind: 'lost' })
      scheduler.after(prng.pick(LATENCIES_MS), label, () => {
        if (!machine.isUp) return loseReply()
        waiters.add(loseReply)
        scheduler.after(CLIENT_TIMEOUT_MS, `${label} gives up`, loseReply)
        sim.runOnHost(machine, machine.epoch, 0, label, () => {
          void work(machine).then(
            (value) => complete({ kind: 'answered', value }),
            (error: unknown) => complete(toReply(sim, label, error)),
          )
        })
      })
    })
  return {
    call,
    failPending(host) {
      const waiters = [...(waiting.get(host) ?? [])]
      waiting.delete(host)
      for (const loseReply of waiters) loseReply()
    },
  }
}

// A few fixed delays, so that requests often arrive at the same moment.
const LATENCIES_MS = [1, 1, 2, 5]

function toReply<Value>(sim: Sim, label: string, error: unknown): Reply<Value> {
  if (error instanceof ApiError) {
    return error.code === 'temporarily_unavailable'
      ? { kind: 'unavailable' }
      : { kind: 'refused', code: error.code }
  }
  if (error instanceof DbUnavailable) {
    const rows = rowsOf(error.cause)
    if (error.isRolledBack && rows > 1)
      sim.reportViolation(`${label} fails because of ${rows - 1} other rows`)
    return { kind: 'unavailable' }
  }
  sim.reportViolation(`${label} breaks: ${error instanceof Error ? error.stack : String(error)}`)
  return { kind: 'unavailable' }
}

/** The number of rows in the statement that failed. */
function rowsOf(cause: unknown): number {
  return cause instanceof Error && 'rows' in cause ? Number(cause.rows) : 1
}
