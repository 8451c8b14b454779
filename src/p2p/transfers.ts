// The actions of payer and merchant on a transfer. Each is idempotent, and concurrent actions are serialized by the lock of
// the transfer.

import type { CheckoutView } from '../checkout/view.ts'
import { CURRENCIES } from '../core/currency.ts'
import { ApiError, errorFromIssues, type Issue, newIssue } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { parseAmount } from '../core/money.ts'
import type { KeyClaim } from '../kit/db/idempotency.ts'
import { errorFields } from '../kit/observability/log.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findPayments, listAttempts } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { methodOf } from '../payments/views.ts'
import { type MoveRequest, moveTransfer } from './moves.ts'
import { planCancel, planConfirm, planExpiry, planMark, planReject } from './plan.ts'
import type { TransferRow } from './transfer.ts'
import { findTransferRow, listDueTransfers } from './transfer-queries.ts'

export interface P2pPayment {
  payment: PaymentRow
  transfer: TransferRow
}

/** Fails alike for another merchant's payment, an unknown one, and one without a transfer. */
export async function requireP2pPayment(
  app: PaymentsApp,
  merchant: Merchant,
  id: string,
): Promise<P2pPayment> {
  const transfer = await findTransferRow(app.db, merchant.id, id)
  if (!transfer) throw new ApiError('p2p_payment_not_found')
  return withPayment(app, transfer)
}

export async function withPayment(app: PaymentsApp, transfer: TransferRow): Promise<P2pPayment> {
  const [payment] = await findPayments(app.db, transfer.merchantId, [transfer.id])
  if (!payment) throw new Error(`the payment of transfer ${transfer.id} does not exist`)
  return { payment, transfer }
}

/** An action of the merchant on a payment, with its Idempotency-Key. */
export interface TransferAction {
  id: string
  key: string | undefined
}

const PAYMENT_OPERATION = 'POST /api/v1/p2p/payments/{uuid}'

function claimOf(
  merchant: Merchant,
  { id, key }: TransferAction,
  verb: string,
  input: object = {},
): KeyClaim {
  return { merchantId: merchant.id, key, operation: `${PAYMENT_OPERATION}/${verb}`, input: { ...input, id } }
}

type ActionResult = P2pPayment & { replayed: boolean }

/** The merchant marks the transfer as sent. */
export async function markPaid(
  app: PaymentsApp,
  merchant: Merchant,
  action: TransferAction,
): Promise<ActionResult> {
  const current = await requireP2pPayment(app, merchant, action.id)
  const claim = claimOf(merchant, action, 'mark-paid')
  const { transfer, replayed } = await move(app, current, { source: 'merchant', plan: planMark, claim })
  return { ...(await withPayment(app, transfer)), replayed }
}

/**
 * The payer marks the transfer of the current attempt as sent; false if the attempt has none. This changes the page and the
 * expiry of the checkout only: the merchant confirms the money.
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

/** The merchant confirms the total received. */
export async function confirmTransfer(
  app: PaymentsApp,
  merchant: Merchant,
  action: TransferAction,
  receivedAmount: number,
): Promise<ActionResult> {
  const current = await requireP2pPayment(app, merchant, action.id)
  const receivedMinor = parseReceivedAmount(receivedAmount, current.transfer)
  const plan: MoveRequest['plan'] = (transfer) => planConfirm(transfer, receivedMinor)
  const claim = claimOf(merchant, action, 'confirm', { receivedAmount })
  return verifyAfterMove(app, await move(app, current, { source: 'merchant', plan, claim }))
}

function parseReceivedAmount(receivedAmount: number, { currency }: TransferRow): bigint {
  const amount = parseAmount(receivedAmount, currency)
  if (typeof amount !== 'string') return amount.minor
  const { decimals } = CURRENCIES[currency]
  const message = `receivedAmount has more than the ${decimals} decimals of ${currency}; it is never rounded.`
  const issue: Issue =
    amount === 'amount_precision'
      ? newIssue('receivedAmount', amount, message)
      : newIssue('receivedAmount', amount)
  throw errorFromIssues([issue])
}

/** The merchant reports that the money did not arrive. */
export async function rejectTransfer(
  app: PaymentsApp,
  merchant: Merchant,
  action: TransferAction,
  rejectionReason: string | null,
): Promise<ActionResult> {
  const current = await requireP2pPayment(app, merchant, action.id)
  const claim = claimOf(merchant, action, 'reject', { rejectionReason })
  const change = { source: 'merchant', plan: planReject, rejectionReason, claim } as const
  return verifyAfterMove(app, await move(app, current, change))
}

/** The merchant cancels the transfer. */
export async function cancelTransfer(
  app: PaymentsApp,
  merchant: Merchant,
  action: TransferAction,
): Promise<ActionResult> {
  const current = await requireP2pPayment(app, merchant, action.id)
  const claim = claimOf(merchant, action, 'cancel')
  return verifyAfterMove(app, await move(app, current, { source: 'merchant', plan: planCancel, claim }))
}

type TransferChange = Omit<MoveRequest, 'merchantId' | 'id' | 'method'>

interface MoveResult {
  transfer: TransferRow
  replayed: boolean
}

async function move(
  app: PaymentsApp,
  { payment, transfer }: P2pPayment,
  change: TransferChange,
): Promise<MoveResult> {
  const { merchantId, id } = transfer
  const method = await methodOf(app, payment)
  const moved = await moveTransfer(app, { ...change, merchantId, id, method })
  return { transfer: moved.transfer ?? transfer, replayed: moved.replayed }
}

/** Runs an ordinary status check against the transfer just written, so outcomes are applied in one place only. */
async function verifyAfterMove(app: PaymentsApp, { transfer, replayed }: MoveResult): Promise<ActionResult> {
  await app.failpoints.hit('p2p.after_move')
  const current = await withPayment(app, transfer)
  const attempt = await attemptOf(app, transfer)
  if (!attempt) return { ...current, replayed }
  const { payment } = await verifyAttempt(app, { payment: current.payment, attempt }, 'api')
  return { payment, transfer, replayed }
}

async function attemptOf(app: PaymentsApp, { merchantId, id, attemptKey }: TransferRow) {
  const attempts = await listAttempts(app.db, merchantId, id)
  return attempts.find(({ gatewayKey }) => gatewayKey === attemptKey)
}

const EXPIRY_BATCH = 100

/** Expires due transfers that were not marked as sent, and returns how many. */
export async function expireTransfers(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  const due = await listDueTransfers(app.db, now, EXPIRY_BATCH)
  let expired = 0
  for (const { merchantId, id } of due) {
    try {
      const transfer = await findTransferRow(app.db, merchantId, id)
      if (!transfer) continue
      const plan: MoveRequest['plan'] = (one) => planExpiry(one, now)
      const moved = await move(app, await withPayment(app, transfer), { source: 'time', plan })
      expired += moved.transfer.status === 'expired' ? 1 : 0
    } catch (error) {
      // An error must not stop the other transfers; the next run retries this one.
      app.log.write('transfer.expiry_failed', { paymentId: id, ...errorFields(error) })
    }
  }
  return expired
}

/** The transfer of a payment, or null. */
export async function findTransfer(
  app: Pick<PaymentsApp, 'db'>,
  { merchantId, id }: PaymentRow,
): Promise<TransferRow | null> {
  return (await findTransferRow(app.db, merchantId, id)) ?? null
}
