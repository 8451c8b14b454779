// The request bodies of payments and charges: their common schemas, the validation that a schema cannot express, and the
// normalised input.

import { hash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { canonicalJson } from '../core/canonical.ts'
import { assertNoCardNumbers } from '../core/card-number.ts'
import { isCountry } from '../core/countries.ts'
import {
  CURRENCIES,
  type Currency,
  DEFAULT_CURRENCY,
  defaultCountry,
  isCurrency,
  usesCurrency,
} from '../core/currency.ts'
import { errorFromIssues, type Issue, newIssue } from '../core/errors.ts'
import { type Money, parseAmount } from '../core/money.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import { CountryInput, described, Email, namedObject, PersonName } from '../kit/http/schema.ts'
import { readPhone } from '../kit/phone.ts'
import type { PaymentDetails } from './payment.ts'

export const Reference = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^\\S(?:[\\s\\S]*\\S)?$',
  'x-message': 'must be 1 to 100 characters without white space at the ends.',
  description:
    'Your own name for this payment, unique among your payments and charges. A repeat with the same body returns the same record.',
  examples: ['order-1042'],
})

export const PaymentCustomer = namedObject(
  'PaymentCustomer',
  {
    email: Email,
    firstname: described(PersonName, 'The first name of the customer.'),
    lastname: described(PersonName, 'The last name of the customer.'),
    country: Type.Optional(
      described(
        CountryInput,
        'Where the customer is, an ISO 3166-1 alpha-2 code. It does not select the rails; the country of the payment does.',
      ),
    ),
    phone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 40,
        description:
          'A mobile number with its country code, or as people write it in the country of the payment. The checkout page shows it in its field, and the customer has it from then on.',
        examples: ['+254712345678'],
      }),
    ),
  },
  { description: 'Who pays. The e-mail address identifies the customer; the latest names win.' },
)

export const Description = Type.String({
  maxLength: 255,
  'x-multiline': true,
  description: 'What the payment is for. The customer sees it on the checkout page.',
  examples: ['Two bags of coffee'],
})

/** The fields that the bodies of a checkout and of a charge share. `toCommonInput` reads them. */
export const SHARED_FIELDS = { reference: Reference, customer: PaymentCustomer }

/** A request for a payment or a charge, after validation. */
export interface PaymentInput extends Pick<PaymentDetails, 'description' | 'metadata'> {
  reference: string
  amount: Money
  /** The phone is in E.164. It is absent, not null, so that the fingerprints of requests without it stay the same. */
  customer: { email: string; firstname: string; lastname: string; country: string | null; phone?: string }
}

/** A request for a checkout. It may have every detail of a payment. */
export type InitiateInput = PaymentInput &
  Pick<PaymentDetails, 'country' | 'redirectUrl' | 'isRecurring'> &
  Partial<PaymentDetails> & {
    /** How long the checkout is open, if it is not the usual time. */
    openForMs?: number
    /** The request names no country: the accounts of the merchant decide before the default of the currency. */
    isDefaultCountry?: true
  }

/** The fields that the bodies of initiate-payment and of a recurring charge share. */
interface CommonBody {
  reference: string
  amount: number
  currency?: Currency
  description?: string
  metadata?: Record<string, unknown>
  country?: string
  customer: Static<typeof PaymentCustomer>
}

export function toCommonInput(body: CommonBody): PaymentInput {
  rejectCardNumbers(body)
  const amount = parseAmount(body.amount, body.currency ?? DEFAULT_CURRENCY)
  if (typeof amount === 'string') throw new Error('an amount passed validation but cannot be parsed')
  return {
    reference: body.reference,
    amount,
    description: body.description ?? null,
    metadata: body.metadata ?? {},
    customer: toCustomer(body),
  }
}

function toCustomer({ customer, country, currency }: CommonBody): PaymentInput['customer'] {
  const { phone, ...names } = customer
  const e164 = phone === undefined ? undefined : readPhone(phone, phoneCountry(country, currency))?.e164
  if (phone !== undefined && e164 === undefined)
    throw new Error('a phone number passed validation but cannot be parsed')
  return {
    ...names,
    country: customer.country?.toUpperCase() ?? null,
    ...(e164 !== undefined && { phone: e164 }),
  }
}

