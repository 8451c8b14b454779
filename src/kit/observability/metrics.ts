// Metrics in the Prometheus text format, by prom-client. Two rules are ours: a metric has a bounded number of series, and
// the metrics of several processes carry a label with their process instead of being summed.

import * as prometheus from 'prom-client'
import type { MetricDefinition } from '../../core/metric-definitions.ts'

/** Plain data, so that a worker can send it to the cluster's primary. */
export type Family = prometheus.MetricObjectWithValues<prometheus.MetricValue<string>>

export interface Counter {
  add(values: readonly string[], amount?: number): void
}

export interface Histogram {
  observe(values: readonly string[], measured: number): void
}

/** The values of the labels, in the order of their names, and the measured value. */
export type Reading = readonly [values: readonly string[], value: number]

type Read = () => readonly Reading[]

export interface Metrics {
  counter(definition: MetricDefinition<'counter'>): Counter
  histogram(definition: MetricDefinition<'histogram'>, bounds: readonly number[]): Histogram
  /** Read at each scrape. */
  gauge(definition: MetricDefinition<'gauge'>, read: Read): void
  /** A counter that is kept elsewhere and read at each scrape. */
  observableCounter(definition: MetricDefinition<'counter'>, read: Read): void
  families(): Promise<Family[]>
}

// A wrong label must not fill the memory: all series beyond this number share the label value `other`.
const MAX_SERIES = 2_000
const OTHER = 'other'

/** From 5 ms to 10 s, closest where a request should end. */
export const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMetrics(): Metrics {
  const registry = new prometheus.Registry()
  const optionsOf = ({ name, help, labels }: MetricDefinition) => ({
    ...{ name, help, registers: [registry] },
    labelNames: [...labels],
  })
  return {
    counter(definition) {
      const metric = new prometheus.Counter(optionsOf(definition))
      const labelsOf = boundedLabels(definition.labels)
      return { add: (values, amount = 1) => metric.inc(labelsOf(values), amount) }
    },
    histogram(definition, bounds) {
      const metric = new prometheus.Histogram({ ...optionsOf(definition), buckets: [...bounds] })
      const labelsOf = boundedLabels(definition.labels)
      return { observe: (values, measured) => metric.observe(labelsOf(values), measured) }
    },
    gauge(definition, read) {
      const collect = () => {
        metric.reset()
        for (const [values, value] of read()) metric.set(labelled(definition.labels, values), value)
      }
      const metric = new prometheus.Gauge({ ...optionsOf(definition), collect })
    },
    observableCounter(definition, read) {
      const collect = () => {
        metric.reset()
        for (const [values, value] of read()) metric.inc(labelled(definition.labels, values), value)
      }
      const metric = new prometheus.Counter({ ...optionsOf(definition), collect })
    },
    families: () => registry.getMetricsAsJSON(),
  }
}

function boundedLabels(names: readonly string[]): (values: readonly string[]) => Record<string, string> {
  const known = new Map<string, Record<string, string>>()
  const other = labelled(
    names,
    names.map(() => OTHER),
  )
  return (values) => {
    const key = values.join('\n')
    const found = known.get(key)
    if (found) return found
    if (known.size >= MAX_SERIES) return other
    const labels = labelled(names, values)
    known.set(key, labels)
    return labels
  }
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

export const METRICS_CONTENT_TYPE: string = prometheus.Registry.PROMETHEUS_CONTENT_TYPE

/** The text for Prometheus; families of several processes with the same name are merged. */
export function renderMetrics(families: readonly Family[]): Promise<string> {
  return prometheus.AggregatorRegistry.aggregate([families]).metrics()
}

/** The families with one more label, which distinguishes the processes. */
export function labelFamilies(families: readonly Family[], name: string, value: string): Family[] {
  return families.map((family) => ({
    ...family,
    values: family.values.map((sample) => ({ ...sample, labels: { ...sample.labels, [name]: value } })),
  }))
}
