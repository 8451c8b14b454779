// Opens a case for refunds at the provider that cannot be booked, and closes it when they were booked after all.

import type { CaseDetails } from '../cases/case.ts'
import { listCasesOfAttempt } from '../cases/find.ts'
import { closeAnswered, openCase } from '../cases/open.ts'
import { formatAmount } from '../core/money.ts'
import { lockAttempt } from '../disputes/duplicates.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentWithAttempt } from '../payments/attempt.ts'
import type { FoundRefund, Obstacle } from './book.ts'
import { withoutBooked } from './unbooked.ts'

export interface UnbookedRefund {
  found: FoundRefund
  obstacle: Obstacle
}

/** Runs after each lookup, with all refunds of the attempt that could not be booked. */
export async function reviewUnbooked(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  unbooked: readonly UnbookedRefund[],
): Promise<void> {
  const { merchantId, paymentId, id: attemptId, gateway } = attempt
  const about = { merchantId, paymentId, attemptId, kind: 'refund_not_booked' } as const
  await app.db.transaction(async (tx) => {
    if (unbooked.length === 0) {
      await closeAnswered(app, tx, about, 'The refund at the provider was booked.')
      return
    }
    // Serializes concurrent lookups, so that a refund is in one decision only.
    await lockAttempt(tx, merchantId, attemptId)
    const cases = await listCasesOfAttempt(tx, merchantId, attemptId)
    const decided = decidedReferences(cases.find(({ kind }) => kind === about.kind))
    // A concurrent lookup may have booked one of them since: nothing is left for it then.
    const { unknown, failedHere } = await withoutBooked(
      tx,
      attempt,
      unbooked.map(({ found }) => found),
    )
    const missing = new Set([...unknown, ...failedHere])
    const open = unbooked.filter(({ found }) => missing.has(found) && !decided.has(found.reference))
    if (open.length === 0) return
    const unbookedReferences = open.map(({ found }) => found.reference)
    const unbookedMinor = exceedingMinor(payment.currency, open)
    const message = describe(open)
    await openCase(app, tx, { ...about, message, unbookedMinor, unbookedReferences }, { reopens: true })
    for (const { obstacle: reason } of open)
      app.log.write('refund.not_booked', { merchantId, paymentId, attemptId, gateway, reason })
  })
}

/** The refunds about which a person has decided; the provider lists them again at each lookup. */
function decidedReferences(row: CaseDetails['row'] | undefined): Set<string> {
  if (!row) return new Set()
  const isDecided = row.closedAt !== null && row.resolution !== 'gateway_answered'
  return new Set([...row.decidedReferences, ...(isDecided ? row.unbookedReferences : [])])
}

/** Of several dozen refunds a case does not name each. */
const MAX_NAMED = 5

function describe(unbooked: readonly UnbookedRefund[]): string {
  const named = unbooked.slice(0, MAX_NAMED).map(describeOne)
  const more = unbooked.length - named.length
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

function describeOne({ found: { reference, amount }, obstacle }: UnbookedRefund): string {
  const shown = amount ? `${formatAmount(amount)} ${amount.currency}` : 'an unknown amount'
  return `refund ${reference} of ${shown}: ${obstacle}`
}

/** Null if none of them is known to exceed the payment. */
function exceedingMinor(currency: string, unbooked: readonly UnbookedRefund[]): bigint | null {
  const sum = unbooked
    .filter(({ obstacle, found }) => obstacle === 'exceeds_payment' && found.amount?.currency === currency)
    .reduce((total, { found }) => total + (found.amount?.minor ?? 0n), 0n)
  return sum > 0n ? sum : null
}
