// The card that Paystack lets us charge again, and what is stored for it.

import { Type } from 'typebox'
import type { Currency } from '../../core/currency.ts'
import { parseExactJson, schemaReader } from '../../kit/exact-json.ts'
import { Maybe } from '../reply.ts'
import type { SavedMethod } from '../saved-method.ts'
import { Text } from './json.ts'

const CredentialBody = Type.Object({ authorization_code: Text(), email: Text() })

/** The encrypted credential: the authorization, and the only e-mail address that may charge it. */
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
    // Only true counts; 1 and "true" do not.
    reusable: Type.Literal(true),
    // The same for the same card, across authorizations.
    signature: Type.String({ minLength: 1, maxLength: 200 }),
  }),
)

const readCustomer = schemaReader(Type.Object({ email: Type.String({ minLength: 1, maxLength: 320 }) }))

/** Null if it cannot be charged again: other channels, and cards whose bank or test number does not allow it. */
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
    // An account collects in the currencies of its country; only this one is proven.
    currencies: [currency],
  }
}

/** The brand alone. If it is missing, take the first word of the card type: "visa DEBIT". */
function toBrand(brand: string | null | undefined, cardType: string | null | undefined): string {
  const word = brand?.trim() || cardType?.trim().split(' ')[0] || 'card'
  return word.toLowerCase()
}
