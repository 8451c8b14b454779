// The face of this slice: the verbs that others may use. Each lives in the file of its name.

import type { PaymentRow, PaymentsApp } from '../payments/service.ts'
import { findTransferRow, type TransferRow } from './transfer-queries.ts'

export { P2P, type P2pApp } from './app.ts'
export { differenceOf } from './difference.ts'
export { createDirectGateways } from './gateway.ts'
export { TRANSFER_MEANINGS, TRANSFER_MOVES, TRANSFER_STATUSES } from './states.ts'
export type { TransferRow } from './transfer-queries.ts'
export { markSent } from './transfers.ts'

/** What is known of the transfer that a payment was to be paid by, if it was. */
export async function findTransfer(
  app: Pick<PaymentsApp, 'db'>,
  { merchantId, id }: PaymentRow,
): Promise<TransferRow | null> {
  return (await findTransferRow(app.db, merchantId, id)) ?? null
}
