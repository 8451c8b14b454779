// Signs our requests, for accounts that take only signed ones: an HTTP message signature (RFC 9421) over the request line,
// some headers and a digest of the body, with a key whose public part is in pawaPay's dashboard.

import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { isP256, signatureBase } from './signature.ts'

export interface RequestSigner {
  key: KeyObject
  /** The id under which pawaPay's dashboard keeps the public key. */
  keyId: string
}

/** Null if the account has no signing key: then requests are sent unsigned. */
export function createSigner(
  signingKey: string | undefined,
  keyId: string | undefined,
): RequestSigner | null {
  const key = readPrivateKey(signingKey ?? '')
  return key && keyId !== undefined ? { key, keyId } : null
}

const PEM = /-----BEGIN (?:EC )?PRIVATE KEY-----[^-]+-----END (?:EC )?PRIVATE KEY-----/

/** Undefined unless it is a private key of the curve that pawaPay requires. */
export function readPrivateKey(text: string): KeyObject | undefined {
  // Environment variables often contain line breaks as \n.
  const pem = PEM.exec(text.replaceAll('\\n', '\n'))?.[0]
  if (pem === undefined) return undefined
  try {
    const key = createPrivateKey(pem)
    return isP256(key) ? key : undefined
  } catch {
    // The caller describes the expected format.
    return undefined
  }
}

// The components of pawaPay's own example.
const COMPONENTS = [
  '@method',
  '@authority',
  '@path',
  'signature-date',
  'content-digest',
  'content-type',
  'content-length',
]

// Longer than the timeout of a call.
const LIFETIME_SECONDS = 60

export interface UnsignedRequest {
  url: string
  contentType: string
  body: string
}

/** The headers that sign a POST request. */
export function signatureHeaders(
  { key, keyId }: RequestSigner,
  request: UnsignedRequest,
  now: Date,
): Record<string, string> {
  const { host: authority, pathname: path } = new URL(request.url)
  const body = Buffer.from(request.body)
  const headers = {
    'signature-date': now.toISOString(),
    'content-digest': `sha-512=:${createHash('sha512').update(body).digest('base64')}:`,
    'content-length': String(body.length),
  }
  const covered = { ...headers, 'content-type': request.contentType }
  const text = toParameters(keyId, now)
  const signed = { method: 'POST', authority, path, headers: covered, body }
  const base = signatureBase({ components: COMPONENTS, text }, signed)
  if (base === undefined) throw new Error('a signed header is missing')
  // DER, as pawaPay signs too, although the RFC asks for r and s concatenated.
  const signature = sign('sha256', base, { key, dsaEncoding: 'der' }).toString('base64')
  return { ...headers, 'signature-input': `sig-pp=${text}`, signature: `sig-pp=:${signature}:` }
}

function toParameters(keyId: string, now: Date): string {
  const created = Math.floor(now.getTime() / 1_000)
  const list = COMPONENTS.map((name) => `"${name}"`).join(' ')
  const times = `created=${created};expires=${created + LIFETIME_SECONDS}`
  return `(${list});alg="ecdsa-p256-sha256";keyid="${keyId}";${times}`
}
