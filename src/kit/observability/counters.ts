// What this process counts and times, by labels with few values; the metrics read it.

import { METRICS } from '../../core/metric-definitions.ts'

/** The metric of each counter. */
export const COUNTER_METRICS = {
  gateway_webhook_signature_failures: METRICS.gatewayWebhookSignatureFailures,
  webhook_delivery_attempts: METRICS.webhookDeliveryAttempts,
  job_failures: METRICS.jobFailures,
  payments: METRICS.payments,
  payment_failures: METRICS.paymentFailures,
  payment_attempts: METRICS.paymentAttempts,
  payment_amount: METRICS.paymentAmount,
}

export type CounterName = keyof typeof COUNTER_METRICS

export interface CounterValue {
  name: CounterName
  labels: readonly string[]
  total: number
}

/** How long payments took; the one histogram that slices fill. */
export type DurationListener = (labels: readonly string[], seconds: number) => void

export interface Counters {
  /** A label has few values, such as the names of gateways: never a value that a caller chooses. */
  add(name: CounterName, labels: string | readonly string[], amount?: number): void
  read(): CounterValue[]
  /** Times a payment from its creation to its end. */
  timePayment: DurationListener
  onPaymentTimed(listener: DurationListener): void
}

export function createCounters(): Counters {
  const counted = new Map<string, CounterValue>()
  const listeners: DurationListener[] = []
  return {
    add(name, given, amount = 1) {
      const labels = typeof given === 'string' ? [given] : given
      const key = JSON.stringify([name, labels])
      const entry = counted.get(key) ?? { name, labels, total: 0 }
      entry.total += amount
      counted.set(key, entry)
    },
    read: () => [...counted.values()].map((entry) => ({ ...entry })),
    timePayment(labels, seconds) {
      for (const listener of listeners) listener(labels, seconds)
    },
    onPaymentTimed: (listener) => void listeners.push(listener),
  }
}
