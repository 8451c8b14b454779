import type { Currency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { LinksApp } from './app.ts'

/**
 * Whether a gateway that can collect for the link is sent an e-mail address. The sandbox and transfers to the merchant
 * count only if there is no other gateway.
 */
export async function needsEmail(
  app: Pick<LinksApp, 'gateways'>,
  merchantId: string,
  { currency, country, amountMinor, minAmountMinor }: Wanted,
): Promise<boolean> {
  const wanted = { currency, country, amountMinor: amountMinor ?? minAmountMinor, key: null }
  const { candidates } = await app.gateways.explain(merchantId, wanted)
  const names = new Set(candidates.map(({ name }) => name))
  const gateways = (await app.gateways.listForMerchant(merchantId)).map(({ gateway }) => gateway)
  const collecting = gateways.filter((one) => names.has(one.name))
  const real = collecting.filter((one) => one.instruments === undefined && !one.settlesDirectly)
  return (real.length > 0 ? real : collecting).some(({ behavior }) => !behavior.worksWithoutEmail)
}

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
