import { type Static, Type } from 'typebox'
import { COUNTRY_REQUIRED_CURRENCIES, defaultCountry } from '../core/currency.ts'
import type { Issue } from '../core/errors.ts'
import { metadataIssues } from '../kit/http/metadata.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import { CurrencyInput, Metadata, namedObject } from '../kit/http/schema.ts'
import {
  amountIssues,
  countryIssues,
  customerIssues,
  Description,
  type InitiateInput,
  SHARED_FIELDS,
  toCommonInput,
} from '../payments/input.ts'
import { readReturnUrl } from './return-url.ts'

export const InitiateBody = namedObject('InitiatePaymentRequest', {
  amount: Type.Number({
    description:
      'The amount to collect, in major units: 1250.5 is KES 1,250.50. At most the decimals of the currency.',
    examples: [1250.5],
  }),
  ...SHARED_FIELDS,
  description: Type.Optional(Description),
  metadata: Type.Optional(Metadata),
  currency: Type.Optional(CurrencyInput),
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2}$',
      'x-code': 'invalid_country',
      'x-message': 'must be an ISO 3166-1 alpha-2 code of a country that uses the currency.',
      description: `Selects the rails of the currency. Required for ${COUNTRY_REQUIRED_CURRENCIES}. Absent: the country of your gateway account if it collects in one country alone, otherwise the main country of the currency.`,
      examples: ['KE'],
    }),
  ),
  redirectUrl: Type.Optional(
    Type.String({
      maxLength: 2048,
      description:
        'Where the customer is sent after completing or abandoning checkout, with reference and status appended. The status is a hint: verify the payment before you deliver. An https address; http only in staging. If the operator has registered origins for you (settings.redirectOrigins), it must be on one of them; in staging, localhost always may.',
      examples: ['https://shop.example/thanks'],
    }),
  ),
  isRecurring: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Your intent to charge the method again. Only a signal for reports.',
    }),
  ),
  offerSavedMethods: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'The page offers the saved methods of this customer that can pay this payment, by their masked labels, and charges the one that the customer chooses there. Anyone with checkoutUrl can pay with them: set it only if the customer is signed in with you, never for an e-mail address that a visitor has typed.',
    }),
  ),
})
export function toInitiateInput(body: Static<typeof InitiateBody>): InitiateInput {
  const common = toCommonInput(body)
  return {
    ...common,
    country: body.country?.toUpperCase() ?? defaultCountry(common.amount.currency),
    ...(body.country === undefined && { isDefaultCountry: true }),
    redirectUrl: body.redirectUrl ?? null,
    isRecurring: body.isRecurring ?? false,
    ...(body.offerSavedMethods && { offerSavedMethods: true }),
  }
}

export function initiateIssues(allowHttp: boolean) {
  return (body: Record<string, unknown>, facts: BodyFacts): Issue[] => [
    ...amountIssues(body, facts),
    ...countryIssues(body),
    ...customerIssues(body),
    ...metadataIssues(body.metadata, facts),
    ...redirectIssues(body.redirectUrl, allowHttp),
  ]
}

export function redirectIssues(redirectUrl: unknown, allowHttp: boolean): Issue[] {
  if (typeof redirectUrl !== 'string') return []
  const allowed = allowHttp ? 'an https or http address' : 'an https address'
  const message = `redirectUrl must be ${allowed} without user name, spaces or backslashes.`
  return readReturnUrl(redirectUrl, allowHttp)
    ? []
    : [{ field: 'redirectUrl', code: 'invalid_format', message }]
}
