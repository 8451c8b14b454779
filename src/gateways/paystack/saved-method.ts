// The card that Paystack lets us charge again, and what has to be kept for it.

import { Type } from 'typebox'
import type { Currency } from '../../core/currency.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import type { SavedMethod } from '../gateway.ts'
import { Maybe, Text } from './json.ts'

const CredentialBody = Type.Object({ authorization_code: Text(), email: Text() })

/** As it is sealed and given back: the authorization, and the one e-mail that may charge it. */
export const Credential = {
  write: (body: Type.Static<typeof CredentialBody>): string => JSON.stringify(body),
  read: (text: string) => readCredential(parseExactJson(text)),
}
const readCredential = schemaReader(CredentialBody)

const readAuthorization = schemaReader(
  Type.Object({
    authorization_code: Type.String({ minLength: 1, maxLength: 200 }),
    last4: Type.String({ pattern: '^\\d{4}$' }),
    exp_month: Type.String({ pattern: '^(?:0?[1-9]|1[0-2])$' }),
    exp_year: Type.String({ pattern: '^(?:20)?\\d{2}$' }),
    channel: Type.Literal('card'),
    brand: Maybe(Text()),
    card_type: Maybe(Text()),
    country_code: Maybe(Text()),
    // Anything but true, a 1 or a "true" too, is no promise.
    reusable: Type.Literal(true),
    // The same for the same card, whatever authorization it is behind.
    signature: Type.String({ minLength: 1, maxLength: 200 }),
  }),
)

const readCustomer = schemaReader(Type.Object({ email: Type.String({ minLength: 1, maxLength: 320 }) }))

/** Null for what cannot be charged again: other channels, and cards whose bank or test number does not allow it. */
export function toSavedMethod(
  authorization: unknown,
  customer: unknown,
  currency: Currency,
): SavedMethod | null {
  const card = readAuthorization(authorization)
  const email = readCustomer(customer)?.email
  if (!card || email === undefined) return null
  return {
    type: 'card',
    credential: Credential.write({ authorization_code: card.authorization_code, email }),
    fingerprint: card.signature,
    card: {
      brand: toBrand(card.brand, card.card_type),
      last4: card.last4,
      expiryMonth: Number(card.exp_month),
      expiryYear: 2_000 + (Number(card.exp_year) % 100),
      country: /^[A-Z]{2}$/.test(card.country_code ?? '') ? (card.country_code ?? null) : null,
    },
    mobileMoney: null,
    // An account collects in the currencies of its country, and only this one is known to be among them.
    currencies: [currency],
  }
}

/** The brand alone; the type of a card has it as its first word: "visa DEBIT". */
function toBrand(brand: string | null | undefined, cardType: string | null | undefined): string {
  const word = brand?.trim() || cardType?.trim().split(' ')[0] || 'card'
  return word.toLowerCase()
}
