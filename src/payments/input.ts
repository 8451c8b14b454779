// What a merchant sends to start a payment or a charge: the shapes, the rules that a shape cannot say, and the
// normalised input that the service works with.

import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { readReturnUrl } from '../checkout/return-url.ts'
import { canonicalJson } from '../core/canonical.ts'
import { containsCardNumber } from '../core/card-number.ts'
import { isCountry } from '../core/countries.ts'
import {
  CURRENCIES,
  type Currency,
  DEFAULT_CURRENCY,
  defaultCountry,
  isCurrency,
  usesCurrency,
} from '../core/currency.ts'
import { type Complaint, REFUSALS, Refusal, type RefusalCode } from '../core/errors.ts'
import { type Money, parseAmount } from '../core/money.ts'
import { metadataComplaints } from '../kit/metadata.ts'
import type { BodyFacts } from '../kit/route.ts'
import { CountryInput, CurrencyInput, Email, Metadata, PersonName } from '../kit/schema.ts'

const Reference = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^\\S(?:[\\s\\S]*\\S)?$',
  'x-message': 'must be 1 to 100 characters without white space at the ends.',
  description: 'Your own name for this payment. A repeat with the same body answers the same record.',
})

export const PaymentCustomer = Type.Object({
  email: Email,
  firstname: PersonName,
  lastname: PersonName,
  country: Type.Optional(CountryInput),
})

const Description = Type.String({ maxLength: 255, 'x-multiline': true })

export const InitiateBody = Type.Object({
  amount: Type.Number({ description: 'In major units: 1250.5 is KES 1,250.50.' }),
  reference: Reference,
  customer: PaymentCustomer,
  description: Type.Optional(Description),
  metadata: Type.Optional(Metadata),
  currency: Type.Optional(CurrencyInput),
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2}$',
      'x-code': 'invalid_country',
      'x-message': 'must be an ISO 3166-1 alpha-2 code of a country that uses the currency.',
      description: 'Selects the rails of the currency. Required for XAF and XOF.',
    }),
  ),
  redirectUrl: Type.Optional(
    Type.String({
      maxLength: 2048,
      description:
        'Where the customer is sent after completing or abandoning checkout, with reference and status appended. The status is a hint: verify the payment before you deliver. An https address; http only in staging. If the operator has registered origins for you (settings.redirectOrigins), it must be on one of them; in staging, localhost always may.',
    }),
  ),
  isRecurring: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Your intent to charge the method again. Only a signal for reports.',
    }),
  ),
})

export const RecurringChargeBody = Type.Object({
  reference: Reference,
  customer: PaymentCustomer,
  metadata: Metadata,
  currency: Type.Optional(Type.Unsafe<Currency>({ ...CurrencyInput, 'x-null': 'refused' })),
  amount: Type.Number({ description: 'In major units.' }),
  recurringToken: Type.String({ minLength: 1, maxLength: 200 }),
  description: Description,
})

interface CommonInput {
  reference: string
  amount: Money
  description: string | null
  metadata: Record<string, unknown>
  customer: { email: string; firstname: string; lastname: string; country: string | null }
}

export interface InitiateInput extends CommonInput {
  country: string | null
  redirectUrl: string | null
  isRecurring: boolean
  /** The payment link at which it is begun. */
  linkId?: string
  /** How long it is open, where the usual time of a checkout does not fit. */
  openForMs?: number
}

export interface ChargeInput extends CommonInput {
  recurringToken: string
}

export function toInitiateInput(body: Static<typeof InitiateBody>): InitiateInput {
  const common = toCommonInput(body)
  return {
    ...common,
    country: body.country?.toUpperCase() ?? defaultCountry(common.amount.currency),
    redirectUrl: body.redirectUrl ?? null,
    isRecurring: body.isRecurring ?? false,
  }
}

export function toChargeInput(body: Static<typeof RecurringChargeBody>): ChargeInput {
  return { ...toCommonInput(body), recurringToken: body.recurringToken }
}

function toCommonInput(body: Static<typeof InitiateBody> | Static<typeof RecurringChargeBody>): CommonInput {
  refuseCardNumbers(body)
  const amount = parseAmount(body.amount, body.currency ?? DEFAULT_CURRENCY)
  if (typeof amount === 'string')
    throw new Error('an amount passed the complaints and is still not acceptable')
  return {
    reference: body.reference,
    amount,
    description: body.description ?? null,
    metadata: body.metadata ?? {},
    customer: { ...body.customer, country: body.customer.country?.toUpperCase() ?? null },
  }
}

