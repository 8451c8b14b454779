// Verifies callback signatures: HTTP message signatures (RFC 9421) over the request line, some headers and a digest of
// the body. pawaPay deviates from the RFC in one point: its ECDSA signatures are DER and not r and s concatenated. Both
// are accepted.

import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { constantTimeEquals } from '../../kit/crypto.ts'

export interface SignedRequest {
  method: string
  /** The host that pawaPay called; behind a proxy it differs from the host we listen on. */
  authority: string
  path: string
  headers: Record<string, string>
  body: Buffer
}

const PEM = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g

/** The keys in a text: one, or the old and the new one during a key rotation. Empty if any of them is invalid. */
export function readPublicKeys(text: string): KeyObject[] {
  // Environment variables often contain line breaks as \n.
  const blocks = text.replaceAll('\\n', '\n').match(PEM) ?? []
  try {
    const keys = blocks.map((pem) => createPublicKey(pem))
    return keys.every(isP256) ? keys : []
  } catch {
    // The caller describes the expected format.
    return []
  }
}

export function isP256(key: KeyObject): boolean {
  return key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
}

// pawaPay's own limit is one minute. We allow as much as common providers, because clocks differ; a replay within it
// polls at most refunds.
const TOLERANCE_MS = 5 * 60_000

// Without these components a signature would also match another body, or a request to another merchant: pawaPay has one
// key for all.
const REQUIRED_COMPONENTS = ['@method', '@authority', '@path', 'content-digest']

export function isSignedBy(keys: readonly KeyObject[], request: SignedRequest, now: Date): boolean {
  const input = readInput(request.headers['signature-input'])
  const signature = readSignature(request.headers.signature)
  if (!input || !signature) return false
  if (!REQUIRED_COMPONENTS.every((name) => input.components.includes(name))) return false
  if (Math.abs(now.getTime() - input.createdMs) > TOLERANCE_MS) return false
  const base = signatureBase(input, request)
  if (base === undefined || !isDigestOf(request.headers['content-digest'], request.body)) return false
  return keys.some((key) => isSignature(key, base, signature))
}

interface SignatureInput {
  components: readonly string[]
  createdMs: number
  /** The exact text after the label: it is part of the signed content. */
  text: string
}

const INPUT = /^sig-pp=(\("[a-z@-]+"(?: "[a-z@-]+")*\)(?:;[a-z]+=(?:"[^"]*"|\d+))+)$/

function readInput(header: string | undefined): SignatureInput | undefined {
  const text = INPUT.exec(header ?? '')?.[1]
  const created = /;created=(\d{1,12})(?:;|$)/.exec(text ?? '')?.[1]
  if (text === undefined || created === undefined) return undefined
  if (!text.includes(';alg="ecdsa-p256-sha256"')) return undefined
  const list = text.slice(0, text.indexOf(')'))
  const components = [...list.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name)
  return { components, createdMs: Number(created) * 1_000, text }
}

/** The signed bytes; undefined if the request lacks a component. */
export function signatureBase(
  { components, text }: Pick<SignatureInput, 'components' | 'text'>,
  request: SignedRequest,
): Buffer | undefined {
  const lines = components.map((name) => {
    const value = componentOf(name, request)
    return value === undefined ? undefined : `"${name}": ${value}`
  })
  if (lines.includes(undefined)) return undefined
  return Buffer.from([...lines, `"@signature-params": ${text}`].join('\n'))
}

function componentOf(name: string, { method, authority, path, headers }: SignedRequest): string | undefined {
  switch (name) {
    case '@method':
      return method
    case '@authority':
      return authority
    case '@path':
      return path
    default:
      // Any other @ component is a part of the request that we do not support.
      return name.startsWith('@') ? undefined : headers[name]?.trim()
  }
}

function isDigestOf(header: string | undefined, body: Buffer): boolean {
  const match = /^(sha-256|sha-512)=:([^:]+):$/.exec(header?.trim() ?? '')
  const given = fromBase64(match?.[2])
  if (!match || !given) return false
  return constantTimeEquals(
    given,
    createHash(match[1] === 'sha-256' ? 'sha256' : 'sha512')
      .update(body)
      .digest(),
  )
}

function readSignature(header: string | undefined): Buffer | undefined {
  return fromBase64(/^sig-pp=:([^:]+):$/.exec(header ?? '')?.[1])
}

/** Strict: rejects text that decodes but is not the canonical base64 of its bytes. */
function fromBase64(text: string | undefined): Buffer | undefined {
  if (text === undefined) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

function isSignature(key: KeyObject, base: Buffer, signature: Buffer): boolean {
  const encodings = ['der', 'ieee-p1363'] as const
  return encodings.some((dsaEncoding) => verify('sha256', base, { key, dsaEncoding }, signature))
}
