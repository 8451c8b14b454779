// The retry policy of deliveries: backoff with jitter, and the classification of responses. Pure, so tests need no clock.

import { crc32 } from '../kit/crypto.ts'
import type { PublicHttpResult } from '../kit/http/public-http.ts'
import { readRetryAfter } from '../kit/http/retry-after.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

// The backoff that Standard Webhooks recommends: ten attempts over three days, each delay counted from the attempt before.
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

// Jitter only lengthens a delay: shorter delays would use up the attempts during an outage of three days.
const JITTER = 0.1

// A longer Retry-After is cut to an hour.
const MAX_RETRY_AFTER_MS = HOUR

/** The jitter is derived from these ids. */
export interface JitterKey {
  endpointId: string
  resourceId: string
}

/**
 * Returns the backoff in milliseconds, or undefined after the last attempt. All versions of a resource have the same jitter,
 * so they keep their order through an outage, while different resources are retried at different times.
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

/** Only 2xx is a success. Redirects are not followed: they could lead to an internal address. */
export function classifyResponse(result: PublicHttpResult, now: Date): AttemptOutcome {
  if (result.kind === 'failed') return { kind: 'failed', retryAfterMs: 0 }
  const { status, headers } = result
  if (status >= 200 && status < 300) return { kind: 'delivered' }
  if (status === 410) return { kind: 'gone' }
  return { kind: 'failed', retryAfterMs: readRetryAfter(headers['retry-after'], now, MAX_RETRY_AFTER_MS) }
}
