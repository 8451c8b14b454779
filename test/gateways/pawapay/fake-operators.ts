// The operators of the fake pawaPay: those that its documentation lists for some countries, as the account's active
// configuration describes them.

interface FakeOperator {
  provider: string
  country: string
  prefix: string
  currencies: readonly string[]
  authType: 'PROVIDER_AUTH' | 'REDIRECT_AUTH' | 'PREAUTH_AUTH'
  decimalsInAmount: 'NONE' | 'TWO_PLACES'
  minAmount: string
  maxAmount: string
  status: 'OPERATIONAL' | 'DELAYED' | 'CLOSED'
}

const operator = (
  provider: string,
  country: string,
  prefix: string,
  currency: string,
  changes: Partial<FakeOperator> = {},
): FakeOperator => ({
  provider,
  country,
  prefix,
  currencies: [currency],
  authType: 'PROVIDER_AUTH',
  decimalsInAmount: 'TWO_PLACES',
  minAmount: '1',
  maxAmount: '20000',
  status: 'OPERATIONAL',
  ...changes,
})

export const FAKE_OPERATORS: readonly FakeOperator[] = [
  operator('MTN_MOMO_ZMB', 'ZMB', '26076', 'ZMW'),
  operator('AIRTEL_OAPI_ZMB', 'ZMB', '26077', 'ZMW', { maxAmount: '5000.5' }),
  operator('ZAMTEL_ZMB', 'ZMB', '26075', 'ZMW', { status: 'CLOSED' }),
  operator('MPESA_KEN', 'KEN', '25470', 'KES', { decimalsInAmount: 'NONE', maxAmount: '150000' }),
  operator('WAVE_SEN', 'SEN', '22170', 'XOF', { authType: 'REDIRECT_AUTH', decimalsInAmount: 'NONE' }),
  operator('ORANGE_SEN', 'SEN', '22177', 'XOF', { decimalsInAmount: 'NONE' }),
  operator('ORANGE_BFA', 'BFA', '22607', 'XOF', { authType: 'PREAUTH_AUTH', decimalsInAmount: 'NONE' }),
]

const PREFIXES: Record<string, string> = { ZMB: '260', KEN: '254', SEN: '221', BFA: '226' }

/** GET /v2/active-conf, with the spelling of the reference, or with that of pawaPay's example. */
export function activeConfiguration(country: string | null, options: { isSigned: boolean; isList: boolean }) {
  const shown = FAKE_OPERATORS.filter((one) => country === null || one.country === country)
  return {
    companyName: 'Duka La Vitabu',
    signatureConfiguration: { signedRequestsOnly: options.isSigned, signedCallbacks: true },
    countries: [...new Set(shown.map((one) => one.country))].map((code) => ({
      country: code,
      displayName: { en: code },
      prefix: PREFIXES[code],
      providers: shown.filter((one) => one.country === code).map((one) => toProvider(one, options.isList)),
    })),
  }
}

function toProvider({ provider, currencies, ...one }: FakeOperator, isList: boolean) {
  const { authType, decimalsInAmount, minAmount, maxAmount, status } = one
  const operation = isList
    ? { operationType: 'DEPOSIT', minTransactionLimit: minAmount, maxTransactionLimit: maxAmount }
    : { authType, pinPrompt: 'AUTOMATIC', minAmount, maxAmount, decimalsInAmount, status }
  return {
    provider,
    displayName: provider,
    logo: 'https://static-content.pawapay.io/company_logos/logo.png',
    nameDisplayedToCustomer: 'DUKA LTD',
    currencies: currencies.map((currency) => ({
      currency,
      operationTypes: isList ? [operation] : { DEPOSIT: operation },
    })),
  }
}

/** POST /v2/predict-provider; undefined for a number of no operator. */
export function predictProvider(phoneNumber: string) {
  const found = FAKE_OPERATORS.find(({ prefix }) => phoneNumber.startsWith(prefix))
  return found && { country: found.country, provider: found.provider, phoneNumber }
}
