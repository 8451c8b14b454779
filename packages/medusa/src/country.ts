// Which country a payment names. Only XOF and XAF require one: each of their countries has its own gateways.

const COUNTRIES: Readonly<Record<string, readonly string[]>> = {
  XOF: ['BF', 'BJ', 'CI', 'GW', 'ML', 'NE', 'SN', 'TG'],
  XAF: ['CF', 'CG', 'CM', 'GA', 'GQ', 'TD'],
}

/** The first of the countries that uses a currency which requires a country. A customer with an address elsewhere can pay too. */
export function countryFor(
  currency: string,
  candidates: readonly (string | null | undefined)[],
): string | undefined {
  const countries = candidates.map((country) => country?.toUpperCase())
  return countries.find((country) => country !== undefined && COUNTRIES[currency]?.includes(country))
}
