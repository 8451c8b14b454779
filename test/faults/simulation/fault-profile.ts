// How often what goes wrong, drawn once for every schedule: some are calm, some are stormy in one respect, and after a
// while all of them are calm, so that the service can show that it recovers.

import type { Prng } from './prng.ts'

const FAULT_KINDS = [
  /** The database: the statement never arrives, its answer never comes back, either takes long. */
  'statementLost',
  'resultLost',
  'databaseSlow',
  /** A gateway: nothing leaves us; the request, the answer or its meaning gets lost; it arrives late, or twice. */
  'notSent',
  'requestLost',
  'responseLost',
  'responseGarbled',
  'requestDelayed',
  'requestDuplicated',
  /** What a gateway does: it rejects to begin, begins late, tells what was true a while ago. */
  'rejects',
  'executionDelayed',
  'staleRead',
  'wrongAmount',
  /** Its webhooks: lost, late, repeated, untrue. */
  'webhookLost',
  'webhookDelayed',
  'webhookDuplicated',
  'webhookMisleading',
  /** The merchant hears nothing of its request. */
  'replyLost',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]
export type FaultProfile = Readonly<Record<FaultKind, number>>

const profileOf = (of: (fault: FaultKind) => number): FaultProfile =>
  // The keys are exactly the troubles, which fromEntries cannot say by itself.
  Object.fromEntries(FAULT_KINDS.map((fault) => [fault, of(fault)])) as Record<FaultKind, number>

export const NO_FAULTS: FaultProfile = profileOf(() => 0)

const PROBABILITIES = [0, 0, 0.03, 0.15, 0.4]

export function drawFaultProfile(prng: Prng): FaultProfile {
  return prng.nextBool(0.1) ? NO_FAULTS : profileOf(() => prng.pick(PROBABILITIES))
}
