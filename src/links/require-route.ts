import type { Currency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { LinksApp } from './app.ts'

interface Wanted {
  currency: Currency
  country: string | null
  amountMinor: bigint | null
  minAmountMinor: bigint | null
}

/** Requires a gateway that can collect the amount, or the smallest amount that the payer may choose. */
export async function requireRoute(
  app: Pick<LinksApp, 'gateways'>,
  merchantId: string,
  { currency, country, amountMinor, minAmountMinor }: Wanted,
): Promise<void> {
  const wanted = { currency, country, amountMinor: amountMinor ?? minAmountMinor, key: null }
  const { candidates } = await app.gateways.explain(merchantId, wanted)
  if (candidates.length === 0) throw new ApiError('no_route_available')
}
