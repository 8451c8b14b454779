// Verifies Chapa's webhooks. The header x-chapa-signature signs the body. The header chapa-signature is ignored, although
// the documentation calls it sufficient: it is the same for every webhook, so it proves nothing about the body.

import { Type } from 'typebox'
import { isUuid } from '../../core/ids.ts'
import { constantTimeEquals, hmacSha256 } from '../../kit/crypto.ts'
import { jsonReader, parseJson } from '../../kit/exact-json.ts'
import type { ParsedWebhook } from '../gateway.ts'
import { Maybe } from '../reply.ts'

const SIGNATURE_HEADER = 'x-chapa-signature'

const Name = Maybe(Type.String({ maxLength: 255 }))
const readEvent = jsonReader(
  Type.Object({ event: Type.String({ maxLength: 100 }), tx_ref: Name, trx_ref: Name, updated_at: Name }),
)

/** Charges, and refunds under both of their names. Payouts are not ours. */
const EVENTS = /^(?:charge|refund)\./
const REFUNDS = /^(?:charge\.refunded$|refund\.)/

export function readSignedEvent(
  secrets: readonly string[],
  headers: Record<string, string>,
  rawBody: Buffer,
): ParsedWebhook {
  if (!isSigned(secrets, headers[SIGNATURE_HEADER] ?? '', rawBody)) return { kind: 'forged' }
  const body = readEvent(rawBody)
  if (!body) return { kind: 'ignored', reason: 'not a webhook that we know' }
  const { event, updated_at: updatedAt } = body
  const key = body.tx_ref ?? body.trx_ref
  if (!EVENTS.test(event)) return { kind: 'ignored', reason: 'an event that concerns no payment' }
  if (!key || !isUuid(key)) return { kind: 'ignored', reason: 'a payment that is not ours' }
  // A webhook has no id, and a repeated one is identical.
  const eventId = `${event}:${key}:${updatedAt ?? ''}`
  return {
    ...{ kind: 'payment', key, eventId },
    ...(event === 'charge.reversed' && { isDispute: true }),
    ...(REFUNDS.test(event) && { isRefund: true }),
  }
}

/**
 * The documentation says both that the secret hash of the dashboard signs, and the secret key; and its example signs the
 * body after parsing it. None of these can be made without one of the secrets.
 */
function isSigned(secrets: readonly string[], header: string, rawBody: Buffer): boolean {
  if (!/^[0-9a-f]{64}$/i.test(header)) return false
  const given = Buffer.from(header, 'hex')
  const parsed = parseJson(rawBody.toString())
  const forms = [rawBody, ...(parsed === undefined ? [] : [JSON.stringify(parsed)])]
  return secrets.some((secret) => forms.some((body) => constantTimeEquals(given, hmacSha256(secret, body))))
}
