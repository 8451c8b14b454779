// The countries of MTN MoMo. An API user belongs to one of them, which the target environment names, and collects in its
// currency alone.

import type { Currency } from '../../core/currency.ts'
import type { Rail } from '../gateway.ts'

interface Market {
  country: string
  currency: Currency
}

/** The target environment of MTN's sandbox. Its only currency is EUR, whatever the country of the payer. */
export const SANDBOX = 'sandbox'

const market = (country: string, currency: Currency): Market => ({ country, currency })

/** By target environment. Those whose currency the service does not have (Guinea, Eswatini) are absent. */
const MARKETS: Readonly<Record<string, Market>> = {
  mtnbenin: market('BJ', 'XOF'),
  mtncameroon: market('CM', 'XAF'),
  mtncongo: market('CG', 'XAF'),
  mtnghana: market('GH', 'GHS'),
  mtnivorycoast: market('CI', 'XOF'),
  mtnliberia: market('LR', 'LRD'),
  mtnnigeria: market('NG', 'NGN'),
  mtnrwanda: market('RW', 'RWF'),
  mtnsouthafrica: market('ZA', 'ZAR'),
  mtnsouthsudan: market('SS', 'SSP'),
  mtnuganda: market('UG', 'UGX'),
  mtnzambia: market('ZM', 'ZMW'),
}

export const TARGET_ENVIRONMENTS: readonly string[] = Object.keys(MARKETS)

/** Where MTN MoMo collects, with an API user for each country. */
export const RAILS: readonly Rail[] = Object.values(MARKETS).map(toRail)

function toRail({ country, currency }: Market): Rail {
  const networks = [`mtn_${country.toLowerCase()}`]
  return { currency, countries: [country], channels: ['mobile_money'], prompts: true, networks }
}

const SANDBOX_RAIL: Rail = { currency: 'EUR', channels: ['mobile_money'], prompts: true }

/** The rail of an API user; undefined for a target environment that is not known. */
export function railOf(targetEnvironment: string): Rail | undefined {
  if (targetEnvironment === SANDBOX) return SANDBOX_RAIL
  const found = Object.hasOwn(MARKETS, targetEnvironment) ? MARKETS[targetEnvironment] : undefined
  return found && toRail(found)
}
