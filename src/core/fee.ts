// The fee that the instance keeps of a payment.

import type { Currency } from './currency.ts'
import { type Money, money, shareOf } from './money.ts'

export interface Fee {
  partsPerMillion: bigint
  fixedMinor: bigint
}

/** By gateway and currency; the setting's `*` is already expanded to the currencies that it does not name. */
export type FeeTable = ReadonlyMap<string, ReadonlyMap<Currency, Fee>>

/** The share, rounded half up, and the fixed part; at most the payment itself. */
export function feeOf(fees: FeeTable, gateway: string, paid: Money): Money {
  const fee = fees.get(gateway)?.get(paid.currency)
  if (!fee) return money(0n, paid.currency)
  const wanted = shareOf(paid, fee.partsPerMillion).minor + fee.fixedMinor
  return money(wanted > paid.minor ? paid.minor : wanted, paid.currency)
}
