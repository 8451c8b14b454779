// What lost disputes claim: from the merchant, as far as refunds have left it, and from money that was written off. The
// gateway has taken all of it back, so neither may keep it.

import { money } from '../core/money.ts'
import type { Tx } from '../kit/db/db.ts'
import { debitMerchant, readWrittenOff, recordEntry } from '../ledger/debit.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { DisputeRow } from './dispute.ts'
import { readRemainingMinor, updateDispute } from './dispute-queries.ts'
import { listDisputes } from './find.ts'

interface DisputeDebit {
  kind: 'dispute' | 'reversal'
  to: string
  amountMinor: bigint
}

export async function debitForDispute(
  app: PaymentsApp,
  tx: Tx,
  payment: PaymentRow,
  debit: DisputeDebit,
): Promise<void> {
  const { merchantId, id: paymentId, currency } = payment
  // Refunds have returned the whole amount: nothing is left to hold.
  if (debit.amountMinor === 0n) return
  const { kind, to } = debit
  const amount = money(debit.amountMinor, currency)
  await debitMerchant(app, tx, {
    merchantId,
    kind,
    paymentId,
    refundId: null,
    amount,
    to,
    at: app.clock.now(),
  })
}

/**
 * Runs in the transaction that records a failed refund. A dispute may have claimed more than was left; the amount that the
 * refund had taken now covers that claim: held while the dispute is open, and the gateway's after it was lost. The caller
 * holds the lock of the payment's row.
 */
export async function claimReleasedAmount(app: PaymentsApp, tx: Tx, payment: PaymentRow): Promise<void> {
  if (payment.status === 'disputed') await holdRemainingClaim(app, tx, payment)
  if (payment.status === 'reversed') await debitRemainingClaims(app, tx, payment)
}

async function holdRemainingClaim(app: PaymentsApp, tx: Tx, payment: PaymentRow): Promise<void> {
  const { merchantId, id } = payment
  const open = (await listDisputes(tx, merchantId, id)).find(({ status }) => status === 'open')
  if (!open) return
  const { amountMinor: heldMinor, claimedMinor } = open
  const leftMinor = (await readRemainingMinor(tx, merchantId, id)) - heldMinor
  const amountMinor = min(claimedMinor - heldMinor, leftMinor)
  if (amountMinor <= 0n) return
  await debitForDispute(app, tx, payment, { kind: 'dispute', to: 'disputed', amountMinor })
  await updateDispute(tx, { ...open, amountMinor: heldMinor + amountMinor })
}

async function debitRemainingClaims(app: PaymentsApp, tx: Tx, payment: PaymentRow): Promise<void> {
  const lost = await listLost(tx, payment)
  let { openMinor } = await readClaims(tx, lost)
  for (const dispute of lost) {
    const remainingMinor = await readRemainingMinor(tx, payment.merchantId, payment.id)
    const uncoveredMinor = min(dispute.claimedMinor - dispute.amountMinor, openMinor)
    const amountMinor = min(uncoveredMinor, remainingMinor)
    await debitForDispute(app, tx, payment, {
      kind: 'reversal',
      to: `gateway:${payment.gateway}`,
      amountMinor,
    })
    await updateDispute(tx, { ...dispute, amountMinor: dispute.amountMinor + amountMinor })
    openMinor -= amountMinor
  }
}

/**
 * The money of a refund that failed after its success may have been written off. If the gateway takes it back as well, before
 * or after, it is booked out again. The caller holds the lock of the payment's row.
 */
export async function claimWrittenOff(app: PaymentsApp, tx: Tx, payment: PaymentRow): Promise<void> {
  const lost = await listLost(tx, payment)
  const { openMinor, writtenOffMinor } = await readClaims(tx, lost)
  const claimedMinor = min(openMinor, writtenOffMinor)
  const [first] = lost
  if (!first || claimedMinor <= 0n) return
  const { merchantId, id: paymentId, currency } = payment
  await recordEntry(app, tx, {
    ...{ merchantId, kind: 'reversal', paymentId, attemptId: first.attemptId, refundId: null, currency },
    at: app.clock.now(),
    lines: [
      ['written_off', -claimedMinor],
      [`gateway:${payment.gateway}`, claimedMinor],
    ],
  })
}

async function listLost(tx: Tx, { merchantId, id }: PaymentRow): Promise<DisputeRow[]> {
  return (await listDisputes(tx, merchantId, id)).filter(({ status }) => status === 'lost')
}

/** What lost disputes claim and has not been taken yet, and the written-off money that can still be taken. */
async function readClaims(
  tx: Tx,
  lost: readonly DisputeRow[],
): Promise<{ openMinor: bigint; writtenOffMinor: bigint }> {
  const [first] = lost
  if (!first) return { openMinor: 0n, writtenOffMinor: 0n }
  const { writtenOffMinor, takenMinor } = await readWrittenOff(tx, first.merchantId, first.attemptId)
  const uncoveredMinor = lost.reduce((sum, one) => sum + one.claimedMinor - one.amountMinor, 0n)
  return { openMinor: uncoveredMinor - takenMinor, writtenOffMinor: writtenOffMinor - takenMinor }
}

export const min = (a: bigint, b: bigint) => (a < b ? a : b)
