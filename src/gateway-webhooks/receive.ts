// Inbound webhooks. A webhook is a doorbell: its signature is checked, it is noted, answered, and then the gateway is
// asked; what its body claims is never believed, nor kept.

import { createHash } from 'node:crypto'
import { isUuid } from '../core/ids.ts'
import { plainText } from '../core/plain-text.ts'
import type { Gateway, ParsedWebhook } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import type { HookRoute } from '../kit/route.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { forgetRings, retryRings, ringDoorbell } from './queries.ts'

type Visit = Parameters<HookRoute['handle']>[0]

/** At the first address the installation's own accounts ring, at the second those of one merchant. */
export function gatewayHooks(app: PaymentsApp): HookRoute[] {
  const tellOfForgery = createForgeryReport(app)
  const answer = async (visit: Visit, merchantId: string | null) => {
    const name = visit.params.gateway ?? ''
    const heard = await hear(app, name, merchantId, visit)
    if (heard === undefined) return { http: 404 }
    if (heard.reading.kind === 'forged') {
      tellOfForgery(name)
      return { http: 401 }
    }
    const reading = await identified(heard)
    if (reading === undefined) return { http: 503 }
    if (reading.kind === 'payment') await note(app, name, heard.accountId, reading)
    return { http: 200 }
  }
  return [
    { path: '/hooks/{gateway}', handle: (visit) => answer(visit, null) },
    {
      path: '/hooks/{gateway}/{merchant}',
      handle: async (visit) => {
        const { merchant } = visit.params
        return isUuid(merchant) ? answer(visit, merchant) : { http: 404 }
      },
    },
  ]
}

interface Heard {
  accountId: string | null
  gateway: Gateway | null
  reading: ParsedWebhook
}

/** Finds our key where the webhook has only the gateway's own id. Undefined: nobody answered, so it must come again. */
async function identified({ gateway, reading }: Heard): Promise<ParsedWebhook | undefined> {
  if (reading.kind !== 'dispute') return reading
  const found = await gateway?.findKey?.(reading.gatewayPaymentId)
  if (found?.kind === 'unknown' && found.reason !== 'not_found') return undefined
  if (found?.kind !== 'key' || found.key === null)
    return { kind: 'ignored', reason: 'not about a payment of ours' }
  return { kind: 'payment', key: found.key, eventId: reading.eventId, isDispute: true }
}

/** What the webhook says to whom it was meant for; undefined at an address where nobody listens. */
async function hear(
  app: PaymentsApp,
  name: string,
  merchantId: string | null,
  { headers, rawBody }: Visit,
): Promise<Heard | undefined> {
  const listeners = await app.gateways.findWebhookGateways(name, merchantId)
  if (listeners.length === 0) return undefined
  for (const { gateway, accountId } of listeners) {
    const reading = gateway.parseWebhook(headers, rawBody)
    if (reading.kind !== 'forged') return { accountId, gateway, reading }
  }
  return { accountId: null, gateway: null, reading: { kind: 'forged' } }
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Before the 2xx: what was noted is acted upon, and what was not noted the provider sends again. */
async function note(
  app: PaymentsApp,
  gateway: string,
  accountId: string | null,
  { eventId, key, isDispute }: Extract<ParsedWebhook, { kind: 'payment' }>,
): Promise<void> {
  // Our keys are UUIDs; any other is of a system that shares the account with us.
  if (!isUuid(key)) return
  const now = app.clock.now()
  const ring = { gateway, accountId, eventId: storableId(eventId), key, isDispute }
  await app.failpoints.pass('gateway_webhook.before_save')
  await ringDoorbell(app.db, ring, now, addMs(now, MINUTE_MS))
  await app.failpoints.pass('gateway_webhook.after_save')
  await app.rang?.(ring)
}

const MAX_ID_LENGTH = 200

/** An id that cannot be stored as it is stays unmistakable by its hash. */
function storableId(eventId: string): string {
  const isStorable = eventId !== '' && eventId.length <= MAX_ID_LENGTH && plainText(eventId) === eventId
  return isStorable ? eventId : `sha256:${createHash('sha256').update(eventId).digest('hex')}`
}

const RETRIED_AT_ONCE = 200

// A provider repeats a webhook for about as long, so whoever could still be early has come again by then.
const RETRIED_MS = 3 * DAY_MS

export function retryWebhooks(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  return retryRings(app.db, now, addMs(now, -RETRIED_MS), RETRIED_AT_ONCE)
}

// Some providers' signatures carry no time, so a recorded webhook can be replayed for ever: for more than a year it has no
// effect at all, and after that it makes us ask about a payment that was settled long ago.
const REMEMBERED_MS = 400 * DAY_MS

export function forgetWebhooks(app: PaymentsApp): Promise<number> {
  return forgetRings(app.db, addMs(app.clock.now(), -REMEMBERED_MS))
}

const REPORT_EVERY_MS = 20_000

/** Every forgery is counted; the log hears of them three times a minute, however many there are. */
function createForgeryReport(app: PaymentsApp): (gateway: string) => void {
  const reports = new Map<string, { toldAtMs: number; untold: number }>()
  return (gateway) => {
    app.counters.add('gateway_webhook_signature_failures', gateway)
    const nowMs = app.clock.now().getTime()
    const report = reports.get(gateway) ?? { toldAtMs: Number.NEGATIVE_INFINITY, untold: 0 }
    reports.set(gateway, report)
    report.untold += 1
    if (Math.abs(nowMs - report.toldAtMs) < REPORT_EVERY_MS) return
    app.log.warn('webhooks were forged', { gateway, count: report.untold })
    report.toldAtMs = nowMs
    report.untold = 0
  }
}