function refuseCardNumbers(body: {
  description?: string
  customer: { firstname: string; lastname: string }
}): void {
  const texts: [string, string | undefined][] = [
    ['description', body.description],
    ['customer.firstname', body.customer.firstname],
    ['customer.lastname', body.customer.lastname],
  ]
  const details = texts
    .filter(([, text]) => text !== undefined && containsCardNumber(text))
    .map(([field]) => complaint(field, 'card_data_not_allowed'))
  if (details.length > 0) throw new Refusal('card_data_not_allowed', { details })
}

/** The same request has the same fingerprint, whatever the order of its keys; null and absent are the same. */
export function fingerprintOf(operation: string, input: InitiateInput | ChargeInput): string {
  return createHash('sha256')
    .update(operation)
    .update(
      canonicalJson({ ...input, customer: { ...input.customer, email: input.customer.email.toLowerCase() } }),
    )
    .digest('hex')
}

export function initiateComplaints(allowHttp: boolean) {
  return (body: Record<string, unknown>, facts: BodyFacts): Complaint[] => [
    ...amountComplaints(body, facts),
    ...countryComplaints(body),
    ...customerComplaints(body),
    ...metadataComplaints(body.metadata, facts),
    ...redirectComplaints(body.redirectUrl, allowHttp),
  ]
}

export function chargeComplaints(body: Record<string, unknown>, facts: BodyFacts): Complaint[] {
  return [
    ...amountComplaints(body, facts),
    ...customerComplaints(body),
    ...metadataComplaints(body.metadata, facts),
  ]
}

export function complaint(
  field: string,
  code: RefusalCode,
  message: string = REFUSALS[code].message,
): Complaint {
  return { field, code, message }
}

/** About an amount in the body's currency, in whichever field it stands. */
export function amountComplaints(
  body: Record<string, unknown>,
  facts: BodyFacts,
  field = 'amount',
): Complaint[] {
  const value = body[field]
  const currency = body.currency ?? DEFAULT_CURRENCY
  if (typeof value !== 'number' || !isCurrency(currency)) return []
  const amount = parseAmount(value, currency)
  if (amount === 'amount_out_of_range') return [complaint(field, amount)]
  if (amount === 'amount_precision') {
    const { decimals } = CURRENCIES[currency]
    const message = `${field} has more than the ${decimals} decimals of ${currency}; it is never rounded.`
    return [complaint(field, amount, message)]
  }
  if (!facts.lossyNumbers.has(field)) return []
  const message = `${field} has more digits than a JSON number can carry exactly.`
  return [complaint(field, 'amount_precision', message)]
}

export function countryComplaints(body: Record<string, unknown>): Complaint[] {
  const currency = body.currency ?? DEFAULT_CURRENCY
  if (!isCurrency(currency)) return []
  if (body.country === undefined) {
    if (!CURRENCIES[currency].countryRequired) return []
    const countries = CURRENCIES[currency].countries.join(', ')
    return [
      complaint('country', 'country_required', `country is required for ${currency}: one of ${countries}.`),
    ]
  }
  if (typeof body.country !== 'string' || usesCurrency(body.country.toUpperCase(), currency)) return []
  return [complaint('country', 'invalid_country', `${body.country.toUpperCase()} does not use ${currency}.`)]
}

function customerComplaints(body: Record<string, unknown>): Complaint[] {
  const customer = body.customer
  if (typeof customer !== 'object' || customer === null || !('country' in customer)) return []
  if (typeof customer.country !== 'string' || isCountry(customer.country)) return []
  const message = 'customer.country must be an ISO 3166-1 alpha-2 code.'
  return [{ field: 'customer.country', code: 'invalid_format', message }]
}

export function redirectComplaints(redirectUrl: unknown, allowHttp: boolean): Complaint[] {
  if (typeof redirectUrl !== 'string') return []
  const wanted = allowHttp ? 'an https or http address' : 'an https address'
  const message = `redirectUrl must be ${wanted} without user name, spaces or backslashes.`
  return readReturnUrl(redirectUrl, allowHttp)
    ? []
    : [{ field: 'redirectUrl', code: 'invalid_format', message }]
}
