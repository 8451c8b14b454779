// Paystack's webhooks. They are signed with the secret key over the raw body, without a timestamp, so an old one stays
// valid. Its event id stays the same, so while the first one is kept a replay does not poll the payment again.

import { createHash, createHmac } from 'node:crypto'
import { Type } from 'typebox'
import { constantTimeEquals } from '../../kit/crypto.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { ParsedWebhook } from '../gateway.ts'
import { Maybe } from '../reply.ts'
import { Digits, Text } from './json.ts'

const SIGNATURE_HEADER = 'x-paystack-signature'
// Lower case only, as Paystack writes it: upper case would be a second form of the same signature.
const SIGNATURE = /^[0-9a-f]{128}$/

export function parseSignedWebhook(
  secretKey: string,
  headers: Record<string, string>,
  rawBody: Buffer,
): ParsedWebhook {
  const signature = headers[SIGNATURE_HEADER] ?? ''
  if (!SIGNATURE.test(signature)) return { kind: 'forged' }
  const expected = createHmac('sha512', secretKey).update(rawBody).digest()
  if (!constantTimeEquals(Buffer.from(signature, 'hex'), expected)) return { kind: 'forged' }
  return parseBody(rawBody)
}

const readEvent = schemaReader(Type.Object({ event: Text(), data: Type.Unknown() }))

const Reference = Type.String({ minLength: 1, maxLength: 255 })
const readCharge = schemaReader(Type.Object({ id: Maybe(Digits), reference: Reference }))
const readDispute = schemaReader(
  Type.Object({
    id: Maybe(Digits),
    status: Maybe(Text()),
    transaction: Type.Object({ reference: Reference }),
  }),
)
const readRefund = schemaReader(Type.Object({ transaction_reference: Reference }))

function parseBody(rawBody: Buffer): ParsedWebhook {
  const webhook = readEvent(parseExactJson(rawBody.toString()))
  if (!webhook) return { kind: 'ignored', reason: 'not an event that we know' }
  const subject = findSubject(webhook.event, webhook.data)
  if (!subject) return { kind: 'ignored', reason: 'not about a payment' }
  // Events have no id. Most subjects have one; otherwise the hash of the body is the id.
  const identity = subject.id ?? createHash('sha256').update(rawBody).digest('hex')
  const about = { kind: 'payment', key: subject.key, eventId: `${webhook.event}:${identity}` } as const
  if (webhook.event.startsWith(REFUNDS)) return { ...about, isRefund: true }
  return webhook.event.startsWith(DISPUTES) ? { ...about, isDispute: true } : about
}

const DISPUTES = 'charge.dispute.'
const REFUNDS = 'refund.'

interface WebhookSubject {
  key: string
  id: string | null
}

function findSubject(event: string, data: unknown): WebhookSubject | undefined {
  if (event.startsWith(DISPUTES)) {
    const dispute = readDispute(data)
    if (!dispute) return undefined
    const { id, status, transaction } = dispute
    // A dispute is reported again in each state.
    return { key: transaction.reference, id: id == null ? null : [id, status].filter(Boolean).join(':') }
  }
  if (event.startsWith('charge.')) {
    const charge = readCharge(data)
    return charge && { key: charge.reference, id: charge.id ?? null }
  }
  if (event.startsWith(REFUNDS)) {
    const refund = readRefund(data)
    return refund && { key: refund.transaction_reference, id: null }
  }
  // Transfers, subscriptions, invoices: not started by this service.
  return undefined
}
