// Counts and times payments for the metrics, at each move, after its commit. A process that dies at that moment does not
// count it: the ledger and the reports are exact, the metrics are for monitoring.

import { decimalsOf } from '../core/currency.ts'
import type { Clock } from '../kit/clock.ts'
import type { Counters } from '../kit/observability/counters.ts'
import type { AttemptRow } from './attempt.ts'
import type { PaymentRow } from './payment.ts'
import { isOpen } from './states.ts'

const NONE = 'none'

export function measureMove(
  { counters, clock }: { counters: Counters; clock: Clock },
  from: PaymentRow,
  to: PaymentRow,
  ended: AttemptRow | null,
): void {
  const { kind, status, currency } = to
  const route = [to.gateway, to.channel ?? NONE]
  if (ended) measureAttempt(counters, to, ended)
  // A dispute that was won makes the payment successful again, but collects nothing.
  if (isOpen(status) || from.status === 'disputed') return
  counters.add('payments', [kind, status, currency, ...route])
  if (status === 'failed') counters.add('payment_failures', [kind, ...route, to.failureCode ?? NONE])
  if (isOpen(from.status))
    counters.timePayment([kind, ...route], (clock.now().getTime() - to.createdAt.getTime()) / 1_000)
}

function measureAttempt(counters: Counters, { currency }: PaymentRow, attempt: AttemptRow): void {
  const { gateway, channel, status, failureCode, paidMinor } = attempt
  const route = [gateway, channel ?? NONE]
  counters.add('payment_attempts', [...route, status, failureCode ?? NONE])
  if (status === 'succeeded' && paidMinor !== null)
    counters.add('payment_amount', [currency, ...route], toMajor(paidMinor, currency))
}

/** Prometheus has only floating-point numbers. Nothing is decided by this one. */
function toMajor(minor: bigint, currency: PaymentRow['currency']): number {
  return Number(minor) / 10 ** decimalsOf(currency)
}
