// What the service tells Prometheus: what each process measures by itself, and the state of the installation, which is
// read from the database and is the same whichever process is asked.

import { type InstanceState, readInstanceState } from './instance.ts'
import { createCache } from './kit/cache.ts'
import type { Clock } from './kit/clock.ts'
import type { ConnectedDb, Db } from './kit/db/db.ts'
import { COUNTER_DEFINITIONS, type CounterName, type Counters } from './kit/observability/counters.ts'
import { errorFields, type Log } from './kit/observability/log.ts'
import { createMetrics, type Family, type Metrics, renderMetrics } from './kit/observability/metrics.ts'
import { measureProcess } from './kit/observability/process-metrics.ts'
import type { PrimaryChannel } from './primary-channel.ts'

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
  primary: PrimaryChannel | undefined
}

export function createServiceMetrics(app: Needs): ServiceMetrics {
  const metrics = createMetrics()
  registerCounters(metrics, app.counters)
  const stop = measureProcess(metrics, app.db.poolStats)
  const readInstanceFamilies = createInstanceMetrics(app)
  app.primary?.answer('metrics', metrics.families)
  const readProcessFamilies = async () =>
    app.primary ? app.primary.collect('metrics', null) : metrics.families()
  const read = async () =>
    renderMetrics((await Promise.all([readInstanceFamilies(), readProcessFamilies()])).flat())
  return { metrics, read, stop }
}

/** The numbers that slices count. */
function registerCounters(metrics: Metrics, counters: Counters): void {
  // A boundary: the names of the table's entries are known to be those.
  for (const [name, { label, help }] of Object.entries(COUNTER_DEFINITIONS))
    metrics.observableCounter(`cowry_${name}_total`, help, [label], () =>
      readingsOf(counters, name as CounterName),
    )
}

function readingsOf(counters: Counters, wanted: CounterName) {
  const found = counters.read().filter(({ name }) => name === wanted)
  return found.map(({ label, total }) => [[label], total] as const)
}

// Several Prometheus servers and somebody at a terminal ask the database once.
const TTL_MS = 5_000

/** The state of the installation as metrics; a database that does not answer is one of them. */
function createInstanceMetrics(app: { db: Db; clock: Clock; log: Log }): () => Promise<Family[]> {
  const states = createCache({
    clock: app.clock,
    ttlMs: TTL_MS,
    maxEntries: 1,
    load: () => readInstanceState(app),
  })
  return async () => {
    try {
      return describeInstance(await states.get(''), app.clock.now())
    } catch (error) {
      app.log.write('metrics.read_failed', errorFields(error))
      return describeInstance(undefined, app.clock.now())
    }
  }
}

function describeInstance(state: InstanceState | undefined, now: Date): Family[] {
  const metrics = createMetrics()
  metrics.gauge('cowry_database_up', 'Whether the database answers.', [], () => [[[], state ? 1 : 0]])
  if (!state) return metrics.families()
  const ageOf = (at: Date | null) => (at ? Math.max(0, now.getTime() - at.getTime()) / 1_000 : 0)
  const { work, deliveries, openCases, invariants } = state
  metrics.gauge(
    'cowry_job_backlog',
    'Background work that is due and not done, up to 10000.',
    ['job_name'],
    () => work.map(({ name, due }) => [[name], due]),
  )
  metrics.gauge(
    'cowry_job_oldest_due_seconds',
    'For how long the oldest of it has been due.',
    ['job_name'],
    () => work.map(({ name, oldestDueAt }) => [[name], ageOf(oldestDueAt)]),
  )
  metrics.gauge(
    'cowry_webhook_deliveries_pending',
    'Deliveries of events that have not ended, up to 10000.',
    [],
    () => [[[], deliveries.undelivered]],
  )
  metrics.gauge(
    'cowry_webhook_delivery_oldest_pending_seconds',
    'Since when the oldest of them waits.',
    [],
    () => [[[], ageOf(deliveries.oldestUndeliveredAt)]],
  )
  metrics.gauge(
    'cowry_webhook_endpoints_failing',
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
  metrics.gauge('cowry_invariant_check_age_seconds', 'Since when they were last counted.', [], () => [
    [[], ageOf(invariants.finishedAt)],
  ])
  return metrics.families()
}
