// Verifies Wave's signed webhooks. A webhook about a session has our key as its client reference; it only says which
// payment to ask about.

import { Type } from 'typebox'
import { isUuid } from '../../core/ids.ts'
import { constantTimeEquals, hmacSha256 } from '../../kit/crypto.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { ParsedWebhook } from '../gateway.ts'
import { Maybe } from '../reply.ts'

const SIGNATURE_HEADER = 'wave-signature'
const SESSION_EVENTS = 'checkout.session.'

const readEvent = jsonReader(
  Type.Object({
    id: Type.String({ minLength: 1, maxLength: 255 }),
    type: Type.String({ maxLength: 100 }),
    data: Type.Object({
      id: Maybe(Type.String({ maxLength: 255 })),
      client_reference: Maybe(Type.String({ maxLength: 255 })),
    }),
  }),
)

export function readSignedEvent(
  secret: string | undefined,
  headers: Record<string, string>,
  rawBody: Buffer,
): ParsedWebhook {
  // With an empty secret anyone could sign.
  if (!secret || !isSigned(secret, headers[SIGNATURE_HEADER] ?? '', rawBody)) return { kind: 'forged' }
  const event = readEvent(rawBody)
  if (!event) return { kind: 'ignored', reason: 'not a webhook that we know' }
  const { id: eventId, type, data } = event
  if (!type.startsWith(SESSION_EVENTS)) return { kind: 'ignored', reason: 'not about a checkout session' }
  const { client_reference: key, id } = data
  if (!key || !isUuid(key)) return { kind: 'ignored', reason: 'a session that is not ours' }
  return { kind: 'payment', key, eventId, ...(id && { referenceHint: id }) }
}

const SIGNATURE = /^t=(\d{1,12})((?:,v1=[0-9a-fA-F]{64})+)$/

/**
 * `t=<seconds>,v1=<hex>[,v1=<hex>]`: while a secret is being changed there are two. The time has no limit: Wave does not say
 * whether a repeated webhook is signed anew, and a replayed one only causes a status check.
 */
function isSigned(secret: string, header: string, rawBody: Buffer): boolean {
  const [, seconds = '', signatures = ''] = SIGNATURE.exec(header.replaceAll(' ', '')) ?? []
  if (seconds === '') return false
  // The time and the body have nothing between them.
  const expected = hmacSha256(secret, Buffer.concat([Buffer.from(seconds), rawBody]))
  const given = [...signatures.matchAll(/v1=([^,]+)/g)].map(([, hex = '']) => Buffer.from(hex, 'hex'))
  return given.some((signature) => constantTimeEquals(signature, expected))
}
