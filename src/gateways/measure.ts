// Counts and times every operation of a gateway. It wraps the circuit breaker, so rejected calls are counted too.

import { METRICS } from '../core/metric-definitions.ts'
import { DURATION_BUCKETS, type Metrics } from '../kit/observability/metrics.ts'
import type { Gateway } from './gateway.ts'

export type MeasureGateway = (gateway: Gateway) => Gateway

export function createGatewayMeasure(metrics: Metrics): MeasureGateway {
  const calls = metrics.counter(METRICS.gatewayCalls)
  const times = metrics.histogram(METRICS.gatewayCallDuration, DURATION_BUCKETS)
  return (gateway) => {
    const timed =
      <Input extends unknown[], Result>(operation: string, call: (...input: Input) => Promise<Result>) =>
      async (...input: Input): Promise<Result> => {
        const startedAt = performance.now()
        let outcome = 'error'
        try {
          const result = await call(...input)
          outcome = outcomeOf(result)
          return result
        } finally {
          calls.add([gateway.name, operation, outcome])
          times.observe([gateway.name, operation], (performance.now() - startedAt) / 1_000)
        }
      }
    const { chargeSaved, complete, cancel, refund, verifyRefund, findKey, listRefunds, listDisputes } =
      gateway
    return {
      ...gateway,
      startCheckout: timed('start_checkout', (...input: Parameters<Gateway['startCheckout']>) =>
        gateway.startCheckout(...input),
      ),
      verify: timed('verify', (...input: Parameters<Gateway['verify']>) => gateway.verify(...input)),
      ...(chargeSaved && { chargeSaved: timed('charge_saved', chargeSaved) }),
      ...(complete && { complete: timed('complete', complete) }),
      ...(cancel && { cancel: timed('cancel', cancel) }),
      ...(refund && { refund: timed('refund', refund) }),
      ...(verifyRefund && { verifyRefund: timed('verify_refund', verifyRefund) }),
      ...(findKey && { findKey: timed('find_key', findKey) }),
      ...(listRefunds && { listRefunds: timed('list_refunds', listRefunds) }),
      ...(listDisputes && { listDisputes: timed('list_disputes', listDisputes) }),
    }
  }
}

/**
 * The outcome, with the reason if it is unknown: a provider that does not respond differs from a call that was not
 * sent.
 */
function outcomeOf(result: unknown): string {
  // A boundary: the operations return different types, each with a kind.
  const outcome = result as { kind?: string; reason?: string } | null | undefined
  if (outcome?.kind === 'unknown' && outcome.reason) return `unknown_${outcome.reason}`
  return outcome?.kind ?? 'none'
}
