// Where pawaPay collects: mobile money only. The account decides which operators a merchant may use.

import { type Currency, defaultCountry } from '../../core/currency.ts'
import type { Money } from '../../core/money.ts'
import type { Rail } from '../gateway.ts'

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

// Operators differ in decimals, and the payer chooses the operator on pawaPay's page. If one operator of a currency
// takes no decimals, only whole amounts can always be paid. Where operators take decimals that ISO 4217 does not have
// (Uganda, Gabon), we still send whole amounts.
const WHOLE_UNITS = 100n

export const RAILS: readonly Rail[] = [
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

/** The country for pawaPay's page, or why this amount cannot be collected there. */
export function countryFor(amount: Money, country: string | null): CountryFacts | { issue: string } {
  const { minor, currency } = amount
  const code = country ?? defaultCountry(currency) ?? ''
  const found = RAILS.find((one) => one.currency === currency && one.countries?.includes(code))
  const facts = Object.hasOwn(COUNTRIES, code) ? COUNTRIES[code] : undefined
  if (!found || !facts) return { issue: `pawaPay does not collect ${currency} in ${code || 'any country'}` }
  if (minor % (found.stepMinor ?? 1n) !== 0n)
    return { issue: `pawaPay collects only whole amounts of ${currency}` }
  return facts
}
