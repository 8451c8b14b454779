// The webhook receivers of the demo merchant, inside this process: nothing is sent. Their addresses are on this machine, so
// that later events of the merchant reach no one else either.

import type { Clock } from '../kit/clock.ts'
import type { PublicHttp, PublicHttpResult } from '../kit/http/public-http.ts'

const HOUR_MS = 3_600_000

export const SHOP = {
  url: 'http://127.0.0.1:4010/webhooks/cowry',
  description: 'Shop: marks orders as paid',
  events: [
    'payment.successful',
    'payment.failed',
    'charge.successful',
    'charge.failed',
    'payment.refunded',
    'payment.disputed',
    'payment.needs_review',
  ],
}

export const BOOKKEEPING = {
  url: 'http://127.0.0.1:4020/cowry',
  description: 'Bookkeeping',
  events: ['wallet.settled', 'refund.successful', 'refund.failed'],
}

/** How long ago the shop had an error for an hour, and since when the bookkeeping is down. */
const SHOP_ERROR_AGO_MS = 50 * HOUR_MS
const BOOKKEEPING_DOWN_MS = 20 * HOUR_MS

/** Answers by the time of the attempt alone, so the same history gets the same answers. */
export function createReceiver(clock: Clock, nowMs: number): PublicHttp {
  return {
    get: () => Promise.reject(new Error('webhooks are posted')),
    async post(url) {
      const agoMs = nowMs - clock.now().getTime()
      // Between 40 and 180 ms, by the millisecond of the attempt.
      const durationMs = 40 + (clock.now().getTime() % 141)
      if (url === BOOKKEEPING.url && agoMs < BOOKKEEPING_DOWN_MS) return REFUSED
      const isShopDown = agoMs < SHOP_ERROR_AGO_MS && agoMs > SHOP_ERROR_AGO_MS - HOUR_MS
      if (url === SHOP.url && isShopDown)
        return answer(500, 'Internal Server Error: database is locked', durationMs)
      return answer(200, 'ok', durationMs)
    },
    validateUrl: () => undefined,
    close: () => Promise.resolve(),
  }
}

const REFUSED: PublicHttpResult = {
  kind: 'failed',
  failure: 'connect_failed',
  message: 'No connection could be made (ECONNREFUSED).',
  durationMs: 2,
}

const answer = (status: number, body: string, durationMs: number): PublicHttpResult => ({
  kind: 'answered',
  status,
  headers: {},
  body,
  durationMs,
})
