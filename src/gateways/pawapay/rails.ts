// Where pawaPay collects: mobile money only, by prompts on the payer's phone or on its page. The account decides which
// operators a merchant may use.

import { type Currency, defaultCountry } from '../../core/currency.ts'
import type { Money } from '../../core/money.ts'
import type { Rail } from '../gateway.ts'
import { promptingRails } from './operators.ts'

type PageLanguage = 'EN' | 'FR'

interface CountryFacts {
  /** ISO 3166 alpha-3, the only country format that pawaPay accepts. */
  alpha3: string
  /** Its pages have two languages: French where business is done in French, English elsewhere. */
  language: PageLanguage
}

const COUNTRIES: Readonly<Record<string, CountryFacts>> = {
  BF: { alpha3: 'BFA', language: 'FR' },
  BJ: { alpha3: 'BEN', language: 'FR' },
  CD: { alpha3: 'COD', language: 'FR' },
  CG: { alpha3: 'COG', language: 'FR' },
  CI: { alpha3: 'CIV', language: 'FR' },
  CM: { alpha3: 'CMR', language: 'FR' },
  ET: { alpha3: 'ETH', language: 'EN' },
  GA: { alpha3: 'GAB', language: 'FR' },
  GH: { alpha3: 'GHA', language: 'EN' },
  KE: { alpha3: 'KEN', language: 'EN' },
  LS: { alpha3: 'LSO', language: 'EN' },
  MW: { alpha3: 'MWI', language: 'EN' },
  MZ: { alpha3: 'MOZ', language: 'EN' },
  NG: { alpha3: 'NGA', language: 'EN' },
  RW: { alpha3: 'RWA', language: 'EN' },
  SL: { alpha3: 'SLE', language: 'EN' },
  SN: { alpha3: 'SEN', language: 'FR' },
  TZ: { alpha3: 'TZA', language: 'EN' },
  UG: { alpha3: 'UGA', language: 'EN' },
  ZM: { alpha3: 'ZMB', language: 'EN' },
}

function rail(currency: Currency, countries: string, stepMinor?: bigint): Rail {
  return {
    currency,
    countries: countries.split(' '),
    channels: ['mobile_money'],
    ...(stepMinor !== undefined && { stepMinor }),
  }
}

// Operators differ in decimals, and on pawaPay's page the payer chooses the operator there. If one operator of a currency
// takes no decimals, only whole amounts can always be paid. Where operators take decimals that ISO 4217 does not have
// (Uganda, Gabon), we still send whole amounts.
const WHOLE_UNITS = 100n

/** For accounts whose payers enter the number on pawaPay's page. */
export const PAGE_RAILS: readonly Rail[] = [
  rail('CDF', 'CD', WHOLE_UNITS),
  rail('ETB', 'ET'),
  rail('GHS', 'GH'),
  rail('KES', 'KE', WHOLE_UNITS),
  rail('LSL', 'LS'),
  rail('MWK', 'MW'),
  rail('MZN', 'MZ', WHOLE_UNITS),
  rail('NGN', 'NG', WHOLE_UNITS),
  rail('RWF', 'RW'),
  rail('SLE', 'SL'),
  rail('TZS', 'TZ', WHOLE_UNITS),
  rail('UGX', 'UG'),
  rail('USD', 'CD'),
  rail('XAF', 'CM GA CG'),
  rail('XOF', 'CI SN BJ BF'),
  rail('ZMW', 'ZM'),
]

export const RAILS: readonly Rail[] = PAGE_RAILS.flatMap((one) => promptingRails(one, WHOLE_UNITS))

/** The country of a payment, or why pawaPay does not collect it. */
export function countryOf({
  amount: { currency },
  country,
}: {
  amount: Money
  country: string | null
}): CountryFacts | { issue: string } {
  const code = country ?? defaultCountry(currency) ?? ''
  const isCollected = PAGE_RAILS.some((one) => one.currency === currency && one.countries?.includes(code))
  const facts = Object.hasOwn(COUNTRIES, code) ? COUNTRIES[code] : undefined
  return isCollected && facts
    ? facts
    : { issue: `pawaPay does not collect ${currency} in ${code || 'any country'}` }
}

/** The country for pawaPay's page, or why this amount cannot be collected there. */
export function pageCountryOf(payment: {
  amount: Money
  country: string | null
}): CountryFacts | { issue: string } {
  const { minor, currency } = payment.amount
  const rail = PAGE_RAILS.find((one) => one.currency === currency)
  return minor % (rail?.stepMinor ?? 1n) === 0n
    ? countryOf(payment)
    : { issue: `pawaPay collects only whole amounts of ${currency}` }
}
