// The card that Flutterwave saved, and what is needed to charge it again.

import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { isCountry } from '../../core/countries.ts'
import { addMs } from '../../kit/clock.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import { Maybe } from '../reply.ts'
import type { SavedMethod } from '../saved-method.ts'
import { CARD_CURRENCIES } from './rails.ts'
import { Identity, Text } from './response.ts'

const Credential = Type.Object({ token: Identity, email: Identity })
/** What Flutterwave needs to charge a saved card; stored as JSON text. */
export type Credential = Static<typeof Credential>

const readCredentialBody = schemaReader(Credential)

export function readCredential(text: string): Credential | undefined {
  return readCredentialBody(parseExactJson(text))
}

const Card = Type.Object({
  token: Identity,
  first_6digits: Type.String({ pattern: '^[0-9]{6}$' }),
  last_4digits: Type.String({ pattern: '^[0-9]{4}$' }),
  expiry: Type.String({ pattern: '^(0?[1-9]|1[0-2])/[0-9]{2}$' }),
  type: Maybe(Text),
  country: Maybe(Text),
})

const readCard = schemaReader(Card)
const readCustomer = schemaReader(Type.Object({ email: Identity }))

/** The payer's data in a paid record. */
interface Payer {
  card?: unknown
  customer?: unknown
}

// A token ends one year after the payment that made it; paying with the card again makes a new one.
const TOKEN_LIFETIME_MS = 365 * 24 * 3_600_000

/** The card of a paid record, if it can be charged again. */
export function toSavedMethod(payer: Payer, paidAt: Date): SavedMethod | null {
  const card = readCard(payer.card)
  const email = readCustomer(payer.customer)?.email
  if (!card || email === undefined) return null
  const [month = '', year = ''] = card.expiry.split('/')
  const credential: Credential = { token: card.token, email }
  return {
    type: 'card',
    credential: JSON.stringify(credential),
    // Flutterwave has no fingerprint, and a new token for every payment.
    fingerprint: createHash('sha256')
      .update([card.first_6digits, card.last_4digits, card.expiry, toBrand(card.type)].join('|'))
      .digest('base64url'),
    card: {
      brand: toBrand(card.type),
      last4: card.last_4digits,
      expiryMonth: Number(month),
      expiryYear: 2_000 + Number(year),
      country: toCountry(card.country),
    },
    mobileMoney: null,
    currencies: [...CARD_CURRENCIES],
    tokenExpiresAt: addMs(paidAt, TOKEN_LIFETIME_MS),
  }
}

function toBrand(type: string | null | undefined): string {
  const brand = type?.trim().toLowerCase() ?? ''
  return brand === 'american express' ? 'amex' : brand || 'card'
}

/** "NG", or "NIGERIA NG" in older records. */
function toCountry(text: string | null | undefined): string | null {
  const code = text?.trim().slice(-2).toUpperCase() ?? ''
  const isAlone = /^(?:.*\s)?\S{2}$/.test(text?.trim() ?? '')
  return isAlone && isCountry(code) ? code : null
}
