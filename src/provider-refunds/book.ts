// Books a refund that was made at the provider, in its dashboard or by its support. It becomes a refund like any other:
// the payment's move, the ledger entry and the events are the same. A refund that was booked before is left alone.

import type { CaseKind } from '../cases/case-kinds.ts'
import { listCasesOfAttempt } from '../cases/find.ts'
import { closeCase, GATEWAY_ANSWERED } from '../cases/open.ts'
import { lockAttempt, unscheduleDuplicateRefund } from '../disputes/duplicates.ts'
import type { Gateway } from '../gateways/gateway.ts'
import { sqlStateOf, type Tx } from '../kit/db/db.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow, PaymentWithAttempt } from '../payments/attempt.ts'
import { applyRefundOutcome } from '../refunds/apply-outcome.ts'
import { reserveProviderRefund } from '../refunds/payment-effects.ts'
import type { RefundRow } from '../refunds/refund.ts'
import { recordRefund } from '../refunds/request.ts'

type RefundList = Awaited<ReturnType<NonNullable<Gateway['listRefunds']>>>
export type FoundRefund = Extract<RefundList, { kind: 'refunds' }>['refunds'][number]

/** Why a refund at the provider cannot be booked. */
export type Obstacle = 'unrecognized_status' | 'unknown_amount' | 'exceeds_payment'

const UNIQUE_VIOLATION = '23505'

/** The obstacle if there is one. A failed refund moves no money, so there is nothing to book. */
export async function bookRefund(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  found: FoundRefund,
): Promise<Obstacle | undefined> {
  const { payment } = current
  if (found.status === 'failed') return undefined
  if (found.status === 'unrecognized') return 'unrecognized_status'
  if (found.amount?.currency !== payment.currency) return 'unknown_amount'
  const refund = await recordFound(app, current, found, found.amount)
  if (refund === 'known') return undefined
  if (refund === 'exceeds') return 'exceeds_payment'
  const { merchantId, paymentId, id: refundId, gateway } = refund
  app.log.write('refund.found_at_provider', {
    merchantId,
    paymentId,
    refundId,
    gateway,
    status: found.status,
  })
  // If the process dies before this, the resolver asks for the status of the refund and ends it.
  if (found.status === 'succeeded')
    await applyRefundOutcome(
      app,
      refund,
      { kind: 'succeeded', gatewayReference: found.reference },
      'resolver',
    )
  return undefined
}

async function recordFound(
  app: PaymentsApp,
  current: PaymentWithAttempt,
  found: FoundRefund,
  amount: NonNullable<FoundRefund['amount']>,
): Promise<RefundRow | 'known' | 'exceeds'> {
  const { payment, attempt } = current
  const isDuplicate = attempt.status === 'duplicate_success'
  try {
    return await app.db.transaction(async (tx) => {
      await lockAttempt(tx, attempt.merchantId, attempt.id)
      if (await isDecided(tx, attempt, found)) return 'known' as const
      const isReserved = isDuplicate
        ? await replaceDuplicateRefund(app, tx, current, amount.minor)
        : await reserveProviderRefund(tx, payment, amount)
      if (!isReserved) return 'exceeds' as const
      return recordRefund(app, tx, payment, attempt, {
        id: app.random.uuid(),
        amount,
        isFull: amount.minor === attempt.paidMinor,
        isDuplicate,
        reason: null,
        refundReference: null,
        metadata: {},
        provider: { reference: found.reference },
      })
    })
  } catch (error) {
    // The unique index on refunds of the provider: a concurrent lookup has booked it.
    if (sqlStateOf(error) === UNIQUE_VIOLATION) return 'known'
    throw error
  }
}

/** Whether the resolution of a case has booked it already: from the wallet, or as a loss. */
async function isDecided(
  tx: Tx,
  { merchantId, id }: AttemptRow,
  { reference }: FoundRefund,
): Promise<boolean> {
  const cases = await listCasesOfAttempt(tx, merchantId, id)
  const row = cases.find(({ kind }) => kind === 'refund_not_booked')
  if (!row) return false
  // Without an amount nothing was booked.
  const isBooked =
    row.closedAt !== null && row.resolution !== 'gateway_answered' && row.unbookedMinor !== null
  return [...row.decidedReferences, ...(isBooked ? row.unbookedReferences : [])].includes(reference)
}

// Cases that end when the provider has returned the money. During a dispute the bank may return it too: that one stays.
const ENDED_BY_RETURN: readonly CaseKind[] = ['duplicate_not_refundable', 'duplicate_refund_failed']

/** A duplicate payment is returned once and in full: the refund at the provider takes the place of ours. */
async function replaceDuplicateRefund(
  app: PaymentsApp,
  tx: Tx,
  { attempt }: PaymentWithAttempt,
  amountMinor: bigint,
): Promise<boolean> {
  const { merchantId, id: attemptId } = attempt
  if (amountMinor !== attempt.paidMinor) return false
  const open = (await listCasesOfAttempt(tx, merchantId, attemptId)).filter(
    ({ closedAt }) => closedAt === null,
  )
  const isScheduled = await unscheduleDuplicateRefund(tx, merchantId, attemptId)
  const ended = open.filter(({ kind }) => ENDED_BY_RETURN.includes(kind))
  if (!isScheduled && ended.length === 0) return false
  const decision = { ...GATEWAY_ANSWERED, note: 'It was sent back at the provider.' }
  for (const one of ended) await closeCase(app, tx, one, decision)
  return true
}
