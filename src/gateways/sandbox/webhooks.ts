// Signed webhooks: the provider signs and delivers, the connector verifies. A webhook names the changed key and
// contains nothing about money; the receiver makes a status check.

import type { Clock } from '../../kit/clock.ts'
import { constantTimeEquals, hmacSha256 } from '../../kit/crypto.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpClient } from '../../kit/http/http-client.ts'
import { errorFields, type Log } from '../../kit/observability/log.ts'
import type { Random } from '../../kit/random.ts'
import type { ParsedWebhook } from '../gateway.ts'
import type { SandboxRecord } from './provider/record.ts'
import { WebhookBody } from './wire.ts'

const SIGNATURE_HEADER = 'cowry-sandbox-signature'

// The backoff between retries covers half a minute, enough for a restart of the service; after that its polls find the
// change.
const RETRY_DELAYS_MS = [0, 1_000, 5_000, 25_000]
const WEBHOOK_TIMEOUT_MS = 5_000

// The status of a payment with a dispute or a reversal.
const DISPUTED = 'disputed'

export interface WebhookSender {
  /** Sends a webhook that a record has ended or changed. Returns at once and never throws. */
  send(record: SandboxRecord, afterMs?: number): void
  /** Drops the webhooks that are not delivered yet. */
  stop(): void
}

export interface WebhookSenderNeeds {
  clock: Clock
  random: Random
  http: HttpClient
  log: Log
  webhookSecret: string
  /** Absent: no webhooks. */
  webhookUrl?: string
}

export function createWebhookSender(app: WebhookSenderNeeds): WebhookSender {
  const stopped = new AbortController()
  return {
    send(record, afterMs = 0) {
      if (!app.webhookUrl) return
      const webhook: WebhookBody = {
        id: app.random.uuid(),
        type: `${record.kind}.${record.dispute ? DISPUTED : record.status}`,
        // A refund's webhook names the refunded payment, as with other providers.
        key: record.refundOf ?? record.key,
        order: record.order,
        createdAt: app.clock.now().toISOString(),
      }
      deliver(app, app.webhookUrl, JSON.stringify(webhook), afterMs, stopped.signal).catch((error: unknown) =>
        app.log.write('sandbox.webhook_failed', { gateway: 'sandbox', ...errorFields(error) }),
      )
    },
    stop: () => stopped.abort(),
  }
}

async function deliver(
  app: WebhookSenderNeeds,
  url: string,
  body: string,
  afterMs: number,
  stopped: AbortSignal,
): Promise<void> {
  await app.clock.sleep(afterMs, stopped)
  for (const delayMs of RETRY_DELAYS_MS) {
    await app.clock.sleep(delayMs, stopped)
    if (stopped.aborted) return
    const headers = {
      'content-type': 'application/json',
      [SIGNATURE_HEADER]: sign(app.webhookSecret, app.clock.now(), body),
    }
    const result = await app.http.request({
      method: 'POST',
      url,
      headers,
      body,
      totalTimeoutMs: WEBHOOK_TIMEOUT_MS,
    })
    if (result.kind === 'answered' && result.status >= 200 && result.status < 300) return
  }
  app.log.write('sandbox.webhook_dropped', { gateway: 'sandbox' })
}

export function sign(secret: string, at: Date, body: string | Buffer): string {
  const unixSeconds = Math.floor(at.getTime() / 1_000)
  return `t=${unixSeconds},v1=${signatureOf(secret, unixSeconds, body).toString('hex')}`
}

function signatureOf(secret: string, unixSeconds: number, body: string | Buffer): Buffer {
  return hmacSha256(secret, Buffer.concat([Buffer.from(`${unixSeconds}.`), Buffer.from(body)]))
}

// As much as common providers allow: clocks differ, and a replay within it polls at most refunds.
const TOLERANCE_MS = 5 * 60_000
const SIGNATURE = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/

const readWebhookBody = jsonReader(WebhookBody)

export function parseSignedWebhook(
  secret: string,
  now: Date,
  headers: Record<string, string>,
  rawBody: Buffer,
): ParsedWebhook {
  const match = SIGNATURE.exec(headers[SIGNATURE_HEADER] ?? '')
  if (!match) return { kind: 'forged' }
  const unixSeconds = Number(match[1])
  const given = Buffer.from(match[2] ?? '', 'hex')
  if (!constantTimeEquals(given, signatureOf(secret, unixSeconds, rawBody))) return { kind: 'forged' }
  if (Math.abs(now.getTime() - unixSeconds * 1_000) > TOLERANCE_MS) return { kind: 'forged' }
  const webhook = readWebhookBody(rawBody.toString())
  if (!webhook) return { kind: 'ignored', reason: 'not a webhook that we know' }
  const about = { kind: 'payment', key: webhook.key, eventId: webhook.id } as const
  return webhook.type.endsWith(`.${DISPUTED}`) ? { ...about, isDispute: true } : about
}
