// The default routing table: which gateways collect a currency in a country, best first. Local rails come before
// international cards. Operators can override it per merchant. An empty row is a currency that no gateway of this
// version collects.

import type { Currency } from '../../core/currency.ts'

export interface Route {
  currency: Currency
  /** Null: any other country of the currency, or no country. */
  country: string | null
  gateways: readonly string[]
}

const route = (currency: Currency, country: string | null, gateways: string): Route => ({
  currency,
  country,
  gateways: gateways.split(' ').filter((name) => name !== ''),
})

export const DEFAULT_ROUTES: readonly Route[] = [
  route('BDT', 'BD', 'bkash sslcommerz stripe'),
  route('BIF', 'BI', 'stripe'),
  route('BWP', 'BW', 'stripe'),
  route('CAD', null, 'stripe'),
  route('CDF', 'CD', 'pawapay stripe'),
  route('EGP', 'EG', 'paymob flutterwave stripe'),
  route('ETB', 'ET', 'chapa pawapay stripe'),
  // The sandbox of MTN MoMo takes EUR alone.
  route('EUR', null, 'stripe flutterwave mtn_momo'),
  route('GBP', null, 'stripe flutterwave'),
  route('GHS', 'GH', 'mtn_momo paystack flutterwave pawapay'),
  route('GMD', 'GM', 'wave stripe'),
  route('KES', 'KE', 'daraja paystack flutterwave pawapay stripe'),
  route('LRD', 'LR', 'mtn_momo stripe'),
  route('LSL', 'LS', 'pawapay stripe'),
  route('MUR', 'MU', 'stripe'),
  route('MWK', 'MW', 'flutterwave pawapay stripe'),
  route('MZN', 'MZ', 'pawapay stripe'),
  route('NGN', 'NG', 'paystack flutterwave mtn_momo pawapay stripe'),
  route('RWF', 'RW', 'mtn_momo flutterwave pawapay stripe'),
  route('SLE', 'SL', 'pawapay stripe'),
  route('SSP', 'SS', 'mtn_momo'),
  route('TZS', 'TZ', 'flutterwave pawapay stripe'),
  route('UGX', 'UG', 'mtn_momo flutterwave pawapay stripe'),
  route('USD', 'CD', 'pawapay stripe'),
  route('USD', 'NG', 'paystack flutterwave stripe'),
  route('USD', 'KE', 'paystack stripe'),
  route('USD', null, 'stripe flutterwave'),
  route('XAF', 'CM', 'mtn_momo flutterwave pawapay stripe'),
  route('XAF', 'GA', 'pawapay stripe'),
  route('XAF', 'CG', 'mtn_momo pawapay stripe'),
  route('XAF', 'CF', 'stripe'),
  route('XAF', 'TD', 'stripe'),
  route('XAF', 'GQ', 'stripe'),
  route('XOF', 'CI', 'mtn_momo wave paystack pawapay flutterwave stripe'),
  route('XOF', 'SN', 'wave pawapay flutterwave stripe'),
  route('XOF', 'BJ', 'mtn_momo pawapay stripe'),
  route('XOF', 'BF', 'pawapay flutterwave stripe'),
  route('XOF', 'GW', 'stripe'),
  route('XOF', 'ML', 'stripe'),
  route('XOF', 'NE', 'stripe'),
  route('XOF', 'TG', 'stripe'),
  route('ZAR', 'ZA', 'paystack flutterwave mtn_momo stripe'),
  route('ZAR', null, 'stripe'),
  route('ZMW', 'ZM', 'mtn_momo flutterwave pawapay stripe'),
]
