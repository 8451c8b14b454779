// Flutterwave's direct charges of mobile money: one type for each currency, with Flutterwave's names of the networks.

import type { Currency } from '../../core/currency.ts'

interface ChargeType {
  type: string
  /** By the code of the network in core/networks.ts; null: the type needs no name. */
  networks: Readonly<Record<string, string | null>>
  /**
   * The payer first goes to a page that the response names. Without this Flutterwave prompts the phone at once, except for
   * Wave.
   */
  redirects?: true
}

const FRANCO = 'mobile_money_franco'

const CHARGE_TYPES: Partial<Record<Currency, ChargeType>> = {
  GHS: {
    type: 'mobile_money_ghana',
    networks: { mtn_gh: 'MTN', telecel_gh: 'VODAFONE', at_gh: 'AIRTELTIGO' },
    redirects: true,
  },
  KES: { type: 'mpesa', networks: { mpesa_ke: null } },
  RWF: { type: 'mobile_money_rwanda', networks: { mtn_rw: 'MTN', airtel_rw: 'AIRTEL' }, redirects: true },
  TZS: {
    type: 'mobile_money_tanzania',
    networks: { mpesa_tz: 'VODACOM', mixx_tz: 'TIGO', airtel_tz: 'AIRTEL', halopesa_tz: 'HALOPESA' },
  },
  UGX: { type: 'mobile_money_uganda', networks: { mtn_ug: 'MTN', airtel_ug: 'AIRTEL' }, redirects: true },
  XAF: { type: FRANCO, networks: { mtn_cm: 'MTN', orange_cm: 'ORANGEMONEY' } },
  XOF: {
    type: FRANCO,
    networks: {
      orange_ci: 'ORANGEMONEY',
      wave_ci: 'WAVE',
      mtn_ci: 'MTN',
      wave_sn: 'WAVE',
      orange_sn: 'ORANGEMONEY',
      orange_bf: 'ORANGEMONEY',
    },
  },
  ZMW: {
    type: 'mobile_money_zambia',
    networks: { airtel_zm: 'AIRTEL', mtn_zm: 'MTN', zamtel_zm: 'ZAMTEL' },
    redirects: true,
  },
}

/** The networks of a currency that can be charged from our page; undefined if there are none. */
export function chargedNetworks(currency: Currency): readonly string[] | undefined {
  const found = CHARGE_TYPES[currency]
  return found && Object.keys(found.networks)
}

interface WalletCharge {
  type: string
  network: string | null
  /** Flutterwave prompts the phone without another page. */
  isPrompt: boolean
}

/** How a network is charged in a currency; undefined if it is not. */
export function walletChargeOf(currency: Currency, network: string): WalletCharge | undefined {
  const found = CHARGE_TYPES[currency]
  if (!found || !Object.hasOwn(found.networks, network)) return undefined
  const name = found.networks[network] ?? null
  return { type: found.type, network: name, isPrompt: !found.redirects && name !== 'WAVE' }
}
