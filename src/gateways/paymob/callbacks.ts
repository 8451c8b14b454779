// Callbacks. Paymob signs some fields of them, not the whole body, and our key is not one of these fields. So a callback
// counts only at the secret path of its attempt, and with a valid signature.

import { createHash, createHmac } from 'node:crypto'
import { Type } from 'typebox'
import { constantTimeEquals } from '../../kit/crypto.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { ParsedWebhook, WebhookRequest } from '../gateway.ts'
import type { Card, CardReports } from './saved-card.ts'

/** The signed fields of a transaction, in this order. */
const TRANSACTION_FIELDS = [
  ...['amount_cents', 'created_at', 'currency', 'error_occured', 'has_parent_transaction', 'id'],
  ...['integration_id', 'is_3d_secure', 'is_auth', 'is_capture', 'is_refunded', 'is_standalone_payment'],
  ...['is_voided', 'order.id', 'owner', 'pending', 'source_data.pan', 'source_data.sub_type'],
  ...['source_data.type', 'success'],
]

/** Those of a saved card. */
const TOKEN_FIELDS = [
  ...['card_subtype', 'created_at', 'email', 'id', 'masked_pan', 'merchant_id', 'order_id', 'token'],
]

const readEnvelope = schemaReader(
  Type.Object({ type: Type.String({ maxLength: 100 }), obj: Type.Record(Type.String(), Type.Unknown()) }),
)

const readToken = schemaReader(
  Type.Object({
    token: Type.String({ minLength: 1, maxLength: 500 }),
    masked_pan: Type.String({ pattern: '[0-9]{4}$', maxLength: 50 }),
    card_subtype: Type.String({ minLength: 1, maxLength: 50 }),
    order_id: Type.String({ pattern: '^[1-9][0-9]{0,17}$' }),
  }),
)

interface Keys {
  hmacSecret: string | undefined
  cards: CardReports
}

export function readCallback(request: WebhookRequest, { hmacSecret, cards }: Keys): ParsedWebhook {
  const { callback, rawBody, query } = request
  const envelope = readEnvelope(parseExactJson(rawBody.toString()))
  // With an empty secret anyone could sign.
  if (callback?.kind !== 'attempt' || !hmacSecret || !envelope) return { kind: 'forged' }
  const { type, obj } = envelope
  const isToken = type === 'TOKEN'
  const signed = joinFields(obj, isToken ? TOKEN_FIELDS : TRANSACTION_FIELDS)
  if (!isSigned(hmacSecret, signed, query.hmac ?? '')) return { kind: 'forged' }
  const payment = {
    kind: 'payment',
    key: callback.key,
    eventId: createHash('sha256').update(rawBody).digest('hex'),
  } as const
  if (type === 'TRANSACTION')
    return { ...payment, ...(isVoid(obj) && { isDispute: true }), ...(isRefund(obj) && { isRefund: true }) }
  const card = isToken ? readSavedCard(obj) : undefined
  if (!card) return { kind: 'ignored', reason: 'not a callback that we know' }
  return { ...payment, report: cards.write(card), isFinalReport: true }
}

/** Missing fields and null are signed as nothing, numbers with the digits that were sent. */
function joinFields(obj: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  return names.map((name) => toText(valueAt(obj, name.split('.')))).join('')
}

function valueAt(value: unknown, names: readonly string[]): unknown {
  const [name, ...rest] = names
  if (name === undefined) return value
  const isObject = value !== null && typeof value === 'object'
  return isObject ? valueAt(new Map(Object.entries(value)).get(name), rest) : undefined
}

function toText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : ''
}

function isSigned(secret: string, text: string, given: string): boolean {
  if (!/^[0-9a-fA-F]{128}$/.test(given)) return false
  return constantTimeEquals(Buffer.from(given, 'hex'), createHmac('sha512', secret).update(text).digest())
}

/** A void takes the money of a paid attempt back. */
function isVoid(obj: Readonly<Record<string, unknown>>): boolean {
  return obj.is_void === true || obj.is_voided === true
}

/** About a refund, or about a payment of which something was returned. */
function isRefund(obj: Readonly<Record<string, unknown>>): boolean {
  return obj.is_refund === true || obj.is_refunded === true
}

function readSavedCard(obj: unknown): Card | undefined {
  const read = readToken(obj)
  if (!read) return undefined
  const { token, masked_pan: pan, card_subtype: brand, order_id: order } = read
  return { token, order, last4: pan.slice(-4), brand }
}
