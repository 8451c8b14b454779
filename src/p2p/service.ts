// The face of this slice: the verbs that others may use. Each lives in the file of its name.

import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { findTransferRow, type TransferRow } from './transfer-queries.ts'

/** What is known of the transfer that a payment was to be paid by, if it was. */
export async function findTransfer(
  app: Pick<PaymentsApp, 'db'>,
  { merchantId, id }: PaymentRow,
): Promise<TransferRow | null> {
  return (await findTransferRow(app.db, merchantId, id)) ?? null
}
