import type { Config, Role } from '../config.ts'
import type { Clock } from '../kit/clock.ts'
import type { ConnectedDb, Db } from '../kit/db/db.ts'
import type { Counters } from '../kit/observability/counters.ts'
import type { Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'
import type { ServiceMetrics } from '../metrics.ts'
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
  /** Without row-level security: for operators, batched writes, shared caches and background jobs. */
  db: ConnectedDb
  /** With row-level security: inside a request it sees only the rows of the request's merchant. */
  tenantDb: Db
  /** Never scoped to a merchant; changes carry the actor of the request. For people, who belong to the instance. */
  peopleDb: Db
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
