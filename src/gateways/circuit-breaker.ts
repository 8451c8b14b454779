// Protects us from a provider that is slow or down, with a bulkhead (limit on concurrent calls), a timeout and a
// circuit breaker. A rejected call was provably not sent, so routing may try another gateway. Declines are responses,
// not failures.

import {
  BrokenCircuitError,
  BulkheadRejectedError,
  bulkhead,
  CircuitState,
  circuitBreaker,
  handleWhenResult,
  SamplingBreaker,
  TaskCancelledError,
} from 'cockatiel'
import { addMs, type Clock } from '../kit/clock.ts'
import type {
  DisputeList,
  Gateway,
  KeyLookup,
  Outcome,
  RefundList,
  RefundOutcome,
  StartedCheckout,
  UnknownReason,
} from './gateway.ts'
import type { Unknown } from './reply.ts'
import type { Health } from './routing/routing.ts'

export interface CircuitBreakerOptions {
  clock: Clock
  /** Limit for one operation with all its requests. It begins after `queueTimeoutMs`, even if the call did not queue. */
  timeoutMs: number
  /** How long a call may wait in the queue. */
  queueTimeoutMs?: number
  /** Concurrent calls, separately for submissions and for status checks. The queue is as long. */
  concurrency?: number
  /** How long the circuit stays open before the next try. */
  coolDownMs?: number
}

export interface ProtectedGateway {
  gateway: Gateway
  /** Reading the health after the cool-down also starts a probe of the provider. */
  health(): Health
}

// Half of the connections that our HTTP client may open.
const CONCURRENCY = 64
const QUEUE_TIMEOUT_MS = 500
const COOL_DOWN_MS = 10_000

// The circuit opens when more than half of at least five calls within 30 seconds got no readable response.
const SAMPLE_MS = 30_000
const MIN_CALLS = 5
const THRESHOLD = 0.5

type CallResult = StartedCheckout | Outcome | RefundOutcome | RefundList | DisputeList | KeyLookup

const rejected = (message: string): Unknown => ({ kind: 'unknown', reason: 'not_sent', message })

export function withCircuitBreaker(gateway: Gateway, options: CircuitBreakerOptions): ProtectedGateway {
  const { clock, coolDownMs = COOL_DOWN_MS } = options
  const breaker = circuitBreaker(handleWhenResult(isFailure), {
    // The cool-down is ours, because it runs by the injected clock.
    halfOpenAfter: 0,
    breaker: new SamplingBreaker({
      threshold: THRESHOLD,
      duration: SAMPLE_MS,
      minimumRps: MIN_CALLS / (SAMPLE_MS / 1000),
    }),
  })
  let coolDownUntil = clock.now()
  breaker.onBreak(() => {
    coolDownUntil = addMs(clock.now(), coolDownMs)
  })
  const isCoolingDown = () => breaker.state === CircuitState.Open && clock.now() < coolDownUntil
  const { name, probe } = gateway
  const circuitOpen = rejected(`${name} has not responded lately, so its circuit breaker is open`)
  const submissions = createBulkhead(name, options)
  const statusChecks = createBulkhead(name, options)

  /** Submissions move money, so they are rejected until the provider is known to respond again. */
  const submit = async <Result extends CallResult>(
    operation: () => Promise<Result>,
  ): Promise<Result | Unknown> => {
    // While one call tests whether the provider responds again, the others are rejected at once.
    const isHalfOpen = breaker.state === CircuitState.HalfOpen
    const isOpenAndFull = breaker.state === CircuitState.Open && submissions.isFull()
    if (isHalfOpen || isOpenAndFull) return circuitOpen
    return submissions.run(async () => {
      if (isCoolingDown()) return circuitOpen
      try {
        if (breaker.state !== CircuitState.Open || !probe) return await breaker.execute(operation)
        // Probe with a call without effect first, so that no payment is the test.
        if ((await breaker.execute(() => probe())) === 'unreachable') return circuitOpen
        return await breaker.execute(operation)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return circuitOpen
        throw error
      }
    })
  }

  /** A status check has no effect and can complete open attempts, so it is sent even while the circuit is open. */
  const checkStatus = <Result extends CallResult>(
    operation: () => Promise<Result>,
  ): Promise<Result | Unknown> =>
    statusChecks.run(async () => {
      if (breaker.state === CircuitState.HalfOpen || isCoolingDown()) return operation()
      try {
        return await breaker.execute(operation)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return operation()
        throw error
      }
    })

  // Routing puts a provider that is down last; without this probe it would never be tried again.
  const health = (): Health => {
    if (breaker.state === CircuitState.Closed) return 'up'
    if (breaker.state === CircuitState.HalfOpen || isCoolingDown()) return 'down'
    if (!probe) return 'up'
    statusChecks
      .run(() => breaker.execute(() => probe()))
      .catch(() => {
        // Another call is testing the provider, or the probe is broken: it stays down until the next probe.
      })
    return 'down'
  }

  const { chargeSaved, complete, cancel, refund, verifyRefund, findKey, listRefunds, listDisputes } = gateway
  return {
    health,
    gateway: {
      ...gateway,
      startCheckout: (attempt, choice, returnUrl) =>
        submit(() => gateway.startCheckout(attempt, choice, returnUrl)),
      verify: (query, reference) => checkStatus(() => gateway.verify(query, reference)),
      ...(chargeSaved && {
        chargeSaved: (attempt, credential) => submit(() => chargeSaved(attempt, credential)),
      }),
      ...(complete && {
        complete: (query, reference, credential) => submit(() => complete(query, reference, credential)),
      }),
      ...(cancel && { cancel: (query, reference) => checkStatus(() => cancel(query, reference)) }),
      ...(refund && { refund: (request) => submit(() => refund(request)) }),
      ...(verifyRefund && {
        verifyRefund: (request, reference) => checkStatus(() => verifyRefund(request, reference)),
      }),
      ...(listRefunds && { listRefunds: (query) => checkStatus(() => listRefunds(query)) }),
      ...(listDisputes && { listDisputes: (period) => checkStatus(() => listDisputes(period)) }),
      ...(findKey && { findKey: (gatewayPaymentId) => checkStatus(() => findKey(gatewayPaymentId)) }),
    },
  }
}

