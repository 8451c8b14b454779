// The shared parts of a simulated world: its time, its generator, its fault profile, and its list of violations.

import { type FaultKind, type FaultProfile, NO_FAULTS } from './fault-profile.ts'
import type { Prng } from './prng.ts'
import type { Scheduler } from './scheduler.ts'

/** A machine with a process of the service. Pending work of a dead process never continues. */
export interface Host {
  readonly name: string
  /** Increases with every start: work of an earlier epoch is ignored. */
  epoch: number
  isUp: boolean
  /** The process is stopped until then, without noticing. */
  pausedUntilMs: number
}

export interface Sim {
  readonly scheduler: Scheduler
  readonly prng: Prng
  now(): Date
  /** Whether this fault happens now. */
  injects(fault: FaultKind): boolean
  /** Whether PostgreSQL aborts a statement as a deadlock victim. */
  isDeadlockVictim(): boolean
  isFaultFree(): boolean
  stopFaults(): void
  /** Delays the effect of a fault that happens now. */
  extendFaultWindow(delayMs: number): void
  /** When the last fault has had its effect. */
  lastFaultMs(): number
  /** Blocks the network between the service and all providers for this time. */
  partition(forMs: number): void
  isPartitioned(): boolean
  reportViolation(what: string): void
  readonly violations: readonly string[]
  /** Runs an action in the process that was running when it was scheduled, if it still runs. */
  runOnHost(host: Host, epoch: number, delayMs: number, label: string, run: () => void): void
}

// More than one is rarely useful, and a broken world could report millions.
const MAX_VIOLATIONS = 5

const DEADLOCK_PROBABILITIES = [0, 0, 0, 0.03, 0.15]

/**
 * Rivals are other sessions of the database. They have their own generator, so that most schedules do not change with
 * them.
 */
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
