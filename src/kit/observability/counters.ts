// Counters of this process, by one label, which the metrics read.

/** Every counter with the name of its label. The metrics are called cowry_…_total. */
export const COUNTER_DEFINITIONS = {
  gateway_webhook_signature_failures: { label: 'gateway', help: 'Webhooks whose signature was wrong.' },
  webhook_delivery_attempts: {
    label: 'result',
    help: 'Delivery attempts of events to merchants, by result.',
  },
  job_failures: { label: 'job_name', help: 'Runs of background jobs that ended with an error.' },
} as const satisfies Record<string, { label: string; help: string }>

export type CounterName = keyof typeof COUNTER_DEFINITIONS

export interface CounterValue {
  name: CounterName
  label: string
  total: number
}

export interface Counters {
  /** A label has few values, such as the names of gateways: never a value that a caller chooses. */
  add(name: CounterName, label: string): void
  read(): CounterValue[]
}

export function createCounters(): Counters {
  const counted = new Map<string, CounterValue>()
  return {
    add(name, label) {
      const key = JSON.stringify([name, label])
      const entry = counted.get(key) ?? { name, label, total: 0 }
      entry.total += 1
      counted.set(key, entry)
    },
    read: () => [...counted.values()].map((entry) => ({ ...entry })),
  }
}