// The provider has responded, so it works: it does not know the key, or uses a word that we do not know.
const RESPONDED: readonly UnknownReason[] = ['not_found', 'unrecognized']

/** No response, or one that is not the provider's. */
function isFailure(result: unknown): boolean {
  if (result === 'unreachable') return true
  // A boundary: the library passes on the untyped result of an operation or a probe.
  const outcome = result as Partial<Extract<RefundOutcome, { kind: 'unknown' }>> | null
  return (
    typeof outcome === 'object' &&
    outcome?.kind === 'unknown' &&
    !outcome.queued &&
    !RESPONDED.includes(outcome.reason ?? 'no_answer')
  )
}

interface Bulkhead {
  run<Result>(operation: () => Promise<Result>): Promise<Result | Unknown>
  isFull(): boolean
}

/** A slow provider fills only its own bulkhead. */
function createBulkhead(name: string, options: CircuitBreakerOptions): Bulkhead {
  const { clock, timeoutMs, queueTimeoutMs = QUEUE_TIMEOUT_MS, concurrency = CONCURRENCY } = options
  const policy = bulkhead(concurrency, concurrency)
  const queueFull = rejected(`too many calls to ${name} are in progress`)
  const timedOut: Unknown = {
    kind: 'unknown',
    reason: 'no_answer',
    message: `${name} took longer than ${timeoutMs} ms`,
  }
  return {
    isFull: () => policy.executionSlots === 0,
    async run(operation) {
      const waiting = new AbortController()
      const finished = new AbortController()
      let hasStarted = false
      const start = () => {
        hasStarted = true
        return operation()
      }
      const timeout = async () => {
        await clock.sleep(queueTimeoutMs, finished.signal)
        if (!hasStarted) {
          // The call can no longer start, so "not sent" stays true.
          waiting.abort()
          return queueFull
        }
        await clock.sleep(timeoutMs, finished.signal)
        return timedOut
      }
      const call = policy.execute(start, waiting.signal).catch((error: unknown) => {
        if (error instanceof BulkheadRejectedError || error instanceof TaskCancelledError) return queueFull
        throw error
      })
      try {
        return await Promise.race([call, timeout()])
      } finally {
        finished.abort()
      }
    },
  }
}
