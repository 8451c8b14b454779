// What everything in a simulated world shares: its time, its prng, its profile, and where it says what is wrong.

import { type FaultKind, type FaultProfile, NO_FAULTS } from './fault-profile.ts'
import type { Prng } from './prng.ts'
import type { Scheduler } from './scheduler.ts'

/** A machine with a process of the service. What waits inside when it dies never goes on. */
export interface Host {
  readonly name: string
  /** Grows with every start: whatever was begun in an earlier one is of no concern any more. */
  epoch: number
  isUp: boolean
  /** Stopped in the middle of everything until then, and not aware of it. */
  pausedUntilMs: number
}

export interface Sim {
  readonly scheduler: Scheduler
  readonly prng: Prng
  now(): Date
  /** Whether this goes wrong now. */
  injects(fault: FaultKind): boolean
  /** Whether the server gives a statement up for the sake of another. */
  isDeadlockVictim(): boolean
  isFaultFree(): boolean
  stopFaults(): void
  /** What goes wrong now has its effect so much later. */
  extendFaultWindow(delayMs: number): void
  /** When the last fault has had its effect. */
  lastFaultMs(): number
  /** For so long nothing passes between the service and any provider. */
  partition(forMs: number): void
  isPartitioned(): boolean
  reportViolation(what: string): void
  readonly violations: readonly string[]
  /** Something reaches the process that was running when it was asked for, if that one is still there. */
  runOnHost(host: Host, epoch: number, delayMs: number, label: string, run: () => void): void
}

// More than one is rarely of use, and a broken world could tell of millions.
const MAX_VIOLATIONS = 5

const DEADLOCK_PROBABILITIES = [0, 0, 0, 0.03, 0.15]

/** Rivals are who else is at the database: their prng is their own, so that most schedules know nothing of them. */
export function createSim(
  scheduler: Scheduler,
  prng: Prng,
  deadlockPrng: Prng,
  drawnProfile: FaultProfile,
): Sim {
  let profile = drawnProfile
  const deadlockProbability = deadlockPrng.pick(DEADLOCK_PROBABILITIES)
  let lastFaultMs = scheduler.now()
  let partitionedUntilMs = 0
  const violations: string[] = []
  const runOnHost: Sim['runOnHost'] = (host, epoch, delayMs, label, run) => {
    scheduler.after(delayMs, `${host.name} ${label}`, () => {
      if (host.epoch !== epoch || !host.isUp) return
      const pauseMs = host.pausedUntilMs - scheduler.now()
      if (pauseMs > 0) runOnHost(host, epoch, pauseMs, label, run)
      else run()
    })
  }
  return {
    scheduler,
    prng,
    now: () => new Date(Math.floor(scheduler.now())),
    injects: (fault) => prng.nextBool(profile[fault]),
    isDeadlockVictim: () =>
      profile !== NO_FAULTS && deadlockProbability > 0 && deadlockPrng.nextBool(deadlockProbability),
    isFaultFree: () => profile === NO_FAULTS,
    stopFaults: () => {
      profile = NO_FAULTS
      lastFaultMs = Math.max(lastFaultMs, scheduler.now())
    },
    partition: (forMs) => {
      partitionedUntilMs = scheduler.now() + forMs
    },
    isPartitioned: () => scheduler.now() < partitionedUntilMs && profile !== NO_FAULTS,
    extendFaultWindow: (delayMs) => {
      lastFaultMs = Math.max(lastFaultMs, scheduler.now() + delayMs)
    },
    lastFaultMs: () => lastFaultMs,
    reportViolation: (what) => void (violations.length < MAX_VIOLATIONS && violations.push(what)),
    violations,
    runOnHost,
  }
}
