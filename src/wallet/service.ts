// The merchant's view of the ledger: balances per currency, which are never added together.

import { type Currency, isCurrency } from '../core/currency.ts'
import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { type Balance, readBalances } from '../ledger/service.ts'

export async function walletBalance(app: { db: Db; clock: Clock }, merchant: Merchant, currency?: Currency) {
  const all = await readBalances(app.db, merchant.id)
  const base = isCurrency(merchant.baseCurrency) ? merchant.baseCurrency : 'USD'
  const shown = currency ?? base
  const balances = currency ? all.filter((balance) => balance.currency === currency) : all
  const top = all.find((balance) => balance.currency === shown) ?? emptyBalance(shown, app.clock.now())
  const times = balances.map((balance) => balance.updatedAt.getTime())
  return {
    ...toBalance(top),
    balances: (balances.length > 0 ? balances : [top]).map(toBalance),
    updatedAt: new Date(Math.max(...(times.length > 0 ? times : [top.updatedAt.getTime()]))).toISOString(),
  }
}

function emptyBalance(currency: Currency, now: Date): Balance {
  return { currency, available: money(0n, currency), pending: money(0n, currency), updatedAt: now }
}

function toBalance(balance: Balance) {
  return {
    currency: balance.currency,
    availableBalance: formatAmount(balance.available),
    pendingBalance: formatAmount(balance.pending),
  }
}
