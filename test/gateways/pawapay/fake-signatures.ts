// How the fake pawaPay checks the signature of our requests: RFC 9421, written independently of the connector.

import { createHash, type KeyObject, verify } from 'node:crypto'
import type { FakeRequest } from '../fake-server.ts'

export const SIGNING_KEY_ID = 'COWRY_KEY:1'

const REQUIRED = ['@method', '@authority', '@path', 'content-digest']
const TOLERANCE_SECONDS = 60

/** Whether the request has a signature by this key over its line, its body and its headers. */
export function isSignedRequest({ method, path, headers, text }: FakeRequest, key: KeyObject): boolean {
  const input = /^sig-pp=(.+)$/.exec(headers['signature-input'] ?? '')?.[1] ?? ''
  const signature = /^sig-pp=:([A-Za-z0-9+/=]+):$/.exec(headers.signature ?? '')?.[1] ?? ''
  const names = [...(/^\(([^)]*)\)/.exec(input)?.[1] ?? '').matchAll(/"([^"]+)"/g)].map(([, name]) =>
    String(name),
  )
  const derived: Record<string, string | undefined> = {
    '@method': method,
    '@authority': headers.host,
    '@path': path,
  }
  const lines = names.map((name) => `"${name}": ${derived[name] ?? headers[name]}`)
  const base = Buffer.from([...lines, `"@signature-params": ${input}`].join('\n'))
  return (
    REQUIRED.every((name) => names.includes(name)) &&
    input.includes(`;keyid="${SIGNING_KEY_ID}"`) &&
    input.includes(';alg="ecdsa-p256-sha256"') &&
    isCurrent(input) &&
    headers['content-digest'] === `sha-512=:${createHash('sha512').update(text).digest('base64')}:` &&
    verify('sha256', base, { key, dsaEncoding: 'der' }, Buffer.from(signature, 'base64'))
  )
}

function isCurrent(input: string): boolean {
  const created = Number(/;created=(\d+)/.exec(input)?.[1])
  const expires = Number(/;expires=(\d+)/.exec(input)?.[1])
  const now = Date.now() / 1_000
  return Math.abs(now - created) < TOLERANCE_SECONDS && now < expires
}
