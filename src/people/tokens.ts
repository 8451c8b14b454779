// Secrets that the holder presents: links, sessions, devices and challenges. Only their hashes are stored.

import { createHash } from 'node:crypto'
import { addMs, type Clock } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import { insertLink, type LinkPurpose } from './user-queries.ts'

const TOKEN_BYTES = 32
const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** 256 random bits. */
export function newToken(random: Random): string {
  return Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url')
}

/** SHA-256 is enough, because a token of 256 random bits cannot be guessed. A text that is no token has no hash. */
export function hashToken(token: string | undefined): Buffer | undefined {
  if (token === undefined || !TOKEN.test(token)) return undefined
  return createHash('sha256').update(token).digest()
}

/** The hash of a token that we have just made. */
export function hashOfNew(token: string): Buffer {
  const hash = hashToken(token)
  if (!hash) throw new Error('a new token has 43 characters')
  return hash
}

/** The token of a link that the person uses once. */
export async function createLink(
  { random, clock }: { random: Random; clock: Clock },
  tx: Tx,
  purpose: LinkPurpose,
  userId: string,
  lifetimeMs: number,
): Promise<string> {
  const [token, now] = [newToken(random), clock.now()]
  const expiresAt = addMs(now, lifetimeMs)
  await insertLink(tx, { tokenHash: hashOfNew(token), purpose, userId, createdAt: now, expiresAt })
  return token
}
