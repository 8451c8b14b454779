// Which failed attempts are repeated, and after how long.

import type { CowryError } from './errors.ts'

const FIRST_DELAY_MS = 500
const MAX_DELAY_MS = 8_000
/** A service that asks for a longer pause gets no retry: the caller decides. */
const MAX_RETRY_AFTER_MS = 60_000

/**
 * A GET changes nothing, a POST is sent again with the same Idempotency-Key, and a PATCH sets the same values. A DELETE
 * whose response was lost may have deleted the record, and a repeat would report that it does not exist: it is repeated
 * only if the rate limit refused it.
 */
export function isRepeatable(method: string, error: CowryError): boolean {
  if (!error.retryable || (error.retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) return false
  return method !== 'DELETE' || error.status === 429
}

/** Exponential backoff, or the time that the service asks for. Jitter keeps clients that failed together apart. */
export function delayBefore(retry: number, { retryAfterMs }: CowryError): number {
  if (retryAfterMs !== undefined) return retryAfterMs + Math.random() * FIRST_DELAY_MS
  return (0.5 + Math.random() / 2) * Math.min(FIRST_DELAY_MS * 2 ** (retry - 1), MAX_DELAY_MS)
}

/** Resolves after the time, or rejects with the reason of the signal. */
export function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

/** The seconds or the date of a Retry-After header, in milliseconds. */
export function readRetryAfter(header: string | null): number | undefined {
  if (!header) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return ms >= 0 ? ms : undefined
}
