// Every failpoint with the operations that pass it, and what stands in the books when the process gets no further. A point
// that is added to the registry has no line here, and does not compile.

import type { Failpoint } from '../../../src/kit/failpoints.ts'
import { type Leftover, pastCheckout, unresolvedCharge, unresolvedRefund, untoldEvent } from './leftovers.ts'
import {
  account,
  cancel,
  charge,
  complete,
  confirm,
  initiate,
  link,
  type Operation,
  press,
  refund,
  reject,
  ring,
  transfer,
} from './operations.ts'
import type { Stage } from './stage.ts'

interface Passed {
  what: string
  operation: Operation
  left: string
}

interface RequestPoint {
  fault: string
  /** The first is the one whose process is killed. */
  passed: readonly [Passed, ...Passed[]]
  /** Whoever hangs there holds rows that others wait for. */
  holdsRows?: true
}

interface WorkerPoint {
  fault: string
  leave(stage: Stage): Promise<Leftover>
}

/** The operation by its name, as in { charge }. */
function at(left: string, named: Record<string, Operation>): Passed {
  const [[what, operation]] = Object.entries(named) as [[string, Operation]]
  return { what, operation, left }
}

const UNTRIED = 'pending, 0 executed'
const BEGUN = 'processing, 0 executed'

export const POINTS: Record<Failpoint, RequestPoint | WorkerPoint> = {
  'api.before_send': {
    fault: 'F-05',
    passed: [
      at('successful, 1 executed', { charge }),
      at(UNTRIED, { initiate }),
      at('successful, 1 given', { refund }),
    ],
  },
  'transaction.before_commit': {
    fault: 'F-01',
    passed: [at('0 made', { account }), at('0 made', { link }), at('nothing', { refund })],
    holdsRows: true,
  },
  'transaction.after_commit': {
    fault: 'F-05',
    passed: [at('1 made', { link }), at('1 made', { account }), at('pending, 0 given', { refund })],
  },
  'initiate.before_record': {
    fault: 'F-01',
    passed: [at('nothing', { initiate }), at('nothing', { transfer })],
  },
  'charge.before_record': { fault: 'F-01', passed: [at('nothing', { charge })] },
  'charge.after_record': { fault: 'F-02', passed: [at(BEGUN, { charge })] },
  'charge.after_call': { fault: 'F-04', passed: [at('processing, 1 executed', { charge })] },
  'checkout.before_start': {
    fault: 'F-01',
    passed: [at(UNTRIED, { complete }), at(UNTRIED, { press }), at(UNTRIED, { transfer })],
  },
  'checkout.after_start': {
    fault: 'F-02',
    passed: [at(BEGUN, { complete }), at(BEGUN, { press }), at(BEGUN, { transfer })],
  },
  'checkout.after_answer': {
    fault: 'F-03',
    passed: [at(BEGUN, { press }), at(BEGUN, { complete }), at(BEGUN, { transfer })],
  },
  'checkout.after_call': {
    fault: 'F-04',
    passed: [at(BEGUN, { complete }), at(BEGUN, { press }), at(BEGUN, { transfer })],
  },
  'refund.before_record': { fault: 'F-01', passed: [at('nothing', { refund })] },
  'refund.after_record': { fault: 'F-02', passed: [at('pending, 0 given', { refund })] },
  'refund.after_mark': { fault: 'F-02', passed: [at('pending, 0 given', { refund })] },
  'refund.after_call': { fault: 'F-04', passed: [at('pending, 1 given', { refund })] },
  'p2p.after_move': {
    fault: 'F-04',
    passed: [
      at('confirmed, processing', { confirm }),
      at('rejected, processing', { reject }),
      at('cancelled, processing', { cancel }),
    ],
  },
  'gateway_webhook.before_save': { fault: 'F-09', passed: [at('processing, 1 executed', { ring })] },
  'gateway_webhook.after_save': { fault: 'F-09', passed: [at('processing, 1 executed', { ring })] },
  'resolver.after_claim': { fault: 'F-07, F-11', leave: unresolvedCharge },
  'resolver.after_poll': { fault: 'F-11', leave: unresolvedCharge },
  'refund.after_claim': { fault: 'F-07, F-11', leave: unresolvedRefund },
  'expiry.after_claim': { fault: 'F-07', leave: pastCheckout },
  'delivery.after_claim': { fault: 'F-07', leave: untoldEvent },
  'delivery.after_answer': { fault: 'F-08', leave: untoldEvent },
}

/** What is kept of the table when only those are wanted that requests pass. */
export function listRequestPoints(): (RequestPoint & { point: Failpoint })[] {
  return entries().flatMap(([point, one]) => ('passed' in one ? [{ point, ...one }] : []))
}

export function listWorkerPoints(): (WorkerPoint & { point: Failpoint })[] {
  return entries().flatMap(([point, one]) => ('leave' in one ? [{ point, ...one }] : []))
}

function entries() {
  // The keys of a constant object are exactly its type's keys, which Object.entries cannot say by itself.
  return Object.entries(POINTS) as [Failpoint, RequestPoint | WorkerPoint][]
}
