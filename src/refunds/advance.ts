// Submits a refund and polls its status until the gateway reports success or failure. The API request takes the first
// step; the resolver retries with backoff. A refund is never paid twice: if the gateway does not know it, it is submitted
// again only under its idempotency key, while the gateway retains keys. Without such keys it is only polled.

import { openCase } from '../cases/open.ts'
import { sanitizeText } from '../core/sanitize-text.ts'
import type { Gateway, RefundOutcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { sqlStateOf } from '../kit/db/db.ts'
import { errorFields } from '../kit/observability/log.ts'
import { jittered } from '../kit/random.ts'
import { claimByGateway, type InFlight } from '../outcomes/gateway-bulkhead.ts'
import {
  isKeyRetained,
  isUnrecognized,
  resolverLeaseEnd,
  unknownBackoffMs,
  unrecognizedBackoffMs,
} from '../outcomes/schedule.ts'
import type { PaymentsApp, RefundKey, Report, SavedReport } from '../payments/app.ts'
import { applyRefundOutcome } from './apply-outcome.ts'
import {
  claimDueRefunds,
  findRefund,
  markRefundsDue,
  markSubmitted,
  type RefundProgress,
  saveRefundProgress,
  wakeQueued,
  wakeRefundByKey,
} from './queries.ts'
import { recheckRefund } from './recheck.ts'
import type { RefundRow, RefundWake } from './refund.ts'
import type { RefundReason } from './states.ts'
import { checkRefundStatus, findDetails, toRequest } from './status-check.ts'

type Source = 'api' | 'resolver'

/** Claims the refunds that are due. Each returned function works on one of them. */
export function claimRefunds(
  app: PaymentsApp,
  limit: number,
  inFlight: InFlight = new Map(),
): Promise<(() => Promise<void>)[]> {
  const now = app.clock.now()
  return claimByGateway(
    inFlight,
    limit,
    (allowed, saturated) => claimDueRefunds(app.db, now, resolverLeaseEnd(app, now), allowed, saturated),
    (refund) => advanceClaimed(app, refund),
  )
}

async function advanceClaimed(app: PaymentsApp, refund: RefundRow): Promise<void> {
  try {
    await app.failpoints.hit('refund.after_claim')
    await advanceRefund(app, refund, 'resolver')
  } catch (error) {
    // The refund is claimed again when its lease expires; the error must not stop the other refunds.
    app.log.write('refund.resolve_failed', { refundId: refund.id, ...errorFields(error) })
  }
}

/** Marks the refunds of an attempt due, because a webhook about the attempt has arrived. */
export async function wakeRefunds(app: Pick<PaymentsApp, 'db' | 'clock'>, wake: RefundWake): Promise<void> {
  await markRefundsDue(app.db, wake, app.clock.now())
}

/** Stores the report of a callback about one refund, and marks the refund due. */
export function wakeRefundWithReport(
  app: Pick<PaymentsApp, 'db' | 'clock'>,
  refund: RefundKey,
  report: Report | null,
): Promise<SavedReport | undefined> {
  return wakeRefundByKey(app.db, refund, report, app.clock.now())
}

/** Makes one status check or submission, and returns the refund as it is stored afterwards. */
export async function advanceRefund(app: PaymentsApp, refund: RefundRow, source: Source): Promise<RefundRow> {
  const gateway = await app.gateways.find(refund.merchantId, refund.gateway, refund.accountId)
  if (refund.status !== 'pending') return recheckRefund(app, gateway, refund)
  // Without its credentials the gateway cannot be called; the refund waits until they are configured again.
  const notSent = { refund, result: NOT_CONFIGURED, isFirst: refund.submittedAt === null }
  const step = gateway?.refund ? await takeStep(app, gateway, refund) : notSent
  return applyStep(app, step, gateway, source)
}

const NOT_CONFIGURED: RefundOutcome = { kind: 'unknown', reason: 'not_sent', message: 'not configured' }

interface Step {
  /** The row at the time of the gateway call. */
  refund: RefundRow
  result: RefundOutcome | 'queued' | 'taken over'
  /** No earlier step has submitted the refund. */
  isFirst?: boolean
}

async function takeStep(app: PaymentsApp, gateway: Gateway, refund: RefundRow): Promise<Step> {
  if (refund.submittedAt === null) return submit(app, gateway, refund)
  const outcome = await checkRefundStatus(app.db, gateway, refund)
  const isUnknownThere =
    refund.gatewayReference === null && outcome.kind === 'unknown' && outcome.reason === 'not_found'
  if (!isUnknownThere || !mayResubmit(app, gateway, refund.submittedAt)) return { refund, result: outcome }
  return submit(app, gateway, refund)
}

function mayResubmit(app: PaymentsApp, { behavior }: Gateway, submittedAt: Date): boolean {
  return behavior.nonIdempotentRefunds !== true && isKeyRetained(behavior, submittedAt, app.clock.now())
}

/** The only call that sends money back. `submittedAt` is committed before the call, so a crash cannot hide it. */
async function submit(app: PaymentsApp, gateway: Gateway, refund: RefundRow): Promise<Step> {
  const isFirst = refund.submittedAt === null
  // Before the mark: a process that fails here has sent nothing.
  const details = await findDetails(app.db, gateway, refund)
  const marked = await markOrQueue(app, gateway, refund)
  if (typeof marked === 'string') return { refund, result: marked }
  await app.failpoints.hit('refund.after_mark')
  const result = (await gateway.refund?.({ ...toRequest(marked), ...details })) ?? NOT_CONFIGURED
  await app.failpoints.hit('refund.after_call')
  return { refund: marked, result, isFirst }
}

async function markOrQueue(
  app: PaymentsApp,
  gateway: Gateway,
  refund: RefundRow,
): Promise<RefundRow | 'queued' | 'taken over'> {
  const isBlocking = gateway.behavior.sequentialRefunds === true
  try {
    return (await markSubmitted(app.db, refund, app.clock.now(), isBlocking)) ?? 'taken over'
  } catch (error) {
    // The unique index on blocking refunds: the gateway is still working on another refund of this payment.
    if (isBlocking && sqlStateOf(error) === '23505') return 'queued'
    throw error
  }
}

async function applyStep(
  app: PaymentsApp,
  step: Step,
  gateway: Gateway | undefined,
  source: Source,
): Promise<RefundRow> {
  const { refund, result } = step
  if (result === 'taken over') return (await findRefund(app.db, refund.merchantId, refund.id)) ?? refund
  const hasEnded = result !== 'queued' && (result.kind === 'succeeded' || result.kind === 'failed')
  const current = hasEnded
    ? await applyRefundOutcome(app, refund, result, source)
    : await saveProgress(app, step)
  const isUnblocked = hasEnded || (result !== 'queued' && result.kind === 'pending')
  if (isUnblocked && gateway?.behavior.sequentialRefunds) await wakeQueued(app.db, refund, app.clock.now())
  return current
}

/** Stores the state of a pending refund and schedules the next poll with backoff. */
async function saveProgress(app: PaymentsApp, { refund, result, isFirst = false }: Step): Promise<RefundRow> {
  const now = app.clock.now()
  const isPending = result !== 'queued' && result !== 'taken over' && result.kind === 'pending'
  const isUnsent = isFirst && isNotSent(result)
  const statusReason = isPending ? null : reasonOf(refund, result, isUnsent, now)
  const progress: RefundProgress = {
    statusReason,
    gatewayReference:
      isPending && result.gatewayReference !== null ? sanitizeText(result.gatewayReference) : null,
    dueAt: addMs(now, jittered(app.random, pollDelayMs(refund, result, now))),
    isUnsent,
    stopsBlocking: isPending || isUnsent,
    at: now,
  }
  const isNewReview = statusReason === 'requires_review' && refund.statusReason !== 'requires_review'
  const saved = isNewReview
    ? await saveWithCase(app, refund, progress, messageOf(result))
    : await saveRefundProgress(app.db, refund, progress)
  logProgress(app, refund, result, statusReason)
  return saved ?? (await findRefund(app.db, refund.merchantId, refund.id)) ?? refund
}

function pollDelayMs(refund: RefundRow, result: Step['result'], now: Date): number {
  if (typeof result !== 'string' && isUnrecognized(result))
    return unrecognizedBackoffMs(refund.submittedAt ?? refund.createdAt, now)
  return unknownBackoffMs(refund.polls)
}

const messageOf = (result: Step['result']) =>
  typeof result === 'object' && 'message' in result ? result.message : null

/** Stores that the refund needs a person, and opens its case, in one transaction. */
async function saveWithCase(
  app: PaymentsApp,
  refund: RefundRow,
  progress: RefundProgress,
  message: string | null,
): Promise<RefundRow | undefined> {
  const { merchantId, paymentId, attemptId } = refund
  return app.db.transaction(async (tx) => {
    const saved = await saveRefundProgress(tx, refund, progress)
    const kind = 'refund_requires_review'
    if (saved) await openCase(app, tx, { merchantId, kind, paymentId, attemptId, refund, message })
    return saved
  })
}

function isNotSent(result: Step['result']): boolean {
  return typeof result !== 'string' && result.kind === 'unknown' && result.reason === 'not_sent'
}

function isQueuedThere(result: Step['result']): boolean {
  return typeof result !== 'string' && result.kind === 'unknown' && result.queued === true
}

// Most outages are over by then, and delayed requests have arrived.
const REVIEW_AFTER_MS = 3_600_000

function reasonOf(refund: RefundRow, result: Step['result'], isUnsent: boolean, now: Date): RefundReason {
  if (result === 'queued' || isQueuedThere(result)) return 'queued'
  if (typeof result !== 'string' && isUnrecognized(result)) return 'requires_review'
  if (now >= addMs(refund.submittedAt ?? refund.createdAt, REVIEW_AFTER_MS)) return 'requires_review'
  return isUnsent ? 'gateway_unavailable' : 'outcome_unknown'
}

function logProgress(
  app: PaymentsApp,
  refund: RefundRow,
  result: Step['result'],
  reason: RefundReason | null,
): void {
  const { merchantId, paymentId, id: refundId, gateway } = refund
  const outcome = typeof result === 'string' ? result : result.kind
  const facts = { merchantId, paymentId, refundId, gateway, outcome, reason: reason ?? undefined }
  const isNewReview = reason === 'requires_review' && refund.statusReason !== 'requires_review'
  if (isNewReview) app.log.write('refund.needs_review', facts)
  else if (typeof result !== 'string' && result.kind === 'unknown' && isUnrecognized(result))
    app.log.write('gateway.answer_unrecognized', {
      merchantId,
      paymentId,
      refundId,
      gateway,
      reason: result.message,
    })
  else app.log.write('refund.pending', facts)
}
