// Counters of this process, by one label, which the metrics read.

import { METRICS } from '../../core/metric-definitions.ts'

/** The metric of each counter; it has one label. */
export const COUNTER_METRICS = {
  gateway_webhook_signature_failures: METRICS.gatewayWebhookSignatureFailures,
  webhook_delivery_attempts: METRICS.webhookDeliveryAttempts,
  job_failures: METRICS.jobFailures,
}

export type CounterName = keyof typeof COUNTER_METRICS

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
