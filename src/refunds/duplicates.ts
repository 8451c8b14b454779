// One checkout, many attempts, at most one success: money that came a second time goes back to the payer by itself, all of
// it, out of the account in which it waited.

import { money } from '../core/money.ts'
import { openCase, resolveCase } from '../disputes/cases.ts'
import type { DuplicateRow } from '../disputes/duplicate.ts'
import { claimDueDuplicates, unscheduleDuplicateRefund } from '../disputes/duplicates.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { getPayment, listAttempts } from '../payments/find.ts'
import { advanceRefund } from './advance.ts'
import type { RefundRow } from './refund.ts'
import { recordRefund } from './request.ts'

// Also how often a gateway that could not give back is looked at again: its credentials may have come back.
const LEASE_MS = 3_600_000

const BATCH_SIZE = 20

/** Records a refund for each duplicate that has none, and sends it; the background of refunds takes it from there. */
export async function refundDuplicates(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  const claimed = await claimDueDuplicates(app.db, now, addMs(now, LEASE_MS), BATCH_SIZE)
  for (const duplicate of claimed) {
    try {
      await refundDuplicate(app, duplicate)
    } catch (error) {
      // It is claimed again when the lease is over: one that breaks us must not stop the others.
      app.log.write('duplicate_payment.refund_not_recorded', {
        attemptId: duplicate.attemptId,
        ...errorFields(error),
      })
    }
  }
  return claimed.length
}

async function refundDuplicate(app: PaymentsApp, duplicate: DuplicateRow): Promise<void> {
  const { merchantId, attemptId, paymentId } = duplicate
  const attempts = await listAttempts(app.db, merchantId, paymentId)
  const attempt = attempts.find(({ id }) => id === attemptId)
  if (!attempt) throw new Error(`attempt ${attemptId} has vanished`)
  const gateway = await app.gateways.find(merchantId, attempt.gateway, attempt.accountId)
  if (!gateway?.refund) return reportUnrefundable(app, duplicate, attempt)
  const refund = await recordDuplicateRefund(app, duplicate, attempt)
  if (refund) await advanceRefund(app, refund, 'resolver')
}

/** The operator is told once, and finds it among the cases. */
async function reportUnrefundable(
  app: PaymentsApp,
  { merchantId, attemptId, paymentId }: DuplicateRow,
  { gateway }: AttemptRow,
): Promise<void> {
  const isNew = await openCase(app, app.db, {
    merchantId,
    kind: 'duplicate_not_refundable',
    paymentId,
    attemptId,
  })
  if (!isNew) return
  const facts = { merchantId, paymentId, attemptId, gateway }
  app.log.write('duplicate_payment.not_refundable', facts)
}

async function recordDuplicateRefund(
  app: PaymentsApp,
  duplicate: DuplicateRow,
  attempt: AttemptRow,
): Promise<RefundRow | undefined> {
  const payment = await getPayment(app, duplicate)
  return app.db.transaction(async (tx) => {
    if (!(await unscheduleDuplicateRefund(tx, attempt.merchantId, attempt.id))) return undefined
    const unrefundable = { ...duplicate, kind: 'duplicate_not_refundable' } as const
    if (duplicate.hasOpenCase) await resolveCase(app, tx, unrefundable, 'It is sent back after all.')
    return recordRefund(app, tx, payment, attempt, {
      id: app.random.uuid(),
      amount: money(attempt.paidMinor ?? 0n, payment.currency),
      isFull: true,
      isDuplicate: true,
      reason: 'duplicate_success',
      metadata: {},
    })
  })
}
