// Saved cards. Paymob reports the token of a card only in a callback. Reports of callbacks are stored as they are, so the token
// travels in one encrypted, with a key that follows from the account's secret key: it is readable only with the credentials.

import { createCipheriv, createDecipheriv, createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { Currency } from '../../core/currency.ts'
import { deriveSecret, hmacSha256 } from '../../kit/crypto.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { SavedMethod } from '../gateway.ts'
import { Digits } from './intentions.ts'

const Card = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 500 }),
  order: Digits,
  last4: Type.String({ pattern: '^[0-9]{4}$' }),
  brand: Type.String({ minLength: 1, maxLength: 50 }),
})
export interface Card {
  token: string
  /** The order that the card paid. */
  order: string
  last4: string
  brand: string
}

const readCard = jsonReader(Card)
const readReport = jsonReader(Type.Object({ card: Type.String({ maxLength: 4_000 }) }))

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface CardReports {
  /** The report of a callback. The same card gives the same report, so that a repeated callback changes nothing. */
  write(card: Card): string
  /** Undefined if it has no card of this account. */
  read(report: string): Card | undefined
}

export function openCardReports(secretKey: string): CardReports {
  const key = deriveSecret(secretKey, 'paymob card report')
  const nonceKey = deriveSecret(secretKey, 'paymob card report nonce')
  return {
    write(card) {
      const text = JSON.stringify(card)
      // From the text itself: a nonce is used again only for the same text.
      const nonce = hmacSha256(nonceKey, text).subarray(0, NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce)
      const sealed = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
      return JSON.stringify({ card: sealed.toString('base64url') })
    },
    read(report) {
      const sealed = Buffer.from(readReport(report)?.card ?? '', 'base64url')
      if (sealed.length <= NONCE_BYTES + TAG_BYTES) return undefined
      const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      const parts = [decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))]
      try {
        return readCard(Buffer.concat([...parts, decipher.final()]))
      } catch {
        // Written with another secret key: the card is not saved.
        return undefined
      }
    },
  }
}

/** Paymob does not report when a card expires. */
export function toSavedMethod({ token, last4, brand }: Card, currency: Currency): SavedMethod {
  return {
    type: 'card',
    credential: token,
    fingerprint: createHash('sha256').update(token).digest('hex'),
    card: { brand, last4, expiryMonth: null, expiryYear: null, country: null },
    mobileMoney: null,
    currencies: [currency],
  }
}
