// Why a balance is what it is, for the dashboard alone.

import { Type } from 'typebox'
import type { Db } from '../kit/db/db.ts'
import { ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { CurrencyFilter, PAGE_QUERY } from '../kit/http/schema.ts'
import { explainChange } from './change.ts'

export function walletPersonRoutes(app: { db: Db }): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: '/app/wallet-change',
      scope: 'wallet:read',
      operationId: 'wallet.change',
      query: Type.Object({
        currency: CurrencyFilter,
        createdFrom: PAGE_QUERY.createdFrom,
        createdTo: PAGE_QUERY.createdTo,
      }),
      handle: async ({ merchant, query }) => ok('The change.', await explainChange(app, merchant, query)),
    }),
  ]
}
