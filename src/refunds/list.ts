// Refunds as they are stored, one or many.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import { pageOf, substringPattern, windowOf } from '../kit/db/pagination.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { listRefundRows } from './list-queries.ts'
import { findRefund, type RefundRow } from './queries.ts'
import type { RefundsQuery } from './schema.ts'

export async function requireRefund(app: PaymentsApp, merchant: Merchant, id: string): Promise<RefundRow> {
  const refund = await findRefund(app.db, merchant.id, id)
  if (!refund) throw new ApiError('refund_not_found')
  return refund
}

export async function listRefunds(
  app: PaymentsApp,
  merchant: Merchant,
  query: RefundsQuery,
): Promise<{ rows: RefundRow[]; meta: PageMeta }> {
  const { status = null, payment: paymentId = null, currency = null, search } = query
  const scope = `refunds:${JSON.stringify([merchant.id, status, paymentId, currency, search])}`
  const window = windowOf(app.cursors, scope, query)
  const pattern = search === undefined ? null : substringPattern(search.toLowerCase())
  const filter = { status, paymentId, currency, pattern }
  const { rows, counted } = await listRefundRows(app.db, merchant.id, filter, window)
  return pageOf(app.cursors, scope, window, rows, counted)
}
