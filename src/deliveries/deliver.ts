// Makes a delivery: calls the endpoint and records the result. If the process dies in between, the lease ends and another
// attempt is made under the same webhook id.

import { addMs } from '../kit/clock.ts'
import { VaultError } from '../kit/crypto.ts'
import type { PublicHttpResult } from '../kit/http/public-http.ts'
import { errorFields } from '../kit/observability/log.ts'
import { disableIfFailing } from '../webhook-endpoints/disable.ts'
import type { DeliveriesApp } from './app.ts'
import type { ClaimedDelivery, DeliveryResult } from './delivery.ts'
import type { CallSlot } from './pools.ts'
import { type AttemptOutcome, backoffAfter, classifyResponse } from './retry-policy.ts'
import { deliveryHeaders, signDelivery } from './signature.ts'

// After this time the next version of the resource returns to the queue: a stopping process waits for this function.
const MAX_SEQUENCE_MS = 5_000

/** Makes a delivery and then the next versions of its resource, as far as this process can claim them. */
export async function deliverInOrder(
  app: DeliveriesApp,
  first: ClaimedDelivery,
  slot: CallSlot,
): Promise<void> {
  const until = addMs(app.clock.now(), MAX_SEQUENCE_MS)
  for (let delivery: ClaimedDelivery | undefined = first; delivery; ) {
    const current: ClaimedDelivery = delivery
    delivery = await deliver(app, current, slot, until).catch((error: unknown) => {
      // The lease ends and the delivery is claimed again. One failing delivery must not stop the others.
      app.log.write('webhook.delivery_crashed', { ...idsOf(current), ...errorFields(error) })
      return undefined
    })
  }
}

/** Makes one attempt. Returns the next version of the resource if this process has claimed it with the result. */
async function deliver(
  app: DeliveriesApp,
  delivery: ClaimedDelivery,
  slot: CallSlot,
  sequenceUntil: Date,
): Promise<ClaimedDelivery | undefined> {
  await app.failpoints.hit('delivery.after_claim')
  const startedAt = app.clock.now()
  const { signature, result } = await sendRequest(app, delivery, startedAt)
  await app.failpoints.hit('delivery.after_response')
  const endedAt = app.clock.now()
  slot.responded(endedAt)
  const outcome = classifyResponse(result, endedAt)
  const { isLeaseValid, next } = await app.finishDelivery({
    ...nextState(delivery, outcome, endedAt),
    ...responseFields(result),
    merchant_id: delivery.merchantId,
    event_id: delivery.eventId,
    endpoint_id: delivery.endpointId,
    fence: delivery.fence,
    started_at: startedAt,
    ended_at: endedAt,
    claims_next: endedAt < sequenceUntil,
    url: delivery.url,
    signature,
  })
  if (!isLeaseValid) return undefined
  app.counters.add('webhook_delivery_attempts', outcome.kind)
  if (outcome.kind !== 'delivered') await handleFailure(app, delivery, outcome, result, endedAt)
  return next
}

async function sendRequest(
  app: DeliveriesApp,
  delivery: ClaimedDelivery,
  at: Date,
): Promise<{ signature: string; result: PublicHttpResult }> {
  try {
    const signature = signDelivery(app.vault, delivery, at)
    const headers = deliveryHeaders(delivery.eventId, at, signature)
    const result = await app.publicHttp.post(delivery.url, { headers, body: delivery.body })
    return { signature, result }
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    app.log.write('webhook.endpoint_secret_unreadable', { ...idsOf(delivery), ...errorFields(error) })
    const message = 'The secret of the endpoint could not be read. Rotate it.'
    return { signature: '', result: { kind: 'failed', failure: 'closed', message, durationMs: 0 } }
  }
}

/** The status of the delivery after this attempt: delivered, pending with backoff, or a dead letter. */
function nextState(
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome,
  at: Date,
): Pick<DeliveryResult, 'status' | 'reason' | 'due_at'> {
  if (outcome.kind === 'delivered') return { status: 'delivered', reason: null, due_at: null }
  const backoff = backoffAfter(delivery.attemptCount + 1, delivery)
  if (backoff === undefined) return { status: 'dead', reason: 'attempts_exhausted', due_at: null }
  const retryAfterMs = outcome.kind === 'failed' ? outcome.retryAfterMs : 0
  return { status: 'pending', reason: null, due_at: addMs(at, Math.max(backoff, retryAfterMs)) }
}

// Enough to recognize an error page. More would help an attacker to read internal servers through us (SSRF).
const MAX_STORED_CHARACTERS = 200

function responseFields(
  result: PublicHttpResult,
): Pick<DeliveryResult, 'http_status' | 'error' | 'response_body' | 'duration_ms'> {
  const { durationMs: duration_ms } = result
  if (result.kind === 'failed')
    return { http_status: null, error: result.message, response_body: null, duration_ms }
  const text = [...result.body].slice(0, MAX_STORED_CHARACTERS).join('')
  return { http_status: result.status, error: null, response_body: text, duration_ms }
}

async function handleFailure(
  app: DeliveriesApp,
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome,
  result: PublicHttpResult,
  at: Date,
): Promise<void> {
  const http = result.kind === 'answered' ? result.status : null
  const reason = result.kind === 'failed' ? result.failure : null
  app.log.write('webhook.delivery_failed', {
    ...idsOf(delivery),
    http,
    reason,
    durationMs: result.durationMs,
  })
  await disableIfFailing(app, delivery, outcome.kind === 'gone', at)
}

export function idsOf({
  merchantId,
  eventId,
  endpointId,
}: Pick<ClaimedDelivery, 'merchantId' | 'eventId' | 'endpointId'>) {
  return { merchantId, eventId, endpointId }
}
