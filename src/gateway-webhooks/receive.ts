// Webhooks from gateways. The signature is verified, the webhook stored and the attempt made due; then the resolver checks
// the status at the gateway. The content of a webhook is never trusted, and only the report of a connector is stored.

import { isUuid } from '../core/ids.ts'
import { inCellOf, inCellOfValue, inNamedCell, ONE_CELL } from '../kit/cells/cells.ts'
import { cellOfUuid } from '../kit/cells/values.ts'
import { addMs } from '../kit/clock.ts'
import type { GatewayWebhookRoute } from '../kit/http/route.ts'
import { createIntervalLog } from '../kit/observability/log-interval.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findMerchantByGatewayKey } from '../payments/find.ts'
import { CALLBACK_PATH, type CallbackSubject, INSTANCE_SCOPE } from '../secrets/callback-paths.ts'
import { purgeWebhooksBefore, retryUnmatchedWebhooks } from './queries.ts'
import { provesKey, type ReceivedWebhook, saveRefundCallback, saveWebhook } from './save.ts'

type RouteInput = Parameters<GatewayWebhookRoute['handle']>[0]

/** The account that a path names, and the secret part of a secret path. */
interface Address {
  gateway: string
  merchantId: string | null
  secret?: { subject: string; mac: string }
}

/**
 * The first path is for the instance's own gateway accounts, the second for those of one merchant. The third is secret:
 * it proves its sender where the provider signs nothing.
 */
export function gatewayWebhookRoutes(app: PaymentsApp): GatewayWebhookRoute[] {
  const logForgery = createIntervalLog(app, (gateway, count) =>
    app.log.write('gateway_webhook.signature_invalid', { gateway, count }),
  )
  const handle = async (request: RouteInput, address: Address | undefined) => {
    const received = address && (await verifySender(app, address, request))
    if (received === undefined) return { http: 404 }
    if (received === 'forged') {
      const gateway = address?.gateway ?? ''
      app.counters.add('gateway_webhook_signature_failures', gateway)
      logForgery(gateway)
      return { http: 401 }
    }
    const parsed = await resolveKey(received)
    if (parsed === undefined) return { http: 503 }
    await saveInCell(app, address?.merchantId ?? null, { ...received, parsed })
    const { webhookAnswer: json } = received.gateway
    return json === undefined ? { http: 200 } : { http: 200, json }
  }
  return ['/hooks/{gateway}', '/hooks/{gateway}/{scope}', CALLBACK_PATH].map((path) => ({
    path,
    handle: (request) => handle(request, addressOf(request.params)),
  }))
}

/**
 * In the cell of the merchant in the path, or in the one that our key names. A provider's own id names none: then every cell
 * looks for it, and keeps the webhook for later as if it were the only one.
 */
async function saveInCell(
  app: PaymentsApp,
  merchantId: string | null,
  received: ReceivedWebhook,
): Promise<void> {
  const { parsed } = received
  const save = async (): Promise<boolean> => {
    if (parsed.kind === 'own_refund') await saveRefundCallback(app, received, parsed)
    return parsed.kind !== 'payment' || saveWebhook(app, received, parsed)
  }
  if (merchantId !== null) return void (await inCellOf(app.cells, merchantId, save))
  if ('key' in parsed && parsed.key !== undefined) {
    const { key } = parsed
    const findMerchant = () => findMerchantByGatewayKey(app.db, key)
    return void (await inCellOfValue(app.cells, cellOfUuid(key), findMerchant, save))
  }
  for (const cell of (app.cells ?? ONE_CELL).numbers) if (await inNamedCell(app.cells, cell, save)) return
}

/** Undefined if the path cannot be one of ours. */
function addressOf({ gateway = '', scope, subject, mac }: RouteInput['params']): Address | undefined {
  if (scope === undefined) return { gateway, merchantId: null }
  const secret = subject === undefined ? {} : { secret: { subject, mac: mac ?? '' } }
  if (subject !== undefined && scope === INSTANCE_SCOPE) return { gateway, merchantId: null, ...secret }
  return isUuid(scope) ? { gateway, merchantId: scope, ...secret } : undefined
}

/** Finds our key if the webhook has only the gateway's id. Undefined if the gateway does not answer: it must retry. */
async function resolveKey({
  gateway,
  parsed,
}: ReceivedWebhook): Promise<ReceivedWebhook['parsed'] | undefined> {
  if (parsed.kind !== 'dispute' && parsed.kind !== 'refund') return parsed
  const found = await gateway.findKey?.(parsed.gatewayPaymentId)
  if (found?.kind === 'unknown' && found.reason !== 'not_found') return undefined
  if (found?.kind !== 'key' || found.key === null)
    return { kind: 'ignored', reason: 'not about a payment of ours' }
  const subject = parsed.kind === 'dispute' ? { isDispute: true as const } : { isRefund: true as const }
  return { kind: 'payment', key: found.key, eventId: parsed.eventId, ...subject }
}

/** The webhook as parsed by the account whose secret path or signature matches; undefined if the path has no account. */
async function verifySender(
  app: PaymentsApp,
  { gateway: name, merchantId, secret }: Address,
  { method, headers, query, rawBody }: RouteInput,
): Promise<ReceivedWebhook | 'forged' | undefined> {
  const { gateways } = app
  const accounts = await gateways.findWebhookGateways(name, merchantId)
  if (accounts.length === 0) return undefined
  for (const { gateway, accountId } of accounts) {
    const account = { gateway: name, merchantId, accountId }
    const callback = secret ? gateways.callbackPaths.verify(account, secret.subject, secret.mac) : null
    if (callback === undefined) continue
    const parsed = gateway.parseWebhook({ method, headers, query, rawBody, callback })
    if (parsed.kind !== 'forged' && isWithin(callback, parsed))
      return { name, gateway, accountId, callback, parsed }
  }
  return 'forged'
}

/** The path of an attempt or a refund speaks for that one only. */
function isWithin(callback: CallbackSubject | null, parsed: ReceivedWebhook['parsed']): boolean {
  if (callback === null || callback.kind === 'account' || parsed.kind === 'ignored') return true
  return provesKey(callback, parsed)
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const RETRY_BATCH_SIZE = 200

// After three days the payment is not expected any more; the webhook is kept but not matched again.
const RETRY_PERIOD_MS = 3 * DAY_MS

export function retryGatewayWebhooks(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  return retryUnmatchedWebhooks(app.db, now, addMs(now, -RETRY_PERIOD_MS), RETRY_BATCH_SIZE)
}

// Some providers sign no timestamp, so a captured webhook can be replayed at any time. Within the retention a replay
// polls only the refunds of the payment; after the purge also the payment, if it is unpaid or the webhook is of a dispute.
const RETENTION_MS = 400 * DAY_MS

export function purgeGatewayWebhooks(app: PaymentsApp): Promise<number> {
  return purgeWebhooksBefore(app.db, addMs(app.clock.now(), -RETENTION_MS))
}
