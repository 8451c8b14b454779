// The requests of the last days with the API key of the merchant, as the request log keeps them.

import { systemClock } from '../kit/clock.ts'
import type { CompletedApiRequest } from '../request-log/request.ts'
import { createRequestLog } from '../request-log/write.ts'
import type { History } from './app.ts'
import { referenceOf } from './checkout-orders.ts'
import type { Order } from './orders.ts'
import { chargeReferenceOf } from './other-orders.ts'

const ROUTES: Readonly<Record<Order['kind'], string | null>> = {
  checkout: '/api/v1/checkout/initiate-payment',
  charge: '/api/v1/charges/recurring',
  p2p: '/api/v1/p2p/payments',
  // The payer begins at the link, without a request of the merchant.
  link: null,
}

type Refusal = Pick<CompletedApiRequest, 'http' | 'errorCode' | 'errorFields'>

const REFUSALS: readonly Refusal[] = [
  { http: 422, errorCode: 'validation_failed', errorFields: 'customer.email' },
  { http: 422, errorCode: 'validation_failed', errorFields: 'amount' },
  { http: 409, errorCode: 'duplicate_reference', errorFields: null },
]

// Of each process the log keeps 300 successful ones of a minute.
const MOST_ORDERS = 200
/** One of so many requests is refused first, and then sent again; the last one too, which the log surely shows. */
const REFUSED_OF = 12

/** The orders are in the order of time. */
export async function writeRequests(history: History, orders: readonly Order[]): Promise<void> {
  const { app } = history
  // The log samples by the real time.
  const log = createRequestLog({ ...app, clock: systemClock })
  const record = (one: CompletedApiRequest) => log.record(one.merchantId, one.http, () => one)
  const requests = orders.slice(-MOST_ORDERS).flatMap((order) => {
    const route = ROUTES[order.kind]
    return route === null ? [] : [{ order, route }]
  })
  for (const [index, { order, route }] of requests.entries()) {
    const fromLast = requests.length - 1 - index
    const refusal =
      fromLast % REFUSED_OF === 0 ? REFUSALS[(fromLast / REFUSED_OF) % REFUSALS.length] : undefined
    // A reference is refused the second time; the other requests are corrected and sent again.
    const laterMs = refusal?.http === 409 ? 1_400 : -2_000
    if (refusal) record({ ...requestOf(history, order, route, laterMs), ...refusal })
    record(requestOf(history, order, route, 0))
  }
  await log.stop()
}

function requestOf(
  { app, merchant, keyId }: History,
  order: Order,
  route: string,
  laterMs: number,
): CompletedApiRequest {
  return {
    ...{ merchantId: merchant.id, keyId, requestId: app.random.uuid(), method: 'POST', route },
    ...{
      http: 201,
      errorCode: null,
      errorFields: null,
      reference: order.kind === 'charge' ? chargeReferenceOf(order) : referenceOf(order),
    },
    // Between 18 and 61 ms, by the number of the order.
    durationMs: 18 + ((order.number * 7) % 44),
    createdAt: new Date(order.atMs + laterMs),
  }
}
