// What a process counts and measures, in the words of Prometheus: counters, histograms and gauges, and their text. By
// hand, because it is a page of code (docs/decisions/0015-metrics-and-traces.md). Label values are few and our
// own, such as the pattern of a route; a value that a caller chooses would be a way to fill our memory.

export interface Sample {
  /** Behind the name of the family: _bucket, _sum, _count, or nothing. */
  suffix: string
  labels: Readonly<Record<string, string>>
  value: number
}

/** Plain data, so that it can be handed from one process to another. */
export interface Family {
  name: string
  help: string
  kind: 'counter' | 'gauge' | 'histogram'
  samples: Sample[]
}

export interface Counter {
  add(values: readonly string[], amount?: number): void
}

export interface Histogram {
  observe(values: readonly string[], measured: number): void
}

/** The values of the labels, in the order of their names, and what was read. */
export type Reading = readonly [values: readonly string[], value: number]

export interface Metrics {
  counter(name: string, help: string, labels: readonly string[]): Counter
  histogram(name: string, help: string, labels: readonly string[], bounds: readonly number[]): Histogram
  /** Read when somebody asks. */
  gauge(name: string, help: string, labels: readonly string[], read: () => readonly Reading[]): void
  /** The same for what only grows, and is counted by somebody else. */
  observableCounter(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => readonly Reading[],
  ): void
  families(): Family[]
}

// A mistake with a label must not fill the memory: what comes beyond them is counted together.
const MAX_SERIES = 2_000
const OTHER = 'other'

/** From 5 ms to 10 s, closest where a request should end. */
export const DURATION_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export function createMetrics(): Metrics {
  const readers: (() => Family)[] = []
  const names = new Set<string>()
  const register = (name: string, read: () => Family) => {
    if (names.has(name)) throw new Error(`two metrics are called ${name}`)
    names.add(name)
    readers.push(read)
  }
  const readings =
    (kind: 'counter' | 'gauge') =>
    (name: string, help: string, labels: readonly string[], read: () => readonly Reading[]) => {
      const samples = () =>
        read().map(([values, value]) => ({ suffix: '', labels: labelled(labels, values), value }))
      register(name, () => ({ name, help, kind, samples: samples() }))
    }

  return {
    counter(name, help, labels) {
      const series = createSeries(labels, () => ({ total: 0 }))
      register(name, () => ({
        name,
        help,
        kind: 'counter',
        samples: series.map((one, of) => [{ suffix: '', labels: of, value: one.total }]),
      }))
      return {
        add(values, amount = 1) {
          series.of(values).total += amount
        },
      }
    },
    histogram(name, help, labels, bounds) {
      const series = createSeries(labels, () => ({
        sum: 0,
        counts: new Array<number>(bounds.length + 1).fill(0),
      }))
      register(name, () => ({
        name,
        help,
        kind: 'histogram',
        samples: series.map((one, of) => bucketSamples(one, of, bounds)),
      }))
      return {
        observe(values, measured) {
          const one = series.of(values)
          const at = bounds.findIndex((bound) => measured <= bound)
          const bucket = at === -1 ? bounds.length : at
          one.counts[bucket] = (one.counts[bucket] ?? 0) + 1
          one.sum += measured
        },
      }
    },
    gauge: readings('gauge'),
    observableCounter: readings('counter'),
    families: () => readers.map((read) => read()),
  }
}

interface Series<Value> {
  of(values: readonly string[]): Value
  map(show: (value: Value, labels: Record<string, string>) => Sample[]): Sample[]
}

function createSeries<Value>(names: readonly string[], create: () => Value): Series<Value> {
  const known = new Map<string, { values: readonly string[]; value: Value }>()
  const others = names.map(() => OTHER)
  const of = (values: readonly string[]): Value => {
    const key = values.join('\n')
    const found = known.get(key)
    if (found) return found.value
    if (known.size >= MAX_SERIES && values !== others) return of(others)
    const value = create()
    known.set(key, { values, value })
    return value
  }
  return {
    of,
    map: (show) => [...known.values()].flatMap(({ values, value }) => show(value, labelled(names, values))),
  }
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}

function bucketSamples(
  { sum, counts }: { sum: number; counts: readonly number[] },
  labels: Record<string, string>,
  bounds: readonly number[],
): Sample[] {
  let total = 0
  const buckets = counts.map((count, index) => {
    total += count
    const le = String(bounds[index] ?? '+Inf')
    return { suffix: '_bucket', labels: { ...labels, le }, value: total }
  })
  return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: total }]
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The text that Prometheus reads; families of several processes that have one name come together. */
export function renderMetrics(families: readonly Family[]): string {
  const byName = Map.groupBy(families, ({ name }) => name)
  const blocks = [...byName].map(([name, same]) => {
    const lines = same.flatMap(({ samples }) => samples.map((sample) => renderSample(name, sample)))
    const [{ help, kind } = { help: '', kind: 'gauge' }] = same
    return [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${kind}`, ...lines].join('\n')
  })
  return `${blocks.join('\n')}\n`
}

/** The families with one more label, so that those of several processes can stand side by side. */
export function labelFamilies(families: readonly Family[], name: string, value: string): Family[] {
  return families.map((family) => ({
    ...family,
    samples: family.samples.map((sample) => ({ ...sample, labels: { ...sample.labels, [name]: value } })),
  }))
}

function renderSample(name: string, { suffix, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${suffix}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${renderValue(value)}`
}

function renderValue(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : '-Inf'
}

const escapeHelp = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string) => escapeHelp(text).replaceAll('"', '\\"')
