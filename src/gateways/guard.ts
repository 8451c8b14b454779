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
import type { FoundKey, Gateway, Outcome, RefundOutcome, Started } from './gateway.ts'
import type { Health } from './routing.ts'

export interface GuardOptions {
  clock: Clock
  /** The longest that a verb may take once it has begun, with all its requests. */
  limitMs: number
  /** How long a call may wait for its turn. */
  waitMs?: number
  /** Calls under way at once, for what moves money and for questions each, and as many may wait. */
  concurrency?: number
  /** How long nothing new is sent after the breaker has opened. */
  restMs?: number
}

export interface Guarded {
  gateway: Gateway
  /** Who asks after the rest also makes us try whether the provider answers again. */
  health(): Health
}

// Twice this is what an HTTP client of ours has connections for.
const CONCURRENCY = 64
const WAIT_MS = 500
const REST_MS = 10_000

// Open when more than half of at least five calls within half a minute had no answer that can be read.
const SAMPLE_MS = 30_000
const MIN_CALLS = 5
const THRESHOLD = 0.5

type Unknown = Extract<Outcome, { kind: 'unknown' }>
type Answer = Started | Outcome | RefundOutcome | FoundKey

const keptBack = (words: string): Unknown => ({ kind: 'unknown', reason: 'not_sent', words })

export function guarded(gateway: Gateway, options: GuardOptions): Guarded {
  const { clock, restMs = REST_MS } = options
  const breaker = circuitBreaker(handleWhenResult(isTrouble), {
    halfOpenAfter: restMs,
    breaker: new SamplingBreaker({
      threshold: THRESHOLD,
      duration: SAMPLE_MS,
      minimumRps: MIN_CALLS / (SAMPLE_MS / 1000),
    }),
  })
  let restsUntil = clock.now()
  breaker.onBreak(() => {
    restsUntil = addMs(clock.now(), restMs)
  })
  const { name, probe } = gateway
  const refused = keptBack(`${name} has not answered lately, so nothing is sent to it for the moment`)
  const submissions = createCompartment(name, options)
  const questions = createCompartment(name, options)

  /** What moves money waits until the provider is known to answer again. */
  const submit = async <Result extends Answer>(verb: () => Promise<Result>): Promise<Result | Unknown> => {
    // While one call tries whether it answers again, the others do not wait for that.
    const isTrying = breaker.state === CircuitState.HalfOpen
    const isShut = breaker.state === CircuitState.Open && submissions.isFull()
    if (isTrying || isShut) return refused
    return submissions.run(async () => {
      try {
        if (breaker.state !== CircuitState.Open || !probe) return await breaker.execute(verb)
        // A call that changes nothing is tried first, rather than somebody's payment.
        if ((await breaker.execute(() => probe())) === 'unreachable') return refused
        return await breaker.execute(verb)
      } catch (error) {
        if (error instanceof BrokenCircuitError) return refused
        throw error
      }
    })
  }

  /** A question harms nobody and ends what is open, so it is asked also while nothing new is sent. */
  const ask = <Result extends Answer>(verb: () => Promise<Result>): Promise<Result | Unknown> =>
    questions.run(async () => {
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
    if (breaker.state === CircuitState.HalfOpen || clock.now() < restsUntil) return 'down'
    if (!probe) return 'up'
    questions
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
      verify: (question, reference) => ask(() => gateway.verify(question, reference)),
      ...(chargeSaved && {
        chargeSaved: (attempt, credential) => submit(() => chargeSaved(attempt, credential)),
      }),
      ...(cancel && { cancel: (question, reference) => ask(() => cancel(question, reference)) }),
      ...(refund && { refund: (request) => submit(() => refund(request)) }),
      ...(verifyRefund && {
        verifyRefund: (request, reference) => ask(() => verifyRefund(request, reference)),
      }),
      ...(findKey && { findKey: (gatewayPayment) => ask(() => findKey(gatewayPayment)) }),
    },
  }
}

/** No answer, or none that can be read. That the provider does not know a key is an answer. */
function isTrouble(result: unknown): boolean {
  if (result === 'unreachable') return true
  // A boundary: the library hands over whatever a verb or the probe answered, untyped.
  const answer = result as Partial<Unknown> | null
  return typeof answer === 'object' && answer?.kind === 'unknown' && answer.reason !== 'not_found'
}

interface Compartment {
  run<Result>(verb: () => Promise<Result>): Promise<Result | Unknown>
  isFull(): boolean
}

/** A provider that is slow fills its own compartment and nobody else's. */
function createCompartment(name: string, options: GuardOptions): Compartment {
  const { clock, limitMs, waitMs = WAIT_MS, concurrency = CONCURRENCY } = options
  const hull = bulkhead(concurrency, concurrency)
  const full = keptBack(`too many calls to ${name} are under way`)
  const late: Unknown = {
    kind: 'unknown',
    reason: 'no_answer',
    words: `${name} took longer than ${limitMs} ms`,
  }
  return {
    isFull: () => hull.executionSlots === 0,
    async run(verb) {
      const waiting = new AbortController()
      const ended = new AbortController()
      let hasBegun = false
      const begin = () => {
        hasBegun = true
        return verb()
      }
      const limit = async () => {
        await clock.sleep(waitMs, ended.signal)
        if (!hasBegun) {
          // From here on the call cannot begin any more, so that it is true that nothing was sent.
          waiting.abort()
          return full
        }
        await clock.sleep(limitMs, ended.signal)
        return late
      }
      const call = hull.execute(begin, waiting.signal).catch((error: unknown) => {
        if (error instanceof BulkheadRejectedError || error instanceof TaskCancelledError) return full
        throw error
      })
      try {
        return await Promise.race([call, limit()])
      } finally {
        ended.abort()
      }
    },
  }
}
