// When a delivery that failed is tried again, and what its answer means. Pure, so that three days can be tested at once.

import { crc32 } from '../kit/crypto.ts'
import type { PublicHttpResult } from '../kit/http/public-http.ts'
import { readRetryAfter } from '../kit/http/retry-after.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

// What Standard Webhooks recommends: ten tries over three days. Each wait is counted from the try before it.
export const BACKOFF_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
]

export const MAX_ATTEMPTS = BACKOFF_MS.length + 1

// Only ever longer: shortened waits would use up the tries before a consumer that was down for three days is back.
const JITTER = 0.1

// A consumer that asks for more is asked again after an hour all the same.
const MAX_RETRY_AFTER_MS = HOUR

/** What a delivery is told apart by when its waits are spread. */
export interface JitterKey {
  endpointId: string
  resourceId: string
}

/**
 * How long to wait after so many failed tries, or undefined when there were enough. The jitter is a resource's own: its
 * versions keep their order however long a consumer is down, while different resources come back at different times.
 */
export function backoffAfter(
  failedAttempts: number,
  { endpointId, resourceId }: JitterKey,
): number | undefined {
  const wait = BACKOFF_MS[failedAttempts - 1]
  if (wait === undefined) return undefined
  const share = crc32(`${endpointId}:${resourceId}`) / 2 ** 32
  return Math.round(wait * (1 + JITTER * share))
}

export type AttemptOutcome =
  | { kind: 'delivered' }
  | { kind: 'gone' }
  | { kind: 'failed'; retryAfterMs: number }

/** Only 2xx is a success: a redirect is not followed, and what it leads to was never asked. */
export function classifyResponse(answer: PublicHttpResult, now: Date): AttemptOutcome {
  if (answer.kind === 'failed') return { kind: 'failed', retryAfterMs: 0 }
  const { status, headers } = answer
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === 410) return { kind: 'gone' }
  return { kind: 'failed', retryAfterMs: readRetryAfter(headers['retry-after'], now, MAX_RETRY_AFTER_MS) }
}
