// What the payer and the merchant say about a transfer. Saying the same again changes nothing, and of two who say it at
// once the second finds that it was said.

import { CURRENCIES } from '../core/currency.ts'
import { type Complaint, Refusal, refusalOf } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { parseAmount } from '../core/money.ts'
import { errorFields } from '../kit/log.ts'
import {
  type CheckoutView,
  complaint,
  findPayments,
  listAttempts,
  methodOf,
  type PaymentRow,
  type PaymentsApp,
  verifyAttempt,
} from '../payments/service.ts'

import { type Movement, moveTransfer } from './moves.ts'
import { planCancel, planConfirm, planExpiry, planMark, planReject } from './plan.ts'
import { findTransferRow, listDueTransfers, type TransferRow } from './transfer-queries.ts'

export interface P2pPayment {
  payment: PaymentRow
  transfer: TransferRow
}

/** Another merchant's, an unknown one and a payment without a transfer are all the same. */
export async function requireP2pPayment(
  app: PaymentsApp,
  merchant: Merchant,
  id: string,
): Promise<P2pPayment> {
  const transfer = await findTransferRow(app.db, merchant.id, id)
  if (!transfer) throw new Refusal('p2p_payment_not_found')
  return withPayment(app, transfer)
}

export async function withPayment(app: PaymentsApp, transfer: TransferRow): Promise<P2pPayment> {
  const [payment] = await findPayments(app.db, transfer.merchantId, [transfer.id])
  if (!payment) throw new Error(`the payment of transfer ${transfer.id} has vanished`)
  return { payment, transfer }
}

/** The merchant says that the money was sent. */
export async function markPaid(app: PaymentsApp, merchant: Merchant, id: string): Promise<P2pPayment> {
  const known = await requireP2pPayment(app, merchant, id)
  return withPayment(app, await move(app, known, { source: 'merchant', plan: planMark }))
}

/**
 * The payer says so, about the attempt that is under way; false when that is none of ours. It changes what the page says,
 * and when the checkout ends; the merchant alone knows the rest.
 */
export async function markSent(app: PaymentsApp, { payment, attempt }: CheckoutView): Promise<boolean> {
  const transfer = await findTransferRow(app.db, payment.merchantId, payment.id)
  if (!transfer || transfer.attemptKey !== attempt?.gatewayKey) return false
  await move(
    app,
    { payment, transfer },
    {
      source: 'payer',
      plan: (one) => (one.status === 'awaiting_payment' ? planMark(one) : []),
    },
  )
  return true
}

/** The merchant says how much has arrived in all. */
export async function confirmTransfer(
  app: PaymentsApp,
  merchant: Merchant,
  id: string,
  receivedAmount: number,
): Promise<P2pPayment> {
  const known = await requireP2pPayment(app, merchant, id)
  const receivedMinor = readReceived(receivedAmount, known.transfer)
  const plan: Movement['plan'] = (transfer) => planConfirm(transfer, receivedMinor)
  return settled(app, await move(app, known, { source: 'merchant', plan }))
}

function readReceived(receivedAmount: number, { currency }: TransferRow): bigint {
  const amount = parseAmount(receivedAmount, currency)
  if (typeof amount !== 'string') return amount.minor
  const { decimals } = CURRENCIES[currency]
  const message = `receivedAmount has more than the ${decimals} decimals of ${currency}; it is never rounded.`
  const wrong: Complaint =
    amount === 'amount_precision'
      ? complaint('receivedAmount', amount, message)
      : complaint('receivedAmount', amount)
  throw refusalOf([wrong])
}

/** The merchant says that it did not arrive. */
export async function rejectTransfer(
  app: PaymentsApp,
  merchant: Merchant,
  id: string,
  rejectionReason: string | null,
): Promise<P2pPayment> {
  const known = await requireP2pPayment(app, merchant, id)
  return settled(app, await move(app, known, { source: 'merchant', plan: planReject, rejectionReason }))
}

/** The merchant calls it off. */
export async function cancelTransfer(app: PaymentsApp, merchant: Merchant, id: string): Promise<P2pPayment> {
  const known = await requireP2pPayment(app, merchant, id)
  return settled(app, await move(app, known, { source: 'merchant', plan: planCancel }))
}

type Word = Omit<Movement, 'merchantId' | 'id' | 'method'>

async function move(app: PaymentsApp, { payment, transfer }: P2pPayment, word: Word): Promise<TransferRow> {
  const { merchantId, id } = transfer
  const method = await methodOf(app, payment)
  return (await moveTransfer(app, { ...word, merchantId, id, method })) ?? transfer
}

/** Asks the books that were just written, as anybody else would: there is one way in which a payment settles. */
async function settled(app: PaymentsApp, transfer: TransferRow): Promise<P2pPayment> {
  await app.failpoints.pass('p2p.after_move')
  const known = await withPayment(app, transfer)
  const attempt = await attemptOf(app, transfer)
  if (!attempt) return known
  const { payment } = await verifyAttempt(app, { payment: known.payment, attempt }, 'api')
  return { payment, transfer }
}

async function attemptOf(app: PaymentsApp, { merchantId, id, attemptKey }: TransferRow) {
  const attempts = await listAttempts(app.db, merchantId, id)
  return attempts.find(({ gatewayKey }) => gatewayKey === attemptKey)
}

const EXPIRY_BATCH = 100

/** Ends what nobody said was sent; answers how many that were. */
export async function expireTransfers(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  const due = await listDueTransfers(app.db, now, EXPIRY_BATCH)
  let expired = 0
  for (const { merchantId, id } of due) {
    try {
      const transfer = await findTransferRow(app.db, merchantId, id)
      if (!transfer) continue
      const plan: Movement['plan'] = (one) => planExpiry(one, now)
      const moved = await move(app, await withPayment(app, transfer), { source: 'time', plan })
      expired += moved.status === 'expired' ? 1 : 0
    } catch (error) {
      // One that breaks us must not stop the others; it is tried again with the next.
      app.log.error('expiring a transfer failed', { paymentId: id, ...errorFields(error) })
    }
  }
  return expired
}
