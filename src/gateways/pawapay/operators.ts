// The operators whose payers are prompted through pawaPay, by the network of our list. The account decides which of them a
// merchant may use.

import type { Currency } from '../../core/currency.ts'
import { findNetwork } from '../../core/networks.ts'
import type { Rail } from '../gateway.ts'

/**
 * How the payer authorises a deposit: a prompt on the phone, a page of the operator, or a code that the payer gets from the
 * operator first.
 */
export type Authorisation = 'prompt' | 'redirect' | 'code'

interface Operator {
  /** pawaPay's name of it. */
  provider: string
  /** The code of the network in core/networks.ts. */
  network: string
  currencies: readonly Currency[]
  /** It takes whole amounts only, although the currency has decimals. */
  wholeUnits: boolean
  authorisation: Authorisation
}

type OperatorFacts = readonly [provider: string, network: string, currencies: string, note?: string]

const FACTS: readonly OperatorFacts[] = [
  ['VODACOM_MPESA_COD', 'mpesa_cd', 'CDF', 'whole'],
  ['VODACOM_MPESA_COD', 'mpesa_cd', 'USD'],
  ['AIRTEL_COD', 'airtel_cd', 'CDF USD'],
  ['ORANGE_COD', 'orange_cd', 'CDF USD'],
  ['MPESA_ETH', 'mpesa_et', 'ETB'],
  ['MTN_MOMO_GHA', 'mtn_gh', 'GHS'],
  ['AIRTELTIGO_GHA', 'at_gh', 'GHS'],
  ['VODAFONE_GHA', 'telecel_gh', 'GHS'],
  ['MPESA_KEN', 'mpesa_ke', 'KES', 'whole'],
  ['MPESA_LSO', 'mpesa_ls', 'LSL'],
  ['AIRTEL_MWI', 'airtel_mw', 'MWK'],
  ['TNM_MWI', 'mpamba_mw', 'MWK'],
  ['VODACOM_MOZ', 'mpesa_mz', 'MZN'],
  ['MOVITEL_MOZ', 'emola_mz', 'MZN', 'whole'],
  ['MTN_MOMO_NGA', 'mtn_ng', 'NGN'],
  ['AIRTEL_NGA', 'airtel_ng', 'NGN', 'whole'],
  ['MTN_MOMO_RWA', 'mtn_rw', 'RWF'],
  ['AIRTEL_RWA', 'airtel_rw', 'RWF'],
  ['ORANGE_SLE', 'orange_sl', 'SLE'],
  ['AIRTEL_TZA', 'airtel_tz', 'TZS'],
  ['VODACOM_TZA', 'mpesa_tz', 'TZS', 'whole'],
  ['TIGO_TZA', 'mixx_tz', 'TZS', 'whole'],
  ['HALOTEL_TZA', 'halopesa_tz', 'TZS', 'whole'],
  ['MTN_MOMO_UGA', 'mtn_ug', 'UGX'],
  ['AIRTEL_OAPI_UGA', 'airtel_ug', 'UGX'],
  ['MTN_MOMO_CMR', 'mtn_cm', 'XAF'],
  ['ORANGE_CMR', 'orange_cm', 'XAF'],
  ['AIRTEL_GAB', 'airtel_ga', 'XAF'],
  ['AIRTEL_COG', 'airtel_cg', 'XAF'],
  ['MTN_MOMO_COG', 'mtn_cg', 'XAF'],
  ['MTN_MOMO_CIV', 'mtn_ci', 'XOF'],
  ['ORANGE_CIV', 'orange_ci', 'XOF'],
  ['WAVE_CIV', 'wave_ci', 'XOF', 'redirect'],
  ['ORANGE_SEN', 'orange_sn', 'XOF'],
  ['FREE_SEN', 'free_sn', 'XOF'],
  ['WAVE_SEN', 'wave_sn', 'XOF', 'redirect'],
  ['MTN_MOMO_BEN', 'mtn_bj', 'XOF'],
  ['MOOV_BEN', 'moov_bj', 'XOF'],
  ['MOOV_BFA', 'moov_bf', 'XOF'],
  ['ORANGE_BFA', 'orange_bf', 'XOF', 'code'],
  ['MTN_MOMO_ZMB', 'mtn_zm', 'ZMW'],
  ['AIRTEL_OAPI_ZMB', 'airtel_zm', 'ZMW'],
  ['ZAMTEL_ZMB', 'zamtel_zm', 'ZMW'],
]

const OPERATORS: readonly Operator[] = FACTS.map(([provider, network, currencies, note]) => ({
  provider,
  network,
  // A boundary: the conformance suite checks the currencies of rails.
  currencies: currencies.split(' ') as Currency[],
  wholeUnits: note === 'whole',
  authorisation: note === 'redirect' || note === 'code' ? note : 'prompt',
}))

export const providerOf = (network: string): string | undefined =>
  OPERATORS.find((one) => one.network === network)?.provider

/** The network's name as payers know it; undefined for an operator that is not in our list. */
export function networkNameOf(provider: string): string | undefined {
  const operator = OPERATORS.find((one) => one.provider === provider)
  return operator && findNetwork(operator.network)?.name
}

export const authorisationOf = (provider: string): Authorisation =>
  OPERATORS.find((one) => one.provider === provider)?.authorisation ?? 'prompt'

/**
 * A rail of pawaPay's pages as rails that prompt: one for the operators that take every amount of the currency, and one for
 * those that take whole amounts only.
 */
export function promptingRails({ stepMinor: _step, ...rail }: Rail, wholeUnits: bigint): Rail[] {
  const operators = OPERATORS.filter(
    ({ currencies, network }) =>
      currencies.includes(rail.currency) && rail.countries?.includes(findNetwork(network)?.country ?? ''),
  )
  return [false, true].flatMap((isWhole) => {
    const networks = operators.filter((one) => one.wholeUnits === isWhole).map(({ network }) => network)
    const step = isWhole ? { stepMinor: wholeUnits } : {}
    return networks.length === 0 ? [] : [{ ...rail, prompts: true as const, networks, ...step }]
  })
}
