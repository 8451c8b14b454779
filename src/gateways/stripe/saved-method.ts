// The payment methods that Stripe lets us charge again: cards, Link and SEPA debit. Other methods are not saved, because
// they cannot be charged without the payer, or we do not know whether they can.

import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { schemaReader } from '../../kit/exact-json.ts'
import { Maybe } from '../reply.ts'
import type { SavedMethod } from '../saved-method.ts'
import { SUPPORTED_CURRENCIES } from './amounts.ts'
import type { Credential } from './forms.ts'
import { Identity, Text } from './shapes.ts'

const readCardMethod = schemaReader(
  Type.Object({
    id: Identity,
    type: Type.Literal('card'),
    card: Type.Object({
      brand: Text(50),
      last4: Type.String({ pattern: '^\\d{4}$' }),
      exp_month: Type.Integer({ minimum: 1, maximum: 12 }),
      exp_year: Type.Integer({ minimum: 1_970, maximum: 9_999 }),
      country: Maybe(Text(2)),
      fingerprint: Maybe(Text(255)),
    }),
  }),
)
const readLinkMethod = schemaReader(
  Type.Object({ id: Identity, type: Type.Literal('link'), link: Type.Object({ email: Maybe(Text(500)) }) }),
)
const readDebitMethod = schemaReader(
  Type.Object({
    id: Identity,
    type: Type.Literal('sepa_debit'),
    sepa_debit: Type.Object({ fingerprint: Maybe(Text(255)) }),
  }),
)

/** Null without a customer: only a method that belongs to one can be charged again. */
export function toSavedMethod(method: unknown, customer: string | null): SavedMethod | null {
  if (customer === null) return null
  return fromCard(method, customer) ?? fromLink(method, customer) ?? fromDebit(method, customer) ?? null
}

function fromCard(method: unknown, customer: string): SavedMethod | undefined {
  const read = readCardMethod(method)
  if (!read) return undefined
  const { id, card } = read
  return {
    ...saved({ customer, payment_method: id }, card.fingerprint),
    type: 'card',
    card: {
      brand: card.brand,
      last4: card.last4,
      expiryMonth: card.exp_month,
      expiryYear: card.exp_year,
      country: card.country ?? null,
    },
  }
}

/** Link is a wallet of cards and accounts; Stripe does not tell which of them is charged. The e-mail is its account. */
function fromLink(method: unknown, customer: string): SavedMethod | undefined {
  const read = readLinkMethod(method)
  if (!read) return undefined
  const { email } = read.link
  const fingerprint = email ? createHash('sha256').update(`link:${email}`).digest('base64url') : null
  return { ...saved({ customer, payment_method: read.id }, fingerprint), type: 'card' }
}

function fromDebit(method: unknown, customer: string): SavedMethod | undefined {
  const read = readDebitMethod(method)
  if (!read) return undefined
  const { id, sepa_debit: debit } = read
  return {
    ...saved({ customer, payment_method: id }, debit.fingerprint),
    type: 'bank_account',
    currencies: ['EUR'],
  }
}

/** Without a fingerprint every payment saves another method. */
function saved(credential: Credential, fingerprint: string | null | undefined) {
  return {
    credential: JSON.stringify(credential),
    fingerprint: fingerprint ?? credential.payment_method,
    card: null,
    mobileMoney: null,
    currencies: SUPPORTED_CURRENCIES,
  }
}
