import type { Merchant } from '../core/merchant.ts'
import { type ListQuery, pageOf, windowOf } from '../kit/pagination.ts'
import type { PaymentsApp } from './app.ts'
import { countLinkPayments, listLinkPaymentRows } from './link-queries.ts'
import type { PaymentStatus } from './states.ts'

/** The payments that were begun at a link, in the one shape of all lists. */
export async function listLinkPayments(
  app: Pick<PaymentsApp, 'db' | 'cursors'>,
  merchant: Merchant,
  linkId: string,
  query: ListQuery & { status?: PaymentStatus },
) {
  const status = query.status ?? null
  const scope = `link-payments:${merchant.id}:${linkId}:${status}`
  const window = windowOf(app.cursors, scope, query)
  const [rows, counted] = await Promise.all([
    listLinkPaymentRows(app.db, merchant.id, linkId, status, window),
    countLinkPayments(app.db, merchant.id, linkId, status, window),
  ])
  return pageOf(app.cursors, scope, window, rows, counted)
}
