// What everything in a simulated world shares: its time, its chance, its weather, and where it says what is wrong.

import type { Chance } from './chance.ts'
import type { Scheduler } from './scheduler.ts'
import { CALM, type Trouble, type Weather } from './weather.ts'

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
  readonly chance: Chance
  now(): Date
  /** Whether this goes wrong now. */
  suffers(trouble: Trouble): boolean
  /** Whether the server gives a statement up for the sake of another. */
  isGivenUp(): boolean
  isCalm(): boolean
  clearUp(): void
  /** What goes wrong now has its effect so much later. */
  lasts(delayMs: number): void
  /** When the last trouble has had its effect. */
  lastTroubleMs(): number
  /** For so long nothing passes between the service and any provider. */
  cutOff(forMs: number): void
  isCutOff(): boolean
  violate(what: string): void
  readonly violations: readonly string[]
  /** Something reaches the process that was running when it was asked for, if that one is still there. */
  reach(host: Host, epoch: number, delayMs: number, label: string, run: () => void): void
}

// More than one is rarely of use, and a broken world could tell of millions.
const MOST_VIOLATIONS = 5

const GIVEN_UP = [0, 0, 0, 0.03, 0.15]

/** Rivals are who else is at the database: their chance is their own, so that most schedules know nothing of them. */
export function createSim(scheduler: Scheduler, chance: Chance, rivals: Chance, drawn: Weather): Sim {
  let weather = drawn
  const givenUp = rivals.pick(GIVEN_UP)
  let lastTroubleMs = scheduler.now()
  let cutOffUntilMs = 0
  const violations: string[] = []
  const reach: Sim['reach'] = (host, epoch, delayMs, label, run) => {
    scheduler.after(delayMs, `${host.name} ${label}`, () => {
      if (host.epoch !== epoch || !host.isUp) return
      const pauseMs = host.pausedUntilMs - scheduler.now()
      if (pauseMs > 0) reach(host, epoch, pauseMs, label, run)
      else run()
    })
  }
  return {
    scheduler,
    chance,
    now: () => new Date(Math.floor(scheduler.now())),
    suffers: (trouble) => chance.happens(weather[trouble]),
    isGivenUp: () => weather !== CALM && givenUp > 0 && rivals.happens(givenUp),
    isCalm: () => weather === CALM,
    clearUp: () => {
      weather = CALM
      lastTroubleMs = Math.max(lastTroubleMs, scheduler.now())
    },
    cutOff: (forMs) => {
      cutOffUntilMs = scheduler.now() + forMs
    },
    isCutOff: () => scheduler.now() < cutOffUntilMs && weather !== CALM,
    lasts: (delayMs) => {
      lastTroubleMs = Math.max(lastTroubleMs, scheduler.now() + delayMs)
    },
    lastTroubleMs: () => lastTroubleMs,
    violate: (what) => void (violations.length < MOST_VIOLATIONS && violations.push(what)),
    violations,
    reach,
  }
}
