// The currencies of the API, and the countries that use each. Decimals follow ISO 4217; the connector of a gateway
// that counts differently converts the amounts.

interface CurrencyFacts {
  decimals: 0 | 2
  countries: readonly string[]
  /** Several countries share the currency and each has its own rails, so a payment must name the country. */
  countryRequired: boolean
}

const EURO_COUNTRIES =
  'AD AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MC ME MT NL PT SI SK SM VA XK'.split(' ')

// Where the dollar is legal tender or in daily use, and the two countries (KE, NG) whose rails collect it.
const DOLLAR_COUNTRIES = 'US AS BQ CD EC FM GU IO KE LR MH MP NG PA PR PW SV TC TL UM VG VI ZW'.split(' ')

const currency = (
  decimals: 0 | 2,
  countries: string | readonly string[],
  countryRequired = false,
): CurrencyFacts => ({
  decimals,
  countries: typeof countries === 'string' ? countries.split(' ') : countries,
  countryRequired,
})

export const CURRENCIES = {
  BDT: currency(2, 'BD'),
  BIF: currency(0, 'BI'),
  BWP: currency(2, 'BW'),
  CAD: currency(2, 'CA'),
  CDF: currency(2, 'CD'),
  EGP: currency(2, 'EG'),
  ETB: currency(2, 'ET'),
  EUR: currency(2, EURO_COUNTRIES),
  GBP: currency(2, 'GB GG IM JE'),
  GHS: currency(2, 'GH'),
  GMD: currency(2, 'GM'),
  KES: currency(2, 'KE'),
  LRD: currency(2, 'LR'),
  LSL: currency(2, 'LS'),
  MUR: currency(2, 'MU'),
  MWK: currency(2, 'MW'),
  MZN: currency(2, 'MZ'),
  NGN: currency(2, 'NG'),
  RWF: currency(0, 'RW'),
  SLE: currency(2, 'SL'),
  SSP: currency(2, 'SS'),
  TZS: currency(2, 'TZ'),
  UGX: currency(0, 'UG'),
  USD: currency(2, DOLLAR_COUNTRIES),
  XAF: currency(0, 'CM CF TD CG GQ GA', true),
  XOF: currency(0, 'BJ BF CI GW ML NE SN TG', true),
  ZAR: currency(2, 'ZA LS NA'),
  ZMW: currency(2, 'ZM'),
} as const satisfies Record<string, CurrencyFacts>

/** The countries of every currency. */
export const SERVED_COUNTRIES: readonly string[] = [
  ...new Set(Object.values(CURRENCIES).flatMap(({ countries }) => [...countries])),
]

export type Currency = keyof typeof CURRENCIES

// The cast is safe: a constant object has exactly the keys of its type, but Object.keys returns string[].
export const CURRENCY_CODES = Object.keys(CURRENCIES) as Currency[]

export const DEFAULT_CURRENCY: Currency = 'USD'

/** For texts: the currencies whose payments must name a country, such as "XAF and XOF". */
export const COUNTRY_REQUIRED_CURRENCIES: string = new Intl.ListFormat('en').format(
  CURRENCY_CODES.filter((code) => CURRENCIES[code].countryRequired),
)

export function isCurrency(text: unknown): text is Currency {
  return typeof text === 'string' && Object.hasOwn(CURRENCIES, text)
}

export function decimalsOf(currency: Currency): 0 | 2 {
  return CURRENCIES[currency].decimals
}

export function usesCurrency(country: string, currency: Currency): boolean {
  const facts: CurrencyFacts = CURRENCIES[currency]
  return facts.countries.includes(country)
}

/** The country of a payment that names none: the only or first country of the currency. Null where that would be a guess. */
export function defaultCountry(currency: Currency): string | null {
  const facts: CurrencyFacts = CURRENCIES[currency]
  if (facts.countryRequired || currency === 'EUR') return null
  return facts.countries[0] ?? null
}
