// The 28 currencies of the interface, and the countries where each is used. Decimals follow ISO 4217;
// providers that count differently say so in their own connector.

interface CurrencyFacts {
  decimals: 0 | 2
  countries: readonly string[]
  /** Several countries share it and each has rails of its own, so a payment must name one. */
  countryRequired: boolean
}

const EURO_COUNTRIES =
  'AD AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MC ME MT NL PT SI SK SM VA XK'.split(' ')

// Where the dollar is legal tender or in daily use, and the two countries (KE, NG) whose rails collect it.
const DOLLAR_COUNTRIES = 'US AS BQ CD EC FM GU IO KE LR MH MP NG PA PR PW SV TC TL UM VG VI ZW'.split(' ')

const used = (
  decimals: 0 | 2,
  countries: string | readonly string[],
  countryRequired = false,
): CurrencyFacts => ({
  decimals,
  countries: typeof countries === 'string' ? countries.split(' ') : countries,
  countryRequired,
})

export const CURRENCIES = {
  BDT: used(2, 'BD'),
  BIF: used(0, 'BI'),
  BWP: used(2, 'BW'),
  CAD: used(2, 'CA'),
  CDF: used(2, 'CD'),
  EGP: used(2, 'EG'),
  ETB: used(2, 'ET'),
  EUR: used(2, EURO_COUNTRIES),
  GBP: used(2, 'GB GG IM JE'),
  GHS: used(2, 'GH'),
  GMD: used(2, 'GM'),
  KES: used(2, 'KE'),
  LRD: used(2, 'LR'),
  LSL: used(2, 'LS'),
  MUR: used(2, 'MU'),
  MWK: used(2, 'MW'),
  MZN: used(2, 'MZ'),
  NGN: used(2, 'NG'),
  RWF: used(0, 'RW'),
  SLE: used(2, 'SL'),
  SSP: used(2, 'SS'),
  TZS: used(2, 'TZ'),
  UGX: used(0, 'UG'),
  USD: used(2, DOLLAR_COUNTRIES),
  XAF: used(0, 'CM CF TD CG GQ GA', true),
  XOF: used(0, 'BJ BF CI GW ML NE SN TG', true),
  ZAR: used(2, 'ZA LS NA'),
  ZMW: used(2, 'ZM'),
} as const satisfies Record<string, CurrencyFacts>

export type Currency = keyof typeof CURRENCIES

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const CURRENCY_CODES = Object.keys(CURRENCIES) as Currency[]

export const DEFAULT_CURRENCY: Currency = 'USD'

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

/** The country whose rails serve a payment that names none: the only or first country of the currency. */
export function defaultCountry(currency: Currency): string | null {
  const facts: CurrencyFacts = CURRENCIES[currency]
  if (facts.countryRequired || currency === 'EUR') return null
  return facts.countries[0] ?? null
}
