// Fault injection for tests: the next requests of a kind get a wrong, late or no response. Faults are in the memory of
// one process and are lost when it restarts.

import { type Static, Type } from 'typebox'
import { Enum } from '../../../kit/http/schema.ts'
import type { RecordBody } from '../wire.ts'
import { errorReply, type Reply } from './router.ts'

export const FaultBody = Type.Object({
  kind: Enum([
    /** Fails before anything is executed. */
    '500_before',
    /** Executes, then responds with an error. */
    '500_after',
    /** Executes, then cuts the connection. */
    'drop_after',
    /** Cuts the connection, and executes `ms` later. */
    'late_ms',
    /** Executes, and responds `ms` later. */
    'slow_ms',
    'html',
    'garbage',
    'wrong_amount',
    'wrong_currency',
    'wrong_key',
    /** Does not find a record younger than `ms`. */
    'not_found_ms',
  ]),
  on: Enum(['charge', 'checkout', 'verify', 'refund']),
  times: Type.Integer({ minimum: 1 }),
  ms: Type.Optional(Type.Integer({ minimum: 0 })),
})
export type Fault = Static<typeof FaultBody>

export interface FaultInjector {
  add(fault: Fault): void
  clear(): void
  /** Removes and returns the fault for the next request of this kind, if any. */
  take(on: Fault['on']): Fault | undefined
}

export function createFaultInjector(): FaultInjector {
  let faults: Fault[] = []
  return {
    add: (fault) => void faults.push({ ...fault }),
    clear: () => {
      faults = []
    },
    take(on) {
      const fault = faults.find((candidate) => candidate.on === on)
      if (!fault) return undefined
      fault.times -= 1
      if (fault.times === 0) faults = faults.filter((candidate) => candidate !== fault)
      return fault
    },
  }
}

export const brokenReply = errorReply(500, 'internal', 'An injected fault.')
export const notFoundReply = errorReply(404, 'not_found', 'There is no such key.')

/** The response about a record after the fault was applied. */
export function applyFault(fault: Fault | undefined, reply: Reply, body: RecordBody, now: Date): Reply {
  switch (fault?.kind) {
    case '500_after':
      return brokenReply
    case 'drop_after':
      return { kind: 'drop' }
    case 'slow_ms':
      return { ...reply, delayMs: fault.ms ?? 0 }
    case 'html':
      return { kind: 'text', http: 200, type: 'text/html', text: '<h1>Scheduled maintenance</h1>' }
    case 'garbage':
      return { kind: 'text', http: 200, type: 'application/json', text: '{"id":"01","status":"succ' }
    case 'wrong_amount':
      return jsonReply(reply, { ...body, paid: body.paid && String(BigInt(body.paid) + 1n) })
    case 'wrong_currency':
      return jsonReply(reply, { ...body, currency: body.currency === 'USD' ? 'EUR' : 'USD' })
    case 'wrong_key':
      return jsonReply(reply, { ...body, key: `${body.key}-other` })
    case 'not_found_ms':
      return now.getTime() - Date.parse(body.createdAt) < (fault.ms ?? 0) ? notFoundReply : reply
    default:
      return reply
  }
}

function jsonReply(reply: Reply, body: RecordBody): Reply {
  return reply.kind === 'json' ? { ...reply, body } : reply
}
