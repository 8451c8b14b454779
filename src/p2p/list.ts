import type { Merchant } from '../core/merchant.ts'
import type { PageMeta } from '../core/page.ts'
import { type ListQuery, paginate } from '../kit/db/pagination.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findPayments } from '../payments/find.ts'
import { serializePayment, serializePayments } from '../payments/views.ts'

import { readNarration } from './narration.ts'
import type { RequestedPayment } from './request-transfer.ts'
import { toTransfer, withoutTransfer } from './schema.ts'
import { listTransferRows } from './transfer-queries.ts'

/** The record of the payment with the fields of its transfer. */
export async function serializeP2pPayment(app: PaymentsApp, { payment, transfer }: RequestedPayment) {
  const record = await serializePayment(app, payment)
  return { ...record, ...(transfer ? toTransfer(transfer, record) : withoutTransfer(record)) }
}

export async function listP2pPayments(
  app: PaymentsApp,
  merchant: Merchant,
  query: ListQuery & { transferStatus?: string; currency?: string; narration?: string },
): Promise<{ records: unknown[]; meta: PageMeta }> {
  const { transferStatus: status = null, currency = null } = query
  const narration = query.narration === undefined ? null : readNarration(query.narration)
  const scope = `p2p-payments:${merchant.id}:${status}:${currency}:${narration}`
  const { rows, meta } = await paginate(app.cursors, scope, query, (window) =>
    listTransferRows(app.db, merchant.id, { status, currency, narration }, window),
  )
  const payments = await findPayments(
    app.db,
    merchant.id,
    rows.map(({ id }) => id),
  )
  const records = new Map((await serializePayments(app, payments)).map((record) => [record.uuid, record]))
  const serialized = rows.flatMap((row) => {
    const record = records.get(row.id)
    return record ? [{ ...record, ...toTransfer(row, record) }] : []
  })
  return { records: serialized, meta }
}
