import { Type } from 'typebox'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db.ts'
import { ok, type Route, route } from '../kit/route.ts'
import { AmountText, CurrencyCode, CurrencyFilter, Timestamp } from '../kit/schema.ts'
import { walletBalance } from './service.ts'

const BALANCE = { currency: CurrencyCode, availableBalance: AmountText, pendingBalance: AmountText }

const WalletBalance = Type.Object({
  ...BALANCE,
  balances: Type.Array(Type.Object(BALANCE)),
  updatedAt: Timestamp,
})

export function walletRoutes(app: { db: Db; clock: Clock }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/wallet/balance',
      tag: 'Misc',
      scope: 'wallet:read',
      summary: 'Get the wallet balance',
      description:
        'Pending is collected and not settled yet, available is settled. The top level is your base currency, or the one asked for; currencies are never added together.',
      query: Type.Object({ currency: Type.Optional(CurrencyFilter) }),
      answer: { http: 200, data: WalletBalance },
      refusals: ['invalid_currency'],
      examples: {
        data: {
          currency: 'KES',
          availableBalance: '12500.00',
          pendingBalance: '1250.50',
          balances: [{ currency: 'KES', availableBalance: '12500.00', pendingBalance: '1250.50' }],
          updatedAt: '2026-03-14T09:26:53.589Z',
        },
      },
      handle: async ({ merchant, query }) =>
        ok('Wallet balance retrieved.', await walletBalance(app, merchant, query.currency)),
    }),
  ]
}
