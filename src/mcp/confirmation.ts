// Confirmation tokens: a write is prepared by a first call and executed by a second one, which brings the token of the
// first. The token is a MAC over the key, the tool and the exact arguments, so it executes nothing else, and no other key
// can use it. Nothing is stored: the idempotency key of the write is derived from the token, so a repeat does not write
// twice.

import { canonicalJson } from '../core/canonical.ts'
import type { Clock } from '../kit/clock.ts'
import { constantTimeEquals, hmacSha256 } from '../kit/crypto.ts'
import type { Random } from '../kit/random.ts'
import { ToolError } from './api.ts'

/** What a token is bound to. */
export interface Subject {
  merchantId: string
  keyId: string
  tool: string
  /** Without the token. */
  arguments: Readonly<Record<string, unknown>>
}

export interface Confirmations {
  issue(subject: Subject): { token: string; expiresAt: Date }
  /** Returns the idempotency key of the write; throws if the token is not one of this subject. */
  redeem(subject: Subject, token: string): Redeemed
}

interface Redeemed {
  idempotencyKey: string
  /** It may no longer write. What it has written before can still be read under its key. */
  isExpired: boolean
}

/** Long enough for a person to read the summary, and too short to be found later and used. */
export const CONFIRMATION_MINUTES = 10

const NONCE_BYTES = 9
// 128 bits cannot be guessed, and keep the token short enough for a model to repeat without an error.
const MAC_BYTES = 16
const TOKEN = /^(?<expiry>[0-9a-z]{6,10})\.(?<nonce>[\w-]{12})\.(?<mac>[\w-]{22})$/

export function createConfirmations(key: Uint8Array, clock: Clock, random: Random): Confirmations {
  const macOf = (subject: Subject, expiry: string, nonce: string) => {
    const { merchantId, keyId, tool } = subject
    const message = canonicalJson([merchantId, keyId, tool, subject.arguments, expiry, nonce])
    return hmacSha256(key, message).subarray(0, MAC_BYTES)
  }
  return {
    issue(subject) {
      const seconds = Math.floor(clock.now().getTime() / 1_000) + CONFIRMATION_MINUTES * 60
      const expiry = seconds.toString(36)
      const nonce = Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url')
      const mac = macOf(subject, expiry, nonce).toString('base64url')
      return { token: `${expiry}.${nonce}.${mac}`, expiresAt: new Date(seconds * 1_000) }
    },
    redeem(subject, token) {
      const { expiry = '', nonce = '', mac = '' } = TOKEN.exec(token)?.groups ?? {}
      // As text: the last character has unused bits, and a token has one form only.
      const expected = macOf(subject, expiry, nonce).toString('base64url')
      if (!constantTimeEquals(Buffer.from(mac), Buffer.from(expected)))
        throw new ToolError('confirmation_mismatch', MISMATCH)
      const isExpired = Number.parseInt(expiry, 36) * 1_000 <= clock.now().getTime()
      return { idempotencyKey: `mcp-${nonce}-${expiry}`, isExpired }
    },
  }
}

const MISMATCH =
  'This call changed nothing: the confirmation token does not belong to these arguments, this tool or this API key. Send exactly the arguments of confirmWith, or call the tool without confirmationToken to get a new summary and token.'
