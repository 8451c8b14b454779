// Retry-After: a client that does not call a server again before the time that the server has named.

import { addMs, type Clock } from '../clock.ts'
import type { HttpClient } from './http-client.ts'

const SECOND = 1_000

/** Seconds or an HTTP date; anything else counts as absent. Returns milliseconds. */
export function readRetryAfter(text: string | undefined, now: Date, longestMs: number): number {
  if (text === undefined) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * SECOND : Date.parse(text) - now.getTime()
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), longestMs)
}

// Longer than any provider's rate limit, and short enough that a wrong date does not stop calls for a day.
const MAX_RETRY_AFTER_MS = 5 * 60 * SECOND
const RETRY_AFTER_STATUSES = [429, 503]

/**
 * A client that sends nothing until the time of the last Retry-After. A request that it holds back has provably not
 * been sent, so a new payment may go elsewhere, and a status check is retried later.
 */
export function honorRetryAfter(http: HttpClient, clock: Clock): HttpClient {
  let blockedUntil = new Date(0)
  return {
    async request(request) {
      if (clock.now() < blockedUntil)
        return { kind: 'not_sent', code: 'ERR_RETRY_LATER', error: messageFor(blockedUntil) }
      const result = await http.request(request)
      if (result.kind === 'answered' && RETRY_AFTER_STATUSES.includes(result.status)) {
        const now = clock.now()
        const until = addMs(now, readRetryAfter(result.headers['retry-after'], now, MAX_RETRY_AFTER_MS))
        if (until > blockedUntil) blockedUntil = until
      }
      return result
    },
    close: () => http.close(),
  }
}

function messageFor(until: Date): string {
  return `ERR_RETRY_LATER: the server asked for no requests until ${until.toISOString()}`
}
