// Every failpoint with the operations that pass it, and the records when the process fails there. A new point of the
// registry without an entry here does not compile.

import type { Failpoint } from '../../../src/kit/failpoints.ts'
import type { Harness } from './harness.ts'
import {
  account,
  cancel,
  charge,
  complete,
  confirm,
  initiate,
  link,
  type Operation,
  pressPay,
  refund,
  reject,
  transfer,
  webhook,
} from './operations.ts'
import {
  expiredCheckout,
  type UnfinishedWork,
  undeliveredEvent,
  unresolvedCharge,
  unresolvedRefund,
} from './unfinished-work.ts'

interface PassingOperation {
  what: string
  operation: Operation
  expectedState: string
}

interface RequestPoint {
  fault: string
  /** The process of the first operation is killed. */
  operations: readonly [PassingOperation, ...PassingOperation[]]
  /** A process that hangs here holds row locks that others wait for. */
  holdsRows?: true
}

interface WorkerPoint {
  fault: string
  prepareWork(harness: Harness): Promise<UnfinishedWork>
}

/** The operation by its name, as in { charge }. */
function leavesState(expectedState: string, named: Record<string, Operation>): PassingOperation {
  const [[what, operation]] = Object.entries(named) as [[string, Operation]]
  return { what, operation, expectedState }
}

const NOT_ATTEMPTED = 'pending, 0 executed'
const PROCESSING = 'processing, 0 executed'

/**
 * The sandbox needs no completing call: test/faults/completion.test.ts makes processes fail at these points. Those of a move
 * need two cells: test/faults/cells-move.test.ts.
 */
export const ELSEWHERE = [
  'completion.after_mark',
  'completion.after_call',
  'move.after_guard',
  'move.after_copy',
  'move.after_close',
  'move.after_last_copy',
  'move.after_switch',
  'move.after_leave',
  'move.after_delete',
  'move.after_clean',
  'move.after_undo',
] as const satisfies readonly Failpoint[]

type Point = Exclude<Failpoint, (typeof ELSEWHERE)[number]>

export const POINTS: Record<Point, RequestPoint | WorkerPoint> = {
  'api.before_send': {
    fault: 'F-05',
    operations: [
      leavesState('successful, 1 executed', { charge }),
      leavesState(NOT_ATTEMPTED, { initiate }),
      leavesState('successful, 1 given', { refund }),
    ],
  },
  'transaction.before_commit': {
    fault: 'F-01',
    operations: [
      leavesState('0 made', { account }),
      leavesState('0 made', { link }),
      leavesState('nothing', { refund }),
    ],
    holdsRows: true,
  },
  'transaction.after_commit': {
    fault: 'F-05',
    operations: [
      leavesState('1 made', { link }),
      leavesState('1 made', { account }),
      leavesState('pending, 0 given', { refund }),
    ],
  },
  'initiate.before_record': {
    fault: 'F-01',
    operations: [leavesState('nothing', { initiate }), leavesState('nothing', { transfer })],
  },
  'charge.before_record': { fault: 'F-01', operations: [leavesState('nothing', { charge })] },
  'charge.after_record': { fault: 'F-02', operations: [leavesState(PROCESSING, { charge })] },
  'charge.after_call': { fault: 'F-04', operations: [leavesState('processing, 1 executed', { charge })] },
  'checkout.before_start': {
    fault: 'F-01',
    operations: [
      leavesState(NOT_ATTEMPTED, { complete }),
      leavesState(NOT_ATTEMPTED, { pressPay }),
      leavesState(NOT_ATTEMPTED, { transfer }),
    ],
  },
  'checkout.after_start': {
    fault: 'F-02',
    operations: [
      leavesState(PROCESSING, { complete }),
      leavesState(PROCESSING, { pressPay }),
      leavesState(PROCESSING, { transfer }),
    ],
  },
  'checkout.after_response': {
    fault: 'F-03',
    operations: [
      leavesState(PROCESSING, { pressPay }),
      leavesState(PROCESSING, { complete }),
      leavesState(PROCESSING, { transfer }),
    ],
  },
  'checkout.after_call': {
    fault: 'F-04',
    operations: [
      leavesState(PROCESSING, { complete }),
      leavesState(PROCESSING, { pressPay }),
      leavesState(PROCESSING, { transfer }),
    ],
  },
  'refund.before_record': { fault: 'F-01', operations: [leavesState('nothing', { refund })] },
  'refund.after_record': { fault: 'F-02', operations: [leavesState('pending, 0 given', { refund })] },
  'refund.after_mark': { fault: 'F-02', operations: [leavesState('pending, 0 given', { refund })] },
  'refund.after_call': { fault: 'F-04', operations: [leavesState('pending, 1 given', { refund })] },
  'p2p.after_move': {
    fault: 'F-04',
    operations: [
      leavesState('confirmed, processing', { confirm }),
      leavesState('rejected, processing', { reject }),
      leavesState('cancelled, processing', { cancel }),
    ],
  },
  'gateway_webhook.before_save': {
    fault: 'F-09',
    operations: [leavesState('processing, 1 executed', { webhook })],
  },
  'gateway_webhook.after_save': {
    fault: 'F-09',
    operations: [leavesState('processing, 1 executed', { webhook })],
  },
  'resolver.after_claim': { fault: 'F-07, F-11', prepareWork: unresolvedCharge },
  'resolver.after_poll': { fault: 'F-11', prepareWork: unresolvedCharge },
  'refund.after_claim': { fault: 'F-07, F-11', prepareWork: unresolvedRefund },
  'expiry.after_claim': { fault: 'F-07', prepareWork: expiredCheckout },
  'delivery.after_claim': { fault: 'F-07', prepareWork: undeliveredEvent },
  'delivery.after_response': { fault: 'F-08', prepareWork: undeliveredEvent },
}

/** The entries of the table for points that requests pass. */
export function listRequestPoints(): (RequestPoint & { point: Failpoint })[] {
  return entries().flatMap(([point, one]) => ('operations' in one ? [{ point, ...one }] : []))
}

export function listWorkerPoints(): (WorkerPoint & { point: Failpoint })[] {
  return entries().flatMap(([point, one]) => ('prepareWork' in one ? [{ point, ...one }] : []))
}

function entries() {
  // The keys of a constant object are exactly its type's keys, which the type of Object.entries does not express.
  return Object.entries(POINTS) as [Point, RequestPoint | WorkerPoint][]
}
