// From which amounts refunds by people need more than the right to refund.

import { Type } from 'typebox'
import { formatAmount } from '../../core/money.ts'
import { ok, type PersonRoute, personRoute } from '../../kit/http/route.ts'
import { CurrencyFilter } from '../../kit/http/schema.ts'
import { findLimit } from '../../merchants/service.ts'
import type { PaymentsApp } from '../../payments/app.ts'
import type { RefundLimits } from './limit.ts'

export function refundLimitRoutes(app: Pick<PaymentsApp, 'db'>): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: '/app/refunds/limits',
      scope: 'refunds:read',
      operationId: 'refunds.limits',
      query: Type.Object({ currency: CurrencyFilter }),
      handle: async ({ merchant, query: { currency } }) => {
        const [approval, confirmation] = await Promise.all([
          findLimit(app.db, merchant.id, 'refundApprovals', currency),
          findLimit(app.db, merchant.id, 'refundConfirmations', currency),
        ])
        const limits: RefundLimits = {
          approvalFrom: approval && formatAmount(approval),
          confirmationFrom: confirmation && formatAmount(confirmation),
        }
        return ok('Limits of refunds.', limits)
      },
    }),
  ]
}
