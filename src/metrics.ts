// The metrics for Prometheus: those that each process measures, and the state of the instance, which is read from the
// database and is the same in every process.

import { METRICS } from './core/metric-definitions.ts'
import { type InstanceState, readInstanceState } from './instance.ts'
import { createCache } from './kit/cache.ts'
import { areSeveral, type Cells, routedDb } from './kit/cells/cells.ts'
import type { Clock } from './kit/clock.ts'
import type { ConnectedDb, PoolStats } from './kit/db/db.ts'
import { COUNTER_METRICS, type CounterName, type Counters } from './kit/observability/counters.ts'
import { errorFields, type Log } from './kit/observability/log.ts'
import { createMetrics, type Family, type Metrics, renderMetrics } from './kit/observability/metrics.ts'
import { measureProcess } from './kit/observability/process-metrics.ts'
import type { PrimaryChannel } from './primary-channel.ts'

export interface ServiceMetrics {
  /** The metrics of this process. */
  readonly metrics: Metrics
  /** Renders the metrics of all processes of the cluster, and of the instance, in the Prometheus text format. */
  read(): Promise<string>
  stop(): void
}

interface Needs {
  db: ConnectedDb
  cells: Cells
  /** Whether the cell takes statements now. */
  probeCell(cell: number): Promise<boolean>
  clock: Clock
  log: Log
  counters: Counters
  /** The channel to the cluster's primary, in a worker of a cluster. */
  primary: PrimaryChannel | undefined
}

export function createServiceMetrics(app: Needs): ServiceMetrics {
  const metrics = createMetrics()
  registerCounters(metrics, app.counters)
  const paymentTimes = metrics.histogram(METRICS.paymentTimeToFinal, PAYMENT_TIME_BUCKETS)
  app.counters.onPaymentTimed(paymentTimes.observe)
  const stop = measureProcess(metrics, () => poolStatsOf(app))
  const readInstanceFamilies = createInstanceMetrics(app)
  app.primary?.respond('metrics', metrics.families)
  const readProcessFamilies = async () =>
    app.primary ? app.primary.collect('metrics', null) : metrics.families()
  const read = async () =>
    renderMetrics((await Promise.all([readInstanceFamilies(), readProcessFamilies()])).flat())
  return { metrics, read, stop }
}

/** Of all cells together. */
function poolStatsOf({ db, cells }: Needs): PoolStats {
  const opened = areSeveral(cells) ? cells.numbers.filter(cells.isOpen).map(cells.open) : [db]
  const stats = opened.map((one) => one.poolStats())
  const sumOf = (name: keyof PoolStats) => stats.reduce((sum, one) => sum + one[name], 0)
  return { total: sumOf('total'), idle: sumOf('idle'), waiting: sumOf('waiting') }
}

// A charge ends within seconds, a checkout within its hour, a transfer or an unknown outcome within a day.
const PAYMENT_TIME_BUCKETS = [1, 2, 5, 15, 30, 60, 120, 300, 900, 1_800, 3_600, 14_400, 86_400]

/** Exposes the counters of the slices. */
function registerCounters(metrics: Metrics, counters: Counters): void {
  // The cast below is safe: the table has exactly these keys, but Object.entries returns string keys.
  for (const [name, definition] of Object.entries(COUNTER_METRICS))
    metrics.observableCounter(definition, () => readingsOf(counters, name as CounterName))
}

function readingsOf(counters: Counters, wanted: CounterName) {
  const found = counters.read().filter(({ name }) => name === wanted)
  return found.map(({ labels, total }) => [labels, total] as const)
}

// Several scrapers at the same time cause one read of the database.
const TTL_MS = 5_000

/** The state of the instance as metrics. If the database does not answer, only cowry_database_up is reported, as 0. */
function createInstanceMetrics({ db, ...app }: Needs): () => Promise<Family[]> {
  const cellDb = areSeveral(app.cells) ? routedDb(app.cells) : db
  const states = createCache({
    clock: app.clock,
    ttlMs: TTL_MS,
    maxEntries: 1,
    load: () => readInstanceState({ ...app, db: cellDb }),
  })
  return async () => {
    try {
      return [
        ...(await describeCells(app)),
        ...(await describeInstance(await states.get(''), app.clock.now())),
      ]
    } catch (error) {
      app.log.write('metrics.read_failed', errorFields(error))
      return describeInstance(undefined, app.clock.now())
    }
  }
}

async function describeCells({ cells, probeCell }: Pick<Needs, 'cells' | 'probeCell'>): Promise<Family[]> {
  if (!areSeveral(cells)) return []
  const found = await Promise.all(
    cells.numbers.map(async (cell) => [[cells.nameOf(cell)], (await probeCell(cell)) ? 1 : 0] as const),
  )
  const metrics = createMetrics()
  metrics.gauge(METRICS.cellUp, () => found)
  return metrics.families()
}

function describeInstance(state: InstanceState | undefined, now: Date): Promise<Family[]> {
  const metrics = createMetrics()
  metrics.gauge(METRICS.databaseUp, () => [[[], state ? 1 : 0]])
  if (!state) return metrics.families()
  const ageOf = (at: Date | null) => (at ? Math.max(0, now.getTime() - at.getTime()) / 1_000 : 0)
  const { jobs, deliveries, openCases, invariants } = state
  metrics.gauge(METRICS.jobBacklog, () => jobs.map(({ name, due }) => [[name], due]))
  metrics.gauge(METRICS.jobOldestDue, () => jobs.map(({ name, oldestDueAt }) => [[name], ageOf(oldestDueAt)]))
  metrics.gauge(METRICS.webhookDeliveriesPending, () => [[[], deliveries.pending]])
  metrics.gauge(METRICS.webhookDeliveryOldestPending, () => [[[], ageOf(deliveries.oldestPendingAt)]])
  metrics.gauge(METRICS.webhookEndpointsFailing, () => [[[], deliveries.failingEndpoints]])
  metrics.gauge(METRICS.casesOpen, () => Object.entries(openCases).map(([owner, total]) => [[owner], total]))
  if (!invariants) return metrics.families()
  metrics.gauge(METRICS.invariantViolations, () =>
    Object.entries(invariants.report).map(([name, count]) => [[name], count]),
  )
  metrics.gauge(METRICS.invariantCheckAge, () => [[[], ageOf(invariants.finishedAt)]])
  return metrics.families()
}
