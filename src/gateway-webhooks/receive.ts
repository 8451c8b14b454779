// Inbound webhooks. A webhook is a doorbell: its signature is checked, it is noted, answered, and then the gateway is
// asked; what its body claims is never believed, nor kept.

import { createHash } from 'node:crypto'
import { isUuid } from '../core/ids.ts'
import { sanitizeText } from '../core/sanitize-text.ts'
import type { Gateway, ParsedWebhook } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import type { GatewayWebhookRoute } from '../kit/http/route.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { purgeWebhooksBefore, retryUnmatchedWebhooks, saveGatewayWebhook } from './queries.ts'

type WebhookRequest = Parameters<GatewayWebhookRoute['handle']>[0]

/** At the first address the installation's own accounts ring, at the second those of one merchant. */
export function gatewayWebhookRoutes(app: PaymentsApp): GatewayWebhookRoute[] {
  const reportForgery = createForgeryLogger(app)
  const handle = async (request: WebhookRequest, merchantId: string | null) => {
    const name = request.params.gateway ?? ''
    const received = await verifySender(app, name, merchantId, request)
    if (received === undefined) return { http: 404 }
    if (received.reading.kind === 'forged') {
      reportForgery(name)
      return { http: 401 }
    }
    const reading = await resolveKey(received)
    if (reading === undefined) return { http: 503 }
    if (reading.kind === 'payment') await saveWebhook(app, name, received.accountId, reading)
    return { http: 200 }
  }
  return [
    { path: '/hooks/{gateway}', handle: (request) => handle(request, null) },
    {
      path: '/hooks/{gateway}/{merchant}',
      handle: async (request) => {
        const { merchant } = request.params
        return isUuid(merchant) ? handle(request, merchant) : { http: 404 }
      },
    },
  ]
}

interface ReceivedWebhook {
  accountId: string | null
  gateway: Gateway | null
  reading: ParsedWebhook
}

/** Finds our key where the webhook has only the gateway's own id. Undefined: nobody answered, so it must come again. */
async function resolveKey({ gateway, reading }: ReceivedWebhook): Promise<ParsedWebhook | undefined> {
  if (reading.kind !== 'dispute') return reading
  const found = await gateway?.findKey?.(reading.gatewayPaymentId)
  if (found?.kind === 'unknown' && found.reason !== 'not_found') return undefined
  if (found?.kind !== 'key' || found.key === null)
    return { kind: 'ignored', reason: 'not about a payment of ours' }
  return { kind: 'payment', key: found.key, eventId: reading.eventId, isDispute: true }
}

/** What the webhook says to whom it was meant for; undefined at an address where nobody listens. */
async function verifySender(
  app: PaymentsApp,
  name: string,
  merchantId: string | null,
  { headers, rawBody }: WebhookRequest,
): Promise<ReceivedWebhook | undefined> {
  const accounts = await app.gateways.findWebhookGateways(name, merchantId)
  if (accounts.length === 0) return undefined
  for (const { gateway, accountId } of accounts) {
    const reading = gateway.parseWebhook(headers, rawBody)
    if (reading.kind !== 'forged') return { accountId, gateway, reading }
  }
  return { accountId: null, gateway: null, reading: { kind: 'forged' } }
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Before the 2xx: what was noted is acted upon, and what was not noted the provider sends again. */
async function saveWebhook(
  app: PaymentsApp,
  gateway: string,
  accountId: string | null,
  { eventId, key, isDispute }: Extract<ParsedWebhook, { kind: 'payment' }>,
): Promise<void> {
  // Our keys are UUIDs; any other is of a system that shares the account with us.
  if (!isUuid(key)) return
  const now = app.clock.now()
  const webhook = { gateway, accountId, eventId: storableId(eventId), key, isDispute }
  await app.failpoints.hit('gateway_webhook.before_save')
  await saveGatewayWebhook(app.db, webhook, now, addMs(now, MINUTE_MS))
  await app.failpoints.hit('gateway_webhook.after_save')
  await app.wakeRefunds(webhook)
}

const MAX_ID_LENGTH = 200

/** An id that cannot be stored as it is stays unmistakable by its hash. */
function storableId(eventId: string): string {
  const isStorable = eventId !== '' && eventId.length <= MAX_ID_LENGTH && sanitizeText(eventId) === eventId
  return isStorable ? eventId : `sha256:${createHash('sha256').update(eventId).digest('hex')}`
}

const RETRY_BATCH_SIZE = 200

// A provider repeats a webhook for about as long, so whoever could still be early has come again by then.
const RETRY_PERIOD_MS = 3 * DAY_MS

export function retryGatewayWebhooks(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  return retryUnmatchedWebhooks(app.db, now, addMs(now, -RETRY_PERIOD_MS), RETRY_BATCH_SIZE)
}

// Some providers' signatures carry no time, so a recorded webhook can be replayed for ever: for more than a year it has no
// effect at all, and after that it makes us ask about a payment that was settled long ago.
const RETENTION_MS = 400 * DAY_MS

export function purgeGatewayWebhooks(app: PaymentsApp): Promise<number> {
  return purgeWebhooksBefore(app.db, addMs(app.clock.now(), -RETENTION_MS))
}

const LOG_INTERVAL_MS = 20_000

/** Every forgery is counted; the log hears of them three times a minute, however many there are. */
function createForgeryLogger(app: PaymentsApp): (gateway: string) => void {
  const reports = new Map<string, { loggedAtMs: number; unlogged: number }>()
  return (gateway) => {
    app.counters.add('gateway_webhook_signature_failures', gateway)
    const nowMs = app.clock.now().getTime()
    const report = reports.get(gateway) ?? { loggedAtMs: Number.NEGATIVE_INFINITY, unlogged: 0 }
    reports.set(gateway, report)
    report.unlogged += 1
    if (Math.abs(nowMs - report.loggedAtMs) < LOG_INTERVAL_MS) return
    app.log.write('gateway_webhook.signature_invalid', { gateway, count: report.unlogged })
    report.loggedAtMs = nowMs
    report.unlogged = 0
  }
}
