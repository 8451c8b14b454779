import { type Static, Type } from 'typebox'
import type { Currency } from '../core/currency.ts'
import type { Issue } from '../core/errors.ts'
import { metadataIssues } from '../kit/http/metadata.ts'
import type { BodyFacts } from '../kit/http/route.ts'
import { CurrencyInput, described, Metadata, namedObject } from '../kit/http/schema.ts'
import {
  amountIssues,
  customerIssues,
  Description,
  type PaymentInput,
  SHARED_FIELDS,
  toCommonInput,
} from '../payments/input.ts'

export const RecurringChargeBody = namedObject('CreateChargeRequest', {
  ...SHARED_FIELDS,
  metadata: Metadata,
  currency: Type.Optional(
    Type.Unsafe<Currency>({
      ...CurrencyInput,
      'x-null': 'refused',
      'x-required': true,
      description:
        'The ISO 4217 code of the currency, in capitals. Send it: a charge without it is in USD, whatever the method was saved with.',
    }),
  ),
  amount: Type.Number({
    description: 'The amount to charge, in major units. At most the decimals of the currency.',
    examples: [1250.5],
  }),
  recurringToken: Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'The `recurringToken` of a saved payment method, from the payment that saved it or from the customer’s methods. It decides the gateway.',
  }),
  description: described(Description, 'What the charge is for.'),
})
export interface ChargeInput extends PaymentInput {
  recurringToken: string
}

export function toChargeInput(body: Static<typeof RecurringChargeBody>): ChargeInput {
  return { ...toCommonInput(body), recurringToken: body.recurringToken }
}

export function chargeIssues(body: Record<string, unknown>, facts: BodyFacts): Issue[] {
  return [...amountIssues(body, facts), ...customerIssues(body), ...metadataIssues(body.metadata, facts)]
}
