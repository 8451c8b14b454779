// Ends the calls to an endpoint that asked for it, or that has done nothing but fail. Its merchant learns it from an event,
// at its other endpoints and in the list of events; what was waiting for it dies with the same reason and can be replayed.

import { recordEvents } from '../events/service.ts'
import { addMs } from '../kit/clock.ts'
import type { DeliveriesApp } from './app.ts'
import type { ClaimedDelivery } from './delivery.ts'
import { disableEndpoint } from './endpoint-queries.ts'
import { toEndpoint } from './schema.ts'

// Longer than the whole schedule of one delivery, so that a long weekend without anybody looking ends nothing.
const DISABLE_AFTER_MS = 5 * 24 * 3_600_000

/** Called after a failure: disables the endpoint when it is gone, or has failed for too long. */
export async function disableIfFailing(
  app: DeliveriesApp,
  delivery: Pick<ClaimedDelivery, 'merchantId' | 'endpointId' | 'url' | 'failingSince'>,
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
