// Texts that are stored by the service, but readable only with the credentials of the account: the token of a card in the
// report of a callback, and the secret of an intention in the reference of a charge.

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { deriveSecret, hmacSha256 } from '../../kit/crypto.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface Sealer {
  /** The same text gives the same result. */
  seal(text: string): string
  /** Undefined if it was not sealed for this purpose with this secret key. */
  unseal(sealed: string): string | undefined
}

export function openSealer(secretKey: string, purpose: string): Sealer {
  const key = deriveSecret(secretKey, purpose)
  const nonceKey = deriveSecret(secretKey, `${purpose} nonce`)
  return {
    seal(text) {
      // From the text itself: a nonce is used again only for the same text.
      const nonce = hmacSha256(nonceKey, text).subarray(0, NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce)
      const parts = [nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat(parts).toString('base64url')
    },
    unseal(text) {
      const sealed = Buffer.from(text, 'base64url')
      if (sealed.length <= NONCE_BYTES + TAG_BYTES) return undefined
      const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      const parts = [decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))]
      try {
        return Buffer.concat([...parts, decipher.final()]).toString()
      } catch {
        // Of another account, or written with an earlier secret key.
        return undefined
      }
    },
  }
}
