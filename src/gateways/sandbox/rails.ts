// What the sandbox collects: everything, or only what payers would get from real gateways.

import { CURRENCY_CODES } from '../../core/currency.ts'
import type { Rail } from '../gateway.ts'

/**
 * all: every channel in every currency, with marks at what no gateway of this version collects there. connectors: only what a gateway of this version collects there, in any amount.
 * configured: only what the merchant's gateways collect there, in the amounts that they take; for a merchant without one, as
 * connectors.
 */
type SandboxWays = 'all' | 'connectors' | 'configured'

export const ALL_RAILS: readonly Rail[] = CURRENCY_CODES.map((currency) => ({
  currency,
  channels: ['card', 'mobile_money', 'bank_transfer'],
  prompts: true,
  transfers: true,
}))

/** The function from the rails of a merchant's gateways to those of the sandbox. */
export function sandboxRails(
  ways: SandboxWays,
  ofConnectors: readonly Rail[],
): (ofMerchant: readonly Rail[]) => readonly Rail[] {
  const connectors = ofConnectors.map(inAnyAmount)
  const all = ALL_RAILS.map((rail) => ({
    ...rail,
    connectors: connectors.filter(({ currency }) => currency === rail.currency),
  }))
  return (ofMerchant) => {
    if (ways === 'all') return all
    return ways === 'connectors' || ofMerchant.length === 0 ? connectors : ofMerchant
  }
}

function inAnyAmount({ minimumMinor, maximumMinor, stepMinor, ...rail }: Rail): Rail {
  return rail
}