/** The country in which a number without a country code is meant. */
function phoneCountry(country: unknown, currency: unknown): string | null {
  if (typeof country === 'string') return country.toUpperCase()
  const code = currency ?? DEFAULT_CURRENCY
  return isCurrency(code) ? defaultCountry(code) : null
}

function rejectCardNumbers(body: {
  description?: string
  customer: { email: string; firstname: string; lastname: string }
}): void {
  assertNoCardNumbers({
    description: body.description,
    'customer.email': body.customer.email,
    'customer.firstname': body.customer.firstname,
    'customer.lastname': body.customer.lastname,
  })
}

/** Identical requests have the same fingerprint, whatever the order of their keys. */
export function fingerprintOf(
  operation: string,
  { isDefaultCountry: _, ...input }: PaymentInput & Pick<InitiateInput, 'isDefaultCountry'>,
): string {
  const customer = { ...input.customer, email: input.customer.email.toLowerCase() }
  return hash('sha256', operation + canonicalJson({ ...input, customer }))
}

/** Validates an amount in the body's currency; `field` is the field that has it. */
export function amountIssues(body: Record<string, unknown>, facts: BodyFacts, field = 'amount'): Issue[] {
  const value = body[field]
  const currency = body.currency ?? DEFAULT_CURRENCY
  if (typeof value !== 'number' || !isCurrency(currency)) return []
  const amount = parseAmount(value, currency)
  if (amount === 'amount_out_of_range') return [newIssue(field, amount)]
  if (amount === 'amount_precision') {
    const { decimals } = CURRENCIES[currency]
    const message = `${field} has more than the ${decimals} decimals of ${currency}; it is never rounded.`
    return [newIssue(field, amount, message)]
  }
  if (!facts.lossyNumbers.has(field)) return []
  const message = `${field} has more digits than a JSON number can carry exactly.`
  return [newIssue(field, 'amount_precision', message)]
}

export function countryIssues(body: Record<string, unknown>): Issue[] {
  const currency = body.currency ?? DEFAULT_CURRENCY
  if (!isCurrency(currency)) return []
  if (body.country === undefined) {
    if (!CURRENCIES[currency].countryRequired) return []
    const countries = CURRENCIES[currency].countries.join(', ')
    return [
      newIssue('country', 'country_required', `country is required for ${currency}: one of ${countries}.`),
    ]
  }
  if (typeof body.country !== 'string' || usesCurrency(body.country.toUpperCase(), currency)) return []
  const countries = CURRENCIES[currency].countries.join(', ')
  const message = `${body.country.toUpperCase()} does not use ${currency}; it is used in ${countries}.`
  return [newIssue('country', 'invalid_country', message)]
}

export function customerIssues(body: Record<string, unknown>): Issue[] {
  const { customer } = body
  if (typeof customer !== 'object' || customer === null) return []
  // A boundary: any JSON object.
  const { country, phone } = customer as Record<string, unknown>
  const issues: Issue[] = []
  if (typeof country === 'string' && !isCountry(country)) {
    const message = 'customer.country must be an ISO 3166-1 alpha-2 code.'
    issues.push({ field: 'customer.country', code: 'invalid_format', message })
  }
  if (typeof phone === 'string' && !readPhone(phone, phoneCountry(body.country, body.currency))) {
    const message = 'customer.phone must be the number of a mobile phone, such as +254712345678.'
    issues.push({ field: 'customer.phone', code: 'invalid_format', message })
  }
  return issues
}

/** A request that names two different payments is ambiguous, so it is rejected. The fields are those of the uuid and the reference. */
export function requireSamePayment(
  payment: { reference: string },
  reference: string | undefined,
  [uuidField, referenceField]: readonly [string, string],
): void {
  if (reference === undefined || reference === payment.reference) return
  const message = `${uuidField} and ${referenceField} name different payments; send one of them.`
  throw errorFromIssues([newIssue(referenceField, 'validation_failed', message)])
}
