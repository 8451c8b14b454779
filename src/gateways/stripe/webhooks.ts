// Verifies Stripe's signed events. An event only names the attempt to check: every object that we create carries the
// attempt's key, and a dispute names its payment.

import { Type } from 'typebox'
import { constantTimeEquals, hmacSha256 } from '../../kit/crypto.ts'
import { parseJson, schemaReader } from '../../kit/exact-json.ts'
import type { ParsedWebhook } from '../gateway.ts'
import { Maybe } from '../reply.ts'
import { KEY_FIELD, REFUND_KEY_FIELD } from './forms.ts'
import { Identity, idOf, Metadata, Text } from './shapes.ts'

const SIGNATURE_HEADER = 'stripe-signature'
// The tolerance of Stripe's own libraries.
const TOLERANCE_MS = 300_000

/** The event types that concern a payment. A webhook endpoint may subscribe to others too. */
const EVENTS: ReadonlySet<string> = new Set([
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'payment_intent.processing',
  'payment_intent.requires_action',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.refunded',
  'charge.refund.updated',
  'charge.dispute.created',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
])

const DISPUTES = 'charge.dispute.'
const REFUNDS = /^(?:refund\.|charge\.refund)/

/** Status checks ask about a session or a PaymentIntent, so only these are worth a question. */
function hintOf(type: string, id: string | null | undefined): { referenceHint?: string } {
  return id && /^(?:checkout\.session|payment_intent)\./.test(type) ? { referenceHint: id } : {}
}

// Events use the account's API version, not that of our requests, so we rely on these fields only.
const readEvent = schemaReader(
  Type.Object({
    id: Identity,
    type: Text(100),
    data: Type.Object({
      object: Type.Object({
        id: Maybe(Identity),
        metadata: Maybe(Metadata),
        client_reference_id: Maybe(Text(255)),
        payment_intent: Type.Optional(Type.Unknown()),
        charge: Type.Optional(Type.Unknown()),
      }),
    }),
  }),
)

export function readSignedEvent(
  secret: string | undefined,
  now: Date,
  headers: Record<string, string>,
  rawBody: Buffer,
): ParsedWebhook {
  const signature = parseSignature(headers[SIGNATURE_HEADER] ?? '')
  // Without a secret no event can be verified; an empty key would verify anyone's signature.
  if (!secret || !signature || !isSigned(secret, signature, rawBody)) return { kind: 'forged' }
  if (Math.abs(now.getTime() - Number(signature.timestamp) * 1_000) > TOLERANCE_MS) return { kind: 'forged' }
  const event = readEvent(parseJson(rawBody.toString()))
  if (!event) return { kind: 'ignored', reason: 'not an event as we know them' }
  if (!EVENTS.has(event.type)) return { kind: 'ignored', reason: 'an event that concerns no payment' }
  const { metadata, client_reference_id: reference, payment_intent: intent, charge } = event.data.object
  const { id: eventId, type } = event
  const gatewayPaymentId = idOf(intent) ?? idOf(charge)
  // A dispute object does not carry our key; it names the payment, which does.
  if (type.startsWith(DISPUTES) && gatewayPaymentId !== null)
    return { kind: 'dispute', gatewayPaymentId, eventId }
  const key = metadata?.[KEY_FIELD] ?? reference
  const isRefund = REFUNDS.test(type) && metadata?.[REFUND_KEY_FIELD] === undefined
  // A refund that was made in the dashboard carries no key of ours either.
  if (isRefund && typeof key !== 'string' && gatewayPaymentId !== null)
    return { kind: 'refund', gatewayPaymentId, eventId }
  if (typeof key !== 'string' || key === '')
    return { kind: 'ignored', reason: 'an event without a key of ours' }
  return {
    kind: 'payment',
    key,
    eventId,
    ...(isRefund && { isRefund }),
    ...hintOf(type, event.data.object.id),
  }
}

interface Signature {
  /** As in the header: the signature covers its text. */
  timestamp: string
  /** Several during a secret rotation. */
  candidates: Buffer[]
}

/** `t=<unix seconds>,v1=<hex>`, with more v1 and other schemes. Only this exact form is accepted. */
function parseSignature(header: string): Signature | undefined {
  const parts = header.split(',')
  const [timestamp, ...more] = parts.filter((part) => part.startsWith('t=')).map((part) => part.slice(2))
  if (!timestamp || more.length > 0 || !/^\d{1,12}$/.test(timestamp)) return undefined
  const candidates = parts
    .filter((part) => /^v1=[0-9a-f]{64}$/.test(part))
    .map((part) => Buffer.from(part.slice(3), 'hex'))
  return { timestamp, candidates }
}

function isSigned(secret: string, { timestamp, candidates }: Signature, rawBody: Buffer): boolean {
  const expected = hmacSha256(secret, Buffer.concat([Buffer.from(`${timestamp}.`), rawBody]))
  return candidates.some((candidate) => constantTimeEquals(candidate, expected))
}
