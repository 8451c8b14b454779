// Stores what a verified webhook says: the notification, the provider's object that it names, and its report. Each runs
// before the 2xx response: the provider retries a webhook that was not stored.

import { createHash } from 'node:crypto'
import { isUuid } from '../core/ids.ts'
import { sanitizeText, sanitizeTexts } from '../core/sanitize-text.ts'
import type { Gateway, ParsedWebhook } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import type { PaymentsApp, Report, SavedReport } from '../payments/app.ts'
import type { CallbackSubject } from '../secrets/callback-paths.ts'
import { saveGatewayWebhook, saveReferenceHint, saveReport } from './queries.ts'

export interface ReceivedWebhook {
  /** The gateway's name in the path. */
  name: string
  gateway: Gateway
  accountId: string | null
  callback: CallbackSubject | null
  parsed: Exclude<ParsedWebhook, { kind: 'forged' }>
}

type Payment = Extract<ParsedWebhook, { kind: 'payment' }>
type OwnRefund = Extract<ParsedWebhook, { kind: 'own_refund' }>

const KEY_RETRY_MS = 60_000
// The answer of our own call, with the provider's id, is stored within seconds.
const REFERENCE_RETRY_MS = 5_000

/** Stores a webhook about a payment and makes its attempt due. */
export async function saveWebhook(
  app: PaymentsApp,
  received: ReceivedWebhook,
  parsed: Payment,
): Promise<void> {
  const { name: gateway, accountId } = received
  const { key, isDispute, isRefund } = parsed
  // Our keys are UUIDs; any other key belongs to another system that shares the gateway account.
  if (key !== undefined && !isUuid(key)) return
  const now = app.clock.now()
  await app.failpoints.hit('gateway_webhook.before_save')
  const report = key === undefined ? null : await saveHints(app, received, parsed)
  const gatewayReference = key === undefined ? sanitizeText(parsed.gatewayReference) : null
  const webhook = {
    ...{
      gateway,
      accountId,
      eventId: eventIdOf(received, parsed, report),
      key: key ?? null,
      gatewayReference,
    },
    // A report may say more about a paid attempt, such as its receipt number.
    checksPaid: isDispute === true || report !== null,
  }
  const retryAt = addMs(now, key === undefined ? REFERENCE_RETRY_MS : KEY_RETRY_MS)
  const keys = await saveGatewayWebhook(app.db, webhook, now, retryAt)
  await app.failpoints.hit('gateway_webhook.after_save')
  for (const one of key === undefined ? keys : [key])
    await app.wakeRefunds({ gateway, accountId, key: one, isRefund })
}

/** Before the attempt is made due, so that the status check uses them. Returns its report if that is stored. */
async function saveHints(
  app: PaymentsApp,
  received: ReceivedWebhook,
  parsed: Extract<Payment, { key: string }>,
): Promise<string | null> {
  const { referenceHint, key } = parsed
  const attempt = { gateway: received.name, accountId: received.accountId, key }
  if (referenceHint !== undefined) await saveReferenceHint(app.db, attempt, sanitizeText(referenceHint))
  const report = readReport(app, received, parsed)
  const saved = report === null ? undefined : await saveReport(app.db, attempt, report)
  warnIfIgnored(app, received, saved)
  return report !== null && saved?.isStored === true ? report.text : null
}

/** Stores the report of a callback about a refund and makes the refund due. */
export async function saveRefundCallback(
  app: PaymentsApp,
  received: ReceivedWebhook,
  parsed: OwnRefund,
): Promise<void> {
  const { name: gateway, accountId } = received
  if (!isUuid(parsed.key)) return
  await app.failpoints.hit('gateway_webhook.before_save')
  const report = readReport(app, received, parsed)
  const saved = await app.wakeRefundByKey({ gateway, accountId, key: parsed.key }, report)
  await app.failpoints.hit('gateway_webhook.after_save')
  warnIfIgnored(app, received, saved)
}

/** Whether the callback came to the secret path of this very attempt or refund. */
export function provesKey(callback: CallbackSubject | null, parsed: ReceivedWebhook['parsed']): boolean {
  const kind = callback?.kind === 'attempt' ? 'payment' : 'own_refund'
  return callback !== null && 'key' in callback && parsed.kind === kind && parsed.key === callback.key
}

const MAX_REPORT_BYTES = 4_096

/** The report, if the secret path proves that it is about this attempt or refund. */
function readReport(
  app: PaymentsApp,
  { name: gateway, callback }: ReceivedWebhook,
  parsed: Extract<Payment, { key: string }> | OwnRefund,
): Report | null {
  if (parsed.report === undefined) return null
  const text = sanitizeTexts(parsed.report)
  const isSmall = Buffer.byteLength(text) <= MAX_REPORT_BYTES
  if (isSmall && provesKey(callback, parsed)) return { text, isFinal: parsed.isFinalReport === true }
  app.log.write('gateway_webhook.report_ignored', { gateway, reason: isSmall ? 'not_proved' : 'too_large' })
  return null
}

function warnIfIgnored(app: PaymentsApp, { name: gateway }: ReceivedWebhook, saved?: SavedReport): void {
  if (saved?.isStored === false)
    app.log.write('gateway_webhook.report_ignored', { gateway, reason: 'another_report' })
}

/**
 * Nothing but its path proves the id of an unsigned callback, so the id counts for that attempt only. A provider may use one
 * id for several callbacks: another report is another event.
 */
function eventIdOf({ callback }: ReceivedWebhook, { eventId }: Payment, report: string | null): string {
  const subject = callback !== null && 'key' in callback ? [callback.key] : []
  return storableId([...subject, eventId, ...(report === null ? [] : [hashOf(report)])].join(':'))
}

const MAX_ID_LENGTH = 200

/** An id that PostgreSQL cannot store is replaced by its hash, which is unique too. */
function storableId(eventId: string): string {
  const isStorable = eventId !== '' && eventId.length <= MAX_ID_LENGTH && sanitizeText(eventId) === eventId
  return isStorable ? eventId : `sha256:${hashOf(eventId)}`
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
