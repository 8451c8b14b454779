// Refunds duplicate payments. A checkout has many attempts and at most one success; any further payment is returned to the
// payer in full, automatically, from the ledger account for duplicates.

import { closeAnswered, openCase } from '../cases/open.ts'
import { money } from '../core/money.ts'
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

// Also the interval at which a gateway without refunds is tried again: its credentials may have been configured.
const LEASE_MS = 3_600_000

const BATCH_SIZE = 20

/** Records a refund for each duplicate without one, and submits it; the resolver polls it afterwards. */
export async function refundDuplicates(app: PaymentsApp): Promise<number> {
  const now = app.clock.now()
  const claimed = await claimDueDuplicates(app.db, now, addMs(now, LEASE_MS), BATCH_SIZE)
  for (const duplicate of claimed) {
    try {
      await refundDuplicate(app, duplicate)
    } catch (error) {
      // The duplicate is claimed again when its lease expires; the error must not stop the other duplicates.
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
  if (!attempt) throw new Error(`attempt ${attemptId} not found`)
  const gateway = await app.gateways.find(merchantId, attempt.gateway, attempt.accountId)
  if (!gateway?.refund) return reportUnrefundable(app, duplicate, attempt)
  const refund = await recordDuplicateRefund(app, duplicate, attempt)
  if (refund) await advanceRefund(app, refund, 'resolver')
}

/** Opens a case and logs it once. */
async function reportUnrefundable(
  app: PaymentsApp,
  { merchantId, attemptId, paymentId }: DuplicateRow,
  { gateway }: AttemptRow,
): Promise<void> {
  const unrefundable = { merchantId, kind: 'duplicate_not_refundable', paymentId, attemptId } as const
  const isNew = await app.db.transaction((tx) => openCase(app, tx, unrefundable))
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
    if (duplicate.hasOpenCase) await closeAnswered(app, tx, unrefundable, 'It is sent back after all.')
    return recordRefund(app, tx, payment, attempt, {
      id: app.random.uuid(),
      amount: money(attempt.paidMinor ?? 0n, payment.currency),
      isFull: true,
      isDuplicate: true,
      refundReference: null,
      reason: 'duplicate_success',
      metadata: {},
    })
  })
}
