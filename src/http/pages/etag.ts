// Entity tags: a client that has the current body already gets 304 and no body.

import { createHash } from 'node:crypto'

/** Weak, because the compressed and the plain response share it. */
export function etagOf(body: string | Buffer): string {
  return `W/"${digestOf(body)}"`
}

/** `*` matches every body that there is. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch.trim() === '*' || ifNoneMatch.includes(etag))
}

const digests = new WeakMap<Buffer, string>()

/** Computed once per buffer, so a page that is kept as a buffer is not hashed at each request. Bodies do not change. */
export function digestOf(body: string | Buffer): string {
  if (typeof body === 'string') return createHash('sha256').update(body).digest('base64url')
  const digest = digests.get(body) ?? createHash('sha256').update(body).digest('base64url')
  digests.set(body, digest)
  return digest
}
