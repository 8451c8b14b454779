// Disables an endpoint that answered 410 Gone, or whose deliveries have failed for days. An event reports this to the
// merchant's other endpoints and in the list of events. Waiting deliveries are dead-lettered with the same reason and can be
// replayed.

import { recordEvents } from '../events/service.ts'
import { addMs } from '../kit/clock.ts'
import type { WebhookEndpointsApp } from './app.ts'
import { disableEndpoint } from './queries.ts'
import { toEndpoint } from './schema.ts'

// Longer than all retries of one delivery, so that an outage over a long weekend does not disable the endpoint.
const DISABLE_AFTER_MS = 5 * 24 * 3_600_000

/** The endpoint of a failed delivery, as it was when the attempt was claimed. */
interface FailedDelivery {
  merchantId: string
  endpointId: string
  url: string
  failingSince: Date | null
}

/** Call this after a failed attempt. */
export async function disableIfFailing(
  app: WebhookEndpointsApp,
  delivery: FailedDelivery,
  isGone: boolean,
  now: Date,
): Promise<void> {
  const failingBefore = addMs(now, -DISABLE_AFTER_MS)
  const isFailing = delivery.failingSince !== null && delivery.failingSince <= failingBefore
  if (!isGone && !isFailing) return
  const { merchantId, endpointId, url } = delivery
  const reason = isGone ? 'endpoint_gone' : 'endpoint_failing'
  const disabled = await app.db.transaction(async (tx) => {
    const endpoint = await disableEndpoint(tx, {
      ...{ merchantId, endpointId, url, reason, at: now },
      failingBefore: isGone ? null : failingBefore,
    })
    if (!endpoint) return false
    const resource = { type: 'webhook_endpoint', uuid: endpointId, version: endpoint.version } as const
    const eventInput = {
      merchantId,
      type: 'webhook_endpoint.disabled',
      resource,
      data: toEndpoint(endpoint),
    } as const
    await recordEvents(app, tx, app.mode, [eventInput])
    return true
  })
  if (disabled) app.log.write('webhook.endpoint_disabled', { merchantId, endpointId, reason })
}
