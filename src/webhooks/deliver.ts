// The delivery worker: claims what is due, calls the endpoint, and writes down how it ended. A process that dies in
// between gives its deliveries back when their lease ends, and they are made again under the same id.

import { addMs } from '../kit/clock.ts'
import { VaultError } from '../kit/crypto.ts'
import { errorFields } from '../kit/log.ts'
import type { PublicAnswer } from '../kit/public-http.ts'
import type { WebhooksApp } from './app.ts'
import { type ClaimedDelivery, claimDueDeliveries, type DeliveryResult } from './delivery-queries.ts'
import { disableFailing } from './disable.ts'
import { judge, type Verdict, waitAfter } from './schedule.ts'
import { deliveryHeaders, signDelivery } from './signature.ts'

/** How many this process makes at once. Each is a socket and an event of a few kilobytes. */
export const CONCURRENCY = 256

// Enough for a fast consumer, few enough for a slow one: an endpoint that hangs takes no more of the process than this.
const PER_ENDPOINT = 8

const TIMEOUT_MS = 15_000
const MAX_ANSWER_BYTES = 4_096
// The call at its limit, and our own statements on a machine that may be busy.
const LEASE_MS = TIMEOUT_MS + 15_000

// Looks at once at what comes behind the versions that had to wait, but not for ever.
const MAX_LOOKS = 20

/** Claims what is due; each answer is the work of one delivery, and of the versions right behind it. */
export async function claimDeliveries(
  app: WebhooksApp,
  limit: number,
  underWay: Map<string, number>,
): Promise<(() => Promise<void>)[]> {
  const claimed = await claimPastHeld(app, limit, underWay)
  for (const { endpointId } of claimed) underWay.set(endpointId, (underWay.get(endpointId) ?? 0) + 1)
  return claimed.map((delivery) => async () => {
    try {
      await deliverInOrder(app, delivery)
    } finally {
      leave(underWay, delivery.endpointId)
    }
  })
}

async function claimPastHeld(app: WebhooksApp, limit: number, underWay: Map<string, number>) {
  // When half of the room is taken the rest is dealt out one to each, so that many slow endpoints leave some for others.
  const perEndpoint = limit > CONCURRENCY / 2 ? PER_ENDPOINT : 1
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const now = app.clock.now()
    const limits = { now, leaseUntil: addMs(now, LEASE_MS), underWay, perEndpoint, limit }
    const { claimed, held } = await claimDueDeliveries(app.db, limits)
    if (claimed.length > 0 || held === 0) return claimed
  }
  return []
}

function leave(underWay: Map<string, number>, endpointId: string): void {
  const left = (underWay.get(endpointId) ?? 1) - 1
  if (left === 0) underWay.delete(endpointId)
  else underWay.set(endpointId, left)
}

// A resource whose versions take longer goes back to the queue in between: a stopping process waits for this work.
const CHAIN_MS = 5_000

async function deliverInOrder(app: WebhooksApp, first: ClaimedDelivery): Promise<void> {
  const until = addMs(app.clock.now(), CHAIN_MS)
  for (let delivery: ClaimedDelivery | undefined = first; delivery; ) {
    const current: ClaimedDelivery = delivery
    delivery = await deliver(app, current, until).catch((error: unknown) => {
      // The lease runs out and it is claimed again: one that breaks us must not stop the others.
      app.log.error('a delivery broke off', { ...namesOf(current), ...errorFields(error) })
      return undefined
    })
  }
}

/** Makes one try; answers the next version of the resource when it became ours with the end of this one. */
async function deliver(
  app: WebhooksApp,
  delivery: ClaimedDelivery,
  chainUntil: Date,
): Promise<ClaimedDelivery | undefined> {
  await app.failpoints.pass('delivery.after_claim')
  const startedAt = app.clock.now()
  const { signature, answer } = await call(app, delivery, startedAt)
  await app.failpoints.pass('delivery.after_answer')
  const endedAt = app.clock.now()
  const verdict = judge(answer, endedAt)
  const { isOurs, next } = await app.finishDelivery({
    ...afterwards(delivery, verdict, endedAt),
    ...seen(answer),
    merchant_id: delivery.merchantId,
    event_id: delivery.eventId,
    endpoint_id: delivery.endpointId,
    fence: delivery.fence,
    started_at: startedAt,
    ended_at: endedAt,
    next_lease: endedAt < chainUntil ? addMs(endedAt, LEASE_MS) : null,
    url: delivery.url,
    signature,
  })
  if (!isOurs) return undefined
  app.counters.add('webhook_tries', verdict.kind)
  if (verdict.kind !== 'delivered') await noteFailure(app, delivery, verdict, answer, endedAt)
  return next
}

async function call(
  app: WebhooksApp,
  delivery: ClaimedDelivery,
  at: Date,
): Promise<{ signature: string; answer: PublicAnswer }> {
  try {
    const signature = signDelivery(app.vault, delivery, at)
    const headers = deliveryHeaders(delivery.eventId, at, signature)
    const limits = { timeoutMs: TIMEOUT_MS, maxBodyBytes: MAX_ANSWER_BYTES }
    const answer = await app.publicHttp.post(delivery.url, { headers, body: delivery.body, ...limits })
    return { signature, answer }
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    app.log.error('the secret of an endpoint does not open', { ...namesOf(delivery), ...errorFields(error) })
    const words = 'The secret of the endpoint could not be read. Rotate it.'
    return { signature: '', answer: { kind: 'failed', failure: 'closed', words, durationMs: 0 } }
  }
}

/** What becomes of the delivery. */
function afterwards(
  delivery: ClaimedDelivery,
  verdict: Verdict,
  at: Date,
): Pick<DeliveryResult, 'status' | 'reason' | 'due_at'> {
  if (verdict.kind === 'delivered') return { status: 'delivered', reason: null, due_at: null }
  const wait = waitAfter(delivery.tries + 1, delivery)
  if (wait === undefined) return { status: 'dead', reason: 'tries_exhausted', due_at: null }
  const asked = verdict.kind === 'failed' ? verdict.retryAfterMs : 0
  return { status: 'pending', reason: null, due_at: addMs(at, Math.max(wait, asked)) }
}

// Enough to recognise an error page; more would make us a way to read what only this machine can reach.
const ANSWER_CHARACTERS = 200

function seen(
  answer: PublicAnswer,
): Pick<DeliveryResult, 'http_status' | 'error' | 'answer' | 'duration_ms'> {
  const { durationMs: duration_ms } = answer
  if (answer.kind === 'failed') return { http_status: null, error: answer.words, answer: null, duration_ms }
  const text = [...answer.body].slice(0, ANSWER_CHARACTERS).join('')
  return { http_status: answer.status, error: null, answer: text, duration_ms }
}

async function noteFailure(
  app: WebhooksApp,
  delivery: ClaimedDelivery,
  verdict: Verdict,
  answer: PublicAnswer,
  at: Date,
): Promise<void> {
  const http = answer.kind === 'answered' ? answer.status : null
  const reason = answer.kind === 'failed' ? answer.failure : null
  app.log.debug('a delivery failed', { ...namesOf(delivery), http, reason, durationMs: answer.durationMs })
  await disableFailing(app, delivery, verdict.kind === 'gone', at)
}

function namesOf({ merchantId, eventId, endpointId }: ClaimedDelivery) {
  return { merchantId, eventId, endpointId }
}
