// What stands between us and a provider that is slow or down: a bound on calls at once, a bound on time, and a breaker.
// Whatever it keeps back has provably not been sent, so that routing may go elsewhere; declines are answers and count
// for nothing here.

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
import type { Gateway, KeyLookup, Outcome, RefundOutcome, StartedCheckout } from './gateway.ts'
import type { Health } from './routing.ts'

export interface CircuitBreakerOptions {
  clock: Clock
  /** The longest that a verb may take once it has begun, with all its requests. */
  timeoutMs: number
  /** How long a call may wait for its turn. */
  queueTimeoutMs?: number
  /** Calls under way at once, for what moves money and for statusChecks each, and as many may wait. */
  concurrency?: number
  /** How long nothing new is sent after the breaker has opened. */
  coolDownMs?: number
}

export interface ProtectedGateway {
  gateway: Gateway
  /** Who asks after the cool-down also makes us try whether the provider answers again. */
  health(): Health
}

// Twice this is what an HTTP client of ours has connections for.
const CONCURRENCY = 64
const QUEUE_TIMEOUT_MS = 500
const COOL_DOWN_MS = 10_000

// Open when more than half of at least five calls within half a minute had no answer that can be read.
const SAMPLE_MS = 30_000
const MIN_CALLS = 5
const THRESHOLD = 0.5

type Unknown = Extract<Outcome, { kind: 'unknown' }>
type Answer = StartedCheckout | Outcome | RefundOutcome | KeyLookup

const rejected = (message: string): Unknown => ({ kind: 'unknown', reason: 'not_sent', message })

export function withCircuitBreaker(gateway: Gateway, options: CircuitBreakerOptions): ProtectedGateway {
  const { clock, coolDownMs = COOL_DOWN_MS } = options
  const breaker = circuitBreaker(handleWhenResult(isFailure), {
    halfOpenAfter: coolDownMs,
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
  const { name, probe } = gateway
  const circuitOpen = rejected(`${name} has not answered lately, so nothing is sent to it for the moment`)
  const submissions = createBulkhead(name, options)
  const statusChecks = createBulkhead(name, options)

  /** What moves money waits until the provider is known to answer again. */
  const submit = async <Result extends Answer>(verb: () => Promise<Result>): Promise<Result | Unknown> => {
    // While one call tries whether it answers again, the others do not wait for that.
    const isHalfOpen = breaker.state === CircuitState.HalfOpen
    const isOpenAndFull = breaker.state === CircuitState.Open && submissions.isFull()
    if (isHalfOpen || isOpenAndFull) return circuitOpen
    return submissions.run(async () => {
      try {
        if (breaker.state !== CircuitState.Open || !probe) return await breaker.execute(verb)
        // A call that changes nothing is tried first, rather than somebody's payment.
        if ((await breaker.execute(() => probe())) === 'unreachable') return circuitOpen
        return await breaker.execute(verb)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return circuitOpen
        throw error
      }
    })
  }

  /** A query harms nobody and ends what is open, so it is asked also while nothing new is sent. */
  const checkStatus = <Result extends Answer>(verb: () => Promise<Result>): Promise<Result | Unknown> =>
    statusChecks.run(async () => {
      if (breaker.state === CircuitState.HalfOpen) return verb()
      try {
        return await breaker.execute(verb)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return verb()
        throw error
      }
    })

  // Without this a provider that routing puts last would never be tried again.
  const health = (): Health => {
    if (breaker.state === CircuitState.Closed) return 'up'
    if (breaker.state === CircuitState.HalfOpen || clock.now() < coolDownUntil) return 'down'
    if (!probe) return 'up'
    statusChecks
      .run(() => breaker.execute(() => probe()))
      .catch(() => {
        // Somebody else tries at this moment, or the probe is broken: it stays down until the next try.
      })
    return 'down'
  }

  const { chargeSaved, cancel, refund, verifyRefund, findKey } = gateway
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
      ...(cancel && { cancel: (query, reference) => checkStatus(() => cancel(query, reference)) }),
      ...(refund && { refund: (request) => submit(() => refund(request)) }),
      ...(verifyRefund && {
        verifyRefund: (request, reference) => checkStatus(() => verifyRefund(request, reference)),
      }),
      ...(findKey && { findKey: (gatewayPaymentId) => checkStatus(() => findKey(gatewayPaymentId)) }),
    },
  }
}

/** No answer, or none that can be read. That the provider does not know a key is an answer. */
function isFailure(result: unknown): boolean {
  if (result === 'unreachable') return true
  // A boundary: the library hands over whatever a verb or the probe answered, untyped.
  const answer = result as Partial<Unknown> | null
  return typeof answer === 'object' && answer?.kind === 'unknown' && answer.reason !== 'not_found'
}

interface Bulkhead {
  run<Result>(verb: () => Promise<Result>): Promise<Result | Unknown>
  isFull(): boolean
}

/** A provider that is slow fills its own bulkhead and nobody else's. */
function createBulkhead(name: string, options: CircuitBreakerOptions): Bulkhead {
  const { clock, timeoutMs, queueTimeoutMs = QUEUE_TIMEOUT_MS, concurrency = CONCURRENCY } = options
  const policy = bulkhead(concurrency, concurrency)
  const queueFull = rejected(`too many calls to ${name} are under way`)
  const timedOut: Unknown = {
    kind: 'unknown',
    reason: 'no_answer',
    message: `${name} took longer than ${timeoutMs} ms`,
  }
  return {
    isFull: () => policy.executionSlots === 0,
    async run(verb) {
      const waiting = new AbortController()
      const finished = new AbortController()
      let hasStarted = false
      const start = () => {
        hasStarted = true
        return verb()
      }
      const timeout = async () => {
        await clock.sleep(queueTimeoutMs, finished.signal)
        if (!hasStarted) {
          // From here on the call cannot begin any more, so that it is true that nothing was sent.
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
