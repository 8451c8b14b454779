// Looks up the refunds of a paid attempt at the provider, and books those that were made there. A webhook about a
// refund and the look through an account make an attempt due; both end here, so a refund is booked once.

import { listCasesOfAttempt } from '../cases/find.ts'
import { money } from '../core/money.ts'
import { addMs } from '../kit/clock.ts'
import { errorFields } from '../kit/observability/log.ts'
import { resolverLeaseEnd } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { findPayment, listAttempts } from '../payments/find.ts'
import { sumRefunds } from '../refunds/find.ts'
import { bookRefund } from './book.ts'
import { type ClaimedLookup, claimLookups, finishLookup, scheduleLookups } from './queries.ts'
import { reviewUnbooked, type UnbookedRefund } from './review.ts'
import { withoutBooked } from './unbooked.ts'

/** A webhook says that the refunds of this attempt have changed. */
export async function wakeLookup(
  app: Pick<PaymentsApp, 'db' | 'clock'>,
  { gateway, accountId, key }: { gateway: string; accountId: string | null; key: string },
): Promise<void> {
  await scheduleLookups(app.db, { gateway, accountId, names: [key] }, app.clock.now())
}

/** Claims due lookups and returns one task for each. */
export async function claimRefundLookups(app: PaymentsApp, limit: number): Promise<(() => Promise<void>)[]> {
  const now = app.clock.now()
  const leasedUntil = resolverLeaseEnd(app, now)
  const claimed = await claimLookups(app.db, now, leasedUntil, limit)
  return claimed.map((lookup) => () => lookUpClaimed(app, lookup, leasedUntil))
}

// The next look through the account finds the refund too, so there is no hurry.
const RETRY_MS = 5 * 60_000
// A refund that failed here and is pending there may succeed days after it was made, when no look finds it any more.
const PENDING_THERE_MS = 60 * 60_000
// A status check or a person ends the refund whose reference is not known.
const UNNAMED_MS = 60 * 60_000

async function lookUpClaimed(app: PaymentsApp, lookup: ClaimedLookup, leasedUntil: Date): Promise<void> {
  try {
    const delayMs = await lookUpRefunds(app, lookup)
    const dueAt = delayMs === null ? null : addMs(app.clock.now(), delayMs)
    await finishLookup(app.db, lookup, leasedUntil, dueAt)
  } catch (error) {
    // The attempt is claimed again when its lease ends; the error must not stop the other lookups.
    app.log.write('refund.lookup_failed', { attemptId: lookup.id, ...errorFields(error) })
  }
}

/** Returns after what time the provider is asked again; null if it is not. */
async function lookUpRefunds(app: PaymentsApp, lookup: ClaimedLookup): Promise<number | null> {
  const { merchantId, paymentId, id: attemptId } = lookup
  const [payment, attempts] = await Promise.all([
    findPayment(app.db, merchantId, paymentId),
    listAttempts(app.db, merchantId, paymentId),
  ])
  const attempt = attempts.find(({ id }) => id === attemptId)
  const gateway = attempt && (await app.gateways.find(merchantId, attempt.gateway, attempt.accountId))
  if (!payment || !attempt || !gateway?.listRefunds) return null
  const ours = await sumRefunds(app.db, attempt)
  // The provider's list may not have our key, so one of ours would be taken for one of the provider's.
  if (ours.hasUnnamed && gateway.behavior.nonIdempotentRefunds) return UNNAMED_MS
  const list = await gateway.listRefunds({
    kind: 'payment',
    attemptKey: attempt.gatewayKey,
    attemptReference: attempt.gatewayReference ?? attempt.gatewayKey,
    receiptNumber: attempt.receiptNumber,
    currency: payment.currency,
    refunded: money(ours.minor, payment.currency),
  })
  if (list.kind === 'unknown') return RETRY_MS
  // A refund of ours that was submitted meanwhile may be in the list. Each is recorded before it is sent.
  const isOutdated = (await sumRefunds(app.db, attempt)).minor !== ours.minor
  if (isOutdated && gateway.behavior.nonIdempotentRefunds) return RETRY_MS
  const proofs = await returnProofs(app, attempt)
  const unproved = list.refunds.filter(({ reference }) => !proofs.includes(reference))
  const { unknown, failedHere } = await withoutBooked(app.db, attempt, unproved)
  const succeededAfterAll = failedHere.filter(({ status }) => status === 'succeeded')
  const current = { payment, attempt }
  const rejected: UnbookedRefund[] = []
  for (const found of [...unknown, ...succeededAfterAll]) {
    const obstacle = await bookRefund(app, current, found)
    if (obstacle) rejected.push({ found, obstacle })
  }
  await reviewUnbooked(app, current, rejected)
  return failedHere.length > succeededAfterAll.length ? PENDING_THERE_MS : null
}

/** The references with which a person has proved a return: the ledger has these refunds already. */
async function returnProofs(app: PaymentsApp, { merchantId, id }: AttemptRow): Promise<(string | null)[]> {
  const cases = await listCasesOfAttempt(app.db, merchantId, id)
  return cases.filter(({ resolution }) => resolution === 'return').map(({ proof }) => proof)
}
