import type { Currency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { LinksApp } from './app.ts'

interface Wanted {
  currency: Currency
  country: string | null
  /** Null if the payer chooses it. */
  amountMinor: bigint | null
}

/**
 * Whether a gateway that can collect for the link, whatever amount the payer chooses, is sent an e-mail address. The
 * sandbox and transfers to the merchant count only if there is no other gateway.
 */
export async function needsEmail(
  app: Pick<LinksApp, 'gateways'>,
  merchantId: string,
  wanted: Wanted,
): Promise<boolean> {
  const names = new Set(await findGateways(app, merchantId, wanted))
  const gateways = (await app.gateways.listForMerchant(merchantId)).map(({ gateway }) => gateway)
  const collecting = gateways.filter((one) => names.has(one.name))
  const real = collecting.filter((one) => one.instruments === undefined && !one.settlesDirectly)
  return (real.length > 0 ? real : collecting).some(({ behavior }) => !behavior.worksWithoutEmail)
}

/** Requires a gateway that can collect the amount, or the smallest amount that the payer may choose. */
export async function requireRoute(
  app: Pick<LinksApp, 'gateways'>,
  merchantId: string,
  { currency, country, amountMinor, minAmountMinor }: Wanted & { minAmountMinor: bigint | null },
): Promise<void> {
  const wanted = { currency, country, amountMinor: amountMinor ?? minAmountMinor }
  if ((await findGateways(app, merchantId, wanted)).length === 0) throw new ApiError('no_route_available')
}

async function findGateways(
  { gateways }: Pick<LinksApp, 'gateways'>,
  merchantId: string,
  { currency, country, amountMinor }: Wanted,
): Promise<string[]> {
  const { candidates } = await gateways.explain(merchantId, { currency, country, amountMinor, key: null })
  return candidates.map(({ name }) => name)
}
