// Saved cards. Paymob reports the token of a card only in a callback. Reports of callbacks are stored as they are, so the token
// travels in one encrypted.

import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { Currency } from '../../core/currency.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { SavedMethod } from '../saved-method.ts'
import { Digits } from './intentions.ts'
import { openSealer } from './sealed-text.ts'

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

export interface CardReports {
  /** The report of a callback. The same card gives the same report, so that a repeated callback changes nothing. */
  write(card: Card): string
  /** Undefined if it has no card of this account. */
  read(report: string): Card | undefined
}

export function openCardReports(secretKey: string): CardReports {
  const sealer = openSealer(secretKey, 'paymob card report')
  return {
    write: (card) => JSON.stringify({ card: sealer.seal(JSON.stringify(card)) }),
    read(report) {
      const text = sealer.unseal(readReport(report)?.card ?? '')
      return text === undefined ? undefined : readCard(Buffer.from(text))
    },
  }
}

/** The token of a card, and the number of its payer, which every charge needs. */
export function readCredential(credential: string): { token: string; phone?: string } {
  const [, token = credential, phone] = /^(.+):(\+[0-9]+)$/.exec(credential) ?? []
  return { token, ...(phone !== undefined && { phone }) }
}

/** Paymob does not report when a card expires. */
export function toSavedMethod(
  { token, last4, brand }: Card,
  currency: Currency,
  phone: string | undefined,
): SavedMethod {
  return {
    type: 'card',
    credential: phone === undefined ? token : `${token}:${phone}`,
    fingerprint: createHash('sha256').update(token).digest('hex'),
    card: { brand, last4, expiryMonth: null, expiryYear: null, country: null },
    mobileMoney: null,
    currencies: [currency],
  }
}
