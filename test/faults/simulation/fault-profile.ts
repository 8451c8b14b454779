// The fault rates of a schedule, drawn once: some schedules have few faults, some have many of one kind. All faults end
// after a while, so that the service can prove that it recovers.

import type { Prng } from './prng.ts'

const FAULT_KINDS = [
  /** The database: the statement is lost, its response is lost, or either is delayed. */
  'statementLost',
  'resultLost',
  'databaseSlow',
  /** The network to a gateway: not sent; request, response or its content lost; late, or twice. */
  'notSent',
  'requestLost',
  'responseLost',
  'responseGarbled',
  'requestDelayed',
  'requestDuplicated',
  /** The gateway: rejects, executes late, or returns stale reads. */
  'rejects',
  'executionDelayed',
  'staleRead',
  'wrongAmount',
  /** Its webhooks: lost, late, repeated, or wrong. */
  'webhookLost',
  'webhookDelayed',
  'webhookDuplicated',
  'webhookMisleading',
  /** The merchant gets no response. */
  'replyLost',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]
export type FaultProfile = Readonly<Record<FaultKind, number>>

const profileOf = (of: (fault: FaultKind) => number): FaultProfile =>
  // The keys are exactly the faults, which the type of fromEntries does not express.
  Object.fromEntries(FAULT_KINDS.map((fault) => [fault, of(fault)])) as Record<FaultKind, number>

export const NO_FAULTS: FaultProfile = profileOf(() => 0)

const PROBABILITIES = [0, 0, 0.03, 0.15, 0.4]

export function drawFaultProfile(prng: Prng): FaultProfile {
  return prng.nextBool(0.1) ? NO_FAULTS : profileOf(() => prng.pick(PROBABILITIES))
}
