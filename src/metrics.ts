// What the service tells Prometheus: what each process measures by itself, and the state of the installation, which is
// read from the database and is the same whichever process is asked.

import { type InstallationState, readInstallation } from './installation.ts'
import { createCache } from './kit/cache.ts'
import type { Clock } from './kit/clock.ts'
import { COUNTER_DEFINITIONS, type CounterName, type Counters } from './kit/counters.ts'
import type { ConnectedDb, Db } from './kit/db.ts'
import { errorFields, type Log } from './kit/log.ts'
import { createMetrics, type Family, type Metrics, renderMetrics } from './kit/metrics.ts'
import { measureProcess } from './kit/process-metrics.ts'
import type { LeaderLink } from './leader-link.ts'

export interface ServiceMetrics {
  /** What this process measures. */
  readonly metrics: Metrics
  /** The text for Prometheus: of all processes that share the port, and of the installation. */
  read(): Promise<string>
  stop(): void
}

interface Needs {
  db: ConnectedDb
  clock: Clock
  log: Log
  counters: Counters
  /** To the process that leads this one, where several share a port. */
  link: LeaderLink | undefined
}

export function createServiceMetrics(app: Needs): ServiceMetrics {
  const metrics = createMetrics()
  showCounters(metrics, app.counters)
  const stop = measureProcess(metrics, app.db.poolStats)
  const ofInstallation = createInstallationMetrics(app)
  app.link?.answer('metrics', metrics.families)
  const ofProcesses = async () => (app.link ? app.link.collect('metrics', null) : metrics.families())
  const read = async () => renderMetrics((await Promise.all([ofInstallation(), ofProcesses()])).flat())
  return { metrics, read, stop }
}

/** The numbers that slices count. */
function showCounters(metrics: Metrics, counters: Counters): void {
  // A boundary: the names of the table's entries are known to be those.
  for (const [name, { label, help }] of Object.entries(COUNTER_DEFINITIONS))
    metrics.observableCounter(`cowry_${name}_total`, help, [label], () =>
      countedAs(counters, name as CounterName),
    )
}

function countedAs(counters: Counters, wanted: CounterName) {
  const found = counters.read().filter(({ name }) => name === wanted)
  return found.map(({ label, total }) => [[label], total] as const)
}

// Several Prometheus servers and somebody at a terminal ask the database once.
const TTL_MS = 5_000

/** The state of the installation as metrics; a database that does not answer is one of them. */
function createInstallationMetrics(app: { db: Db; clock: Clock; log: Log }): () => Promise<Family[]> {
  const states = createCache({
    clock: app.clock,
    ttlMs: TTL_MS,
    maxEntries: 1,
    load: () => readInstallation(app),
  })
  return async () => {
    try {
      return describe(await states.get(''), app.clock.now())
    } catch (error) {
      app.log.warn('the state of the installation could not be read', errorFields(error))
      return describe(undefined, app.clock.now())
    }
  }
}

function describe(state: InstallationState | undefined, now: Date): Family[] {
  const metrics = createMetrics()
  metrics.gauge('cowry_database_up', 'Whether the database answers.', [], () => [[[], state ? 1 : 0]])
  if (!state) return metrics.families()
  const ageOf = (at: Date | null) => (at ? Math.max(0, now.getTime() - at.getTime()) / 1_000 : 0)
  const { work, deliveries, openCases, invariants } = state
  metrics.gauge('cowry_work_due', 'Background work that is due and not done, up to 10000.', ['work'], () =>
    work.map(({ name, due }) => [[name], due]),
  )
  metrics.gauge(
    'cowry_work_oldest_due_seconds',
    'For how long the oldest of it has been due.',
    ['work'],
    () => work.map(({ name, oldestDueAt }) => [[name], ageOf(oldestDueAt)]),
  )
  metrics.gauge(
    'cowry_events_undelivered',
    'Deliveries of events that have not ended, up to 10000.',
    [],
    () => [[[], deliveries.undelivered]],
  )
  metrics.gauge('cowry_event_oldest_undelivered_seconds', 'Since when the oldest of them waits.', [], () => [
    [[], ageOf(deliveries.oldestUndeliveredAt)],
  ])
  metrics.gauge(
    'cowry_endpoints_failing',
    'Endpoints of merchants that take nothing, up to 10000.',
    [],
    () => [[[], deliveries.failingEndpoints]],
  )
  metrics.gauge('cowry_cases_open', 'What needs a person, up to 10000.', [], () => [[[], openCases]])
  if (!invariants) return metrics.families()
  metrics.gauge(
    'cowry_invariant_violations',
    'Rows that break what must always be true of the money, when they were last counted.',
    ['invariant'],
    () => Object.entries(invariants.report).map(([name, count]) => [[name], count]),
  )
  metrics.gauge('cowry_invariants_age_seconds', 'Since when they were last counted.', [], () => [
    [[], ageOf(invariants.finishedAt)],
  ])
  return metrics.families()
}
