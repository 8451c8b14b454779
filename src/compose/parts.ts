import type { Config, Role } from '../config.ts'
import type { Cells } from '../kit/cells/cells.ts'
import type { Clock } from '../kit/clock.ts'
import type { ConnectedDb } from '../kit/db/db.ts'
import type { Counters } from '../kit/observability/counters.ts'
import type { Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'
import type { ServiceMetrics } from '../metrics.ts'
import type { ScryptCost } from '../people/passwords.ts'
import type { ReadLines } from '../primary-channel.ts'
import type { Tracing } from '../tracing.ts'

/** Closes what the start has opened. The service runs the steps in reverse order, also after a failed start. */
export type Stops = (() => Promise<unknown>)[]

/** The tools that the start creates first; every later step of the composition uses some of them. */
export interface Parts {
  config: Config
  role: Role
  clock: Clock
  log: Log
  readLines: ReadLines
  random: Random
  passwordCost: ScryptCost
  /** The database of the instance, without row-level security. */
  db: ConnectedDb
  /** Whether row-level security is in force there. */
  isIsolated: boolean
  /** The databases with the merchants' data. */
  cells: Cells
  stops: Stops
  counters: Counters
  measured: ServiceMetrics
  tracing: Tracing
}

/** Functions, because the port is known only once the server listens. */
export interface Addresses {
  localUrl(): string
  publicUrl(): string
}
