// Verifies webhooks as in Standard Webhooks: an HMAC-SHA-256 over id, timestamp and body.

import { CowrySignatureError } from './errors.ts'
import type { Event } from './generated/schemas.ts'

/** Of a Fetch request, of Node's IncomingMessage, or of a framework. Names in any case. */
export type WebhookHeaders =
  | Pick<Headers, 'get'>
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface UnwrapOptions {
  /** How far the timestamp may be off; 300 if absent. */
  toleranceSeconds?: number | undefined
  /** Instead of the current time, for tests. */
  now?: Date | undefined
}

const TOLERANCE_SECONDS = 300
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' }
const encoder = new TextEncoder()

/**
 * The event of a webhook, or a CowrySignatureError. The body must be the bytes or the text as they arrived: a body that was
 * parsed and serialized again has another signature. Several secrets are for the time in which you change yours.
 */
export async function unwrap(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: UnwrapOptions = {},
): Promise<Event> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    readHeader(headers, name),
  )
  if (!id || !timestamp || !signatures) throw new CowrySignatureError('A webhook- header is missing.')
  requireRecent(timestamp, options)
  const body = typeof rawBody === 'string' ? encoder.encode(rawBody) : new Uint8Array(rawBody)
  const signed = toSignedContent(id, timestamp, body)
  for (const one of [secret].flat()) {
    if (await isSigned(signed, signatures, one)) return JSON.parse(new TextDecoder().decode(body))
  }
  throw new CowrySignatureError('No signature matches. Check the secret, and pass the body as it arrived.')
}

function readHeader(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof found === 'object' ? found[0] : found
}

function requireRecent(
  timestamp: string,
  { toleranceSeconds = TOLERANCE_SECONDS, now }: UnwrapOptions,
): void {
  const offSeconds = Math.abs((now?.getTime() ?? Date.now()) / 1000 - Number(timestamp))
  // A timestamp that is no number is not within the tolerance either.
  if (!(offSeconds <= toleranceSeconds))
    throw new CowrySignatureError('The timestamp is too far off: a replayed webhook, or a wrong clock.')
}

function toSignedContent(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const prefix = encoder.encode(`${id}.${timestamp}.`)
  const content = new Uint8Array(prefix.length + body.length)
  content.set(prefix)
  content.set(body, prefix.length)
  return content
}

async function importSecret(secret: string) {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''))
  if (!bytes?.length) throw new TypeError('The webhook secret must be whsec_ and base64.')
  return crypto.subtle.importKey('raw', bytes, ALGORITHM, false, ['sign', 'verify'])
}

/** The value of the webhook-signature header. */
export async function sign(secret: string, id: string, timestamp: string, body: string): Promise<string> {
  const content = toSignedContent(id, timestamp, encoder.encode(body))
  const signature = await crypto.subtle.sign('HMAC', await importSecret(secret), content)
  return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`
}

/** Whether one of the v1 signatures in the header is of this secret. The runtime compares in constant time. */
async function isSigned(content: Uint8Array<ArrayBuffer>, header: string, secret: string): Promise<boolean> {
  const key = await importSecret(secret)
  for (const one of header.split(' ')) {
    const signature = one.startsWith('v1,') && fromBase64(one.slice(3))
    if (signature && (await crypto.subtle.verify('HMAC', key, signature, content))) return true
  }
  return false
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
