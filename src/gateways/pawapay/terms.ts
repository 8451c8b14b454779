// What the account's active configuration says about deposits with one operator. A field that it does not have, or that we
// cannot read, limits nothing: pawaPay checks every deposit itself.

import { type Static, Type } from 'typebox'
import type { Money } from '../../core/money.ts'
import { jsonReader } from '../../kit/exact-json.ts'
import type { HttpResult } from '../../kit/http/http-client.ts'
import type { Declined } from '../reply.ts'
import { Maybe, refused } from '../reply.ts'
import { fromAmount, toAmount } from './amounts.ts'
import { type Authorisation, authorisationOf } from './operators.ts'
import { Text } from './response.ts'

const Operation = Type.Object({
  operationType: Maybe(Text(50)),
  authType: Maybe(Text(50)),
  status: Maybe(Text(50)),
  decimalsInAmount: Maybe(Text(50)),
  minAmount: Maybe(Text(50)),
  maxAmount: Maybe(Text(50)),
  // The names in an example of pawaPay.
  minTransactionLimit: Maybe(Text(50)),
  maxTransactionLimit: Maybe(Text(50)),
})
type Operation = Static<typeof Operation>

const Provider = Type.Object({
  provider: Text(100),
  nameDisplayedToCustomer: Maybe(Text(100)),
  currencies: Type.Array(
    Type.Object({
      currency: Text(10),
      // The reference documents an object by operation, an example of pawaPay has a list.
      operationTypes: Type.Union([Type.Record(Type.String(), Operation), Type.Array(Operation)]),
    }),
  ),
})

const readConfiguration = jsonReader(
  Type.Object({ countries: Type.Array(Type.Object({ providers: Type.Array(Provider) })) }),
)

export interface DepositTerms {
  provider: string
  authorisation: Authorisation
  /** The company name in the prompt. */
  promptName: string | undefined
  operation: Operation
}

export function termsOf(result: HttpResult, provider: string, currency: string): DepositTerms {
  const configuration =
    result.kind === 'answered' && result.status === 200 ? readConfiguration(result.body) : undefined
  const found = configuration?.countries
    .flatMap(({ providers }) => providers)
    .find((one) => one.provider === provider)
  const types = found?.currencies.find((one) => one.currency === currency)?.operationTypes ?? {}
  const operation = Array.isArray(types)
    ? types.find(({ operationType }) => operationType === 'DEPOSIT')
    : types.DEPOSIT
  return {
    provider,
    authorisation: toAuthorisation(operation?.authType) ?? authorisationOf(provider),
    promptName: found?.nameDisplayedToCustomer?.trim() || undefined,
    operation: operation ?? {},
  }
}

function toAuthorisation(authType: string | null | undefined): Authorisation | undefined {
  switch (authType) {
    case 'PROVIDER_AUTH':
      return 'prompt'
    case 'REDIRECT_AUTH':
      return 'redirect'
    case 'PREAUTH_AUTH':
      return 'code'
    default:
      return undefined
  }
}

/** Why the operator does not take this deposit, before it is sent; undefined if it may. */
export function refusalOf({ provider, operation }: DepositTerms, amount: Money): Declined | undefined {
  const { status, decimalsInAmount, minAmount, maxAmount } = operation
  if (status === 'CLOSED')
    return refused('provider_unavailable', `pawaPay reports that ${provider} is closed`)
  const least = fromAmount(minAmount ?? operation.minTransactionLimit ?? '', amount.currency)
  const most = fromAmount(maxAmount ?? operation.maxTransactionLimit ?? '', amount.currency)
  if ((least && amount.minor < least.minor) || (most && amount.minor > most.minor))
    return refused('limit_exceeded', `pawaPay's limits for ${provider} exclude this amount`)
  return decimalsInAmount === 'NONE' && toAmount(amount).includes('.')
    ? refused('provider_unavailable', `${provider} takes whole amounts only`)
    : undefined
}
