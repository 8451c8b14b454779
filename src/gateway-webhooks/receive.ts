// Webhooks from gateways. The signature is verified, the webhook stored and the attempt made due; then the resolver checks
// the status at the gateway. The content of a webhook is never trusted, and only the report of a connector is stored.

import { isUuid } from '../core/ids.ts'
import { sanitizeText } from '../core/sanitize-text.ts'
import {
  areSeveral,
  askEveryCell,
  inCellForOne,
  inCellOf,
  inCellOfValue,
  ONE_CELL,
} from '../kit/cells/cells.ts'
import { cellOfUuid } from '../kit/cells/values.ts'
import { DbUnavailable } from '../kit/db/db.ts'
import type { GatewayWebhookRoute } from '../kit/http/route.ts'
import { createIntervalLog } from '../kit/observability/log-interval.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findMerchantByGatewayKey } from '../payments/find.ts'
import { CALLBACK_PATH, type CallbackSubject, INSTANCE_SCOPE } from '../secrets/callback-paths.ts'
import { findMerchantsByReference } from './queries.ts'
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

/** In the cell of the merchant in the path, or in the one that our key names. A provider's own id names none. */
async function saveInCell(
  app: PaymentsApp,
  merchantId: string | null,
  received: ReceivedWebhook,
): Promise<void> {
  const { parsed } = received
  const save = async (): Promise<void> => {
    if (parsed.kind === 'own_refund') await saveRefundCallback(app, received, parsed)
    if (parsed.kind === 'payment') await saveWebhook(app, received, parsed)
  }
  if (merchantId !== null) return inCellOf(app.cells, merchantId, save)
  if ('key' in parsed && parsed.key !== undefined) {
    const { key } = parsed
    const findMerchant = () => findMerchantByGatewayKey(app.db, key)
    return inCellOfValue(app.cells, cellOfUuid(key), findMerchant, save)
  }
  if (parsed.kind === 'payment') await saveByReference(app, received, parsed.gatewayReference, save)
}

/**
 * Every cell looks for the provider's id. If none has it, each keeps the webhook for later; one that does not answer may have
 * it, and then the provider must send it again.
 */
async function saveByReference(
  app: PaymentsApp,
  { name: gateway, accountId }: ReceivedWebhook,
  reference: string,
  save: () => Promise<void>,
): Promise<void> {
  const { cells = ONE_CELL, db } = app
  if (!areSeveral(cells)) return save()
  const { results, unavailable } = await askEveryCell(cells, () =>
    findMerchantsByReference(db, { gateway, accountId }, sanitizeText(reference)),
  )
  const merchantIds = new Set(results.flat())
  // A merchant that is moved has copies: it is woken where it works.
  for (const merchantId of merchantIds) await inCellOf(cells, merchantId, save)
  if (merchantIds.size > 0) return
  if (unavailable.length > 0) throw new DbUnavailable(new Error(`the cells ${unavailable} do not answer`))
  for (const cell of cells.numbers) await inCellForOne(cell, save)
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
