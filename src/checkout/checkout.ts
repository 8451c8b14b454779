// What a payer can do with an open checkout: try a way to pay, give it up for another, cancel. One checkout, many
// attempts, at most one success.

import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { sanitizeTexts } from '../core/sanitize-text.ts'
import { isBlocked } from '../customers/service.ts'
import {
  type CheckoutChoice,
  type Gateway,
  isDirect,
  type NextStep,
  type Outcome,
  type RecoveryProperties,
} from '../gateways/gateway.ts'
import type { Candidate } from '../gateways/registry.ts'
import { addMs } from '../kit/clock.ts'
import { applyOutcome } from '../outcomes/apply.ts'
import { hasUsedAllAttempts, isNotSubmitted } from '../outcomes/decide.ts'
import { firstLeaseEnd, isOpenAttempt, nextPollAt, schedulePoll } from '../outcomes/schedule.ts'
import { checkStatus } from '../outcomes/status-check.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentWithAttempt } from '../payments/attempt.ts'
import { type AttemptRow, newAttempt } from '../payments/attempt.ts'
import { findPayment, findPaymentByAccessHash, listAttempts, requirePayment } from '../payments/find.ts'
import { gatewayOf, newGatewayKey, toGatewayAttempt, toStatusQuery } from '../payments/gateway-request.ts'
import { movePayment, plainMove } from '../payments/move.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { hashAccessCode } from '../payments/record.ts'
import { isOpen, type MoveSource } from '../payments/states.ts'
import { checkoutUrl, openAccessCode } from '../payments/views.ts'
import { requireCapacity } from './capacity.ts'
import {
  assertPromptCooldown,
  consumePromptQuota,
  isPromptable,
  isRecentPrompt,
  requirePromptable,
} from './phone-prompts.ts'
import { extendExpiry, markSentOrReturned, updateAwaitingCustomer } from './queries.ts'

export interface CheckoutView {
  payment: PaymentRow
  /** Every attempt so far, in order. */
  attempts: readonly AttemptRow[]
  /** The latest attempt, whatever became of it. */
  attempt: AttemptRow | undefined
}

/** The payment behind a payer's address. An unknown code tells nothing. */
export async function requireCheckout(app: PaymentsApp, accessCode: string): Promise<CheckoutView> {
  const payment = await findPaymentByAccessHash(app.db, hashAccessCode(accessCode))
  if (!payment) throw new ApiError('payment_not_found')
  return withAttempt(app, payment)
}

/** The checkout behind a merchant's own reference; a charge has none. */
export async function requireCheckoutPayment(
  app: PaymentsApp,
  merchant: Merchant,
  reference: string,
): Promise<CheckoutView> {
  const payment = await requirePayment(app, merchant, { reference })
  if (payment.kind !== 'checkout') throw new ApiError('payment_not_found')
  return withAttempt(app, payment)
}

async function withAttempt(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutView> {
  const attempts = await listAttempts(app.db, payment.merchantId, payment.id)
  return { payment, attempts, attempt: attempts.at(-1) }
}

/** Who takes the next attempt, and how: a gateway, and beside it the merchant itself. */
interface CheckoutOffer {
  collected: Candidate | undefined
  direct: Candidate | undefined
}

export async function findOffer(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutOffer> {
  const candidates = await listCandidates(app, payment)
  return {
    collected: candidates.find((one) => !isDirectGateway(one)),
    direct: candidates.find(isDirectGateway),
  }
}

/** What is collected this way is the merchant's own already. */
const isDirectGateway = ({ gateway }: Candidate) => gateway.settlesDirectly === true

/**
 * The gateway that was chosen when the checkout was opened or that had the last attempt, then the others; they alone when
 * that one serves the merchant no more.
 */
async function listCandidates(app: PaymentsApp, payment: PaymentRow): Promise<Candidate[]> {
  const { merchantId, currency, country, amountMinor, reference: key } = payment
  const candidates = await app.gateways.candidates(merchantId, { currency, country, amountMinor, key })
  const isChosen = ({ gateway }: Candidate) => gateway.name === payment.gateway
  return [...candidates.filter(isChosen), ...candidates.filter((one) => !isChosen(one))]
}

const inFlightStarts = new WeakMap<PaymentsApp['db'], Map<string, Promise<CheckoutView>>>()

/**
 * Starts an attempt, or answers the one that is under way: the same payer is never prompted twice. Who presses again while
 * the first press is on its way shares it, and takes no second slot of the phone.
 */
export async function startAttempt(
  app: PaymentsApp,
  view: CheckoutView,
  choice: CheckoutChoice,
): Promise<CheckoutView> {
  const inFlight = inFlightStarts.get(app.db) ?? new Map<string, Promise<CheckoutView>>()
  inFlightStarts.set(app.db, inFlight)
  const { id } = view.payment
  const running = inFlight.get(id)
  if (running) return running
  const start = startOnce(app, view, choice).finally(() => inFlight.delete(id))
  inFlight.set(id, start)
  return start
}

async function startOnce(
  app: PaymentsApp,
  view: CheckoutView,
  choice: CheckoutChoice,
): Promise<CheckoutView> {
  if (view.payment.status === 'processing') return view
  requireStartable(app, view)
  await assertNotBlocked(app, view.payment)
  const payment = await extendForPayerAction(app, view.payment, choice)
  // Looked at again, it may have moved on: somebody pressed in another window.
  if (payment.status !== 'pending') return withAttempt(app, payment)
  const candidates = await requireOffered(app, payment, choice)
  assertPromptCooldown(view.attempts, choice, app.clock.now())
  await requireCapacity(app, payment)
  await consumePromptQuota(app, choice)
  await app.failpoints.hit('checkout.before_start')
  // One press of the payer: whoever provably begins nothing is followed by the next, and nobody else ever is.
  let retryable: PaymentRow | undefined = payment
  for (const [index, candidate] of candidates.entries()) {
    const action = { failovers: index, isLast: index === candidates.length - 1 }
    // The decline has given the place back.
    if (index > 0) await requireCapacity(app, retryable)
    retryable = await submitToCandidate(app, retryable, candidate, choice, action)
    if (!retryable) break
  }
  return refresh(app, payment)
}

// More than operators give for the PIN, so that our limit never ends a request that still waits on the phone.
const PAYER_ACTION_MS = 360_000

/** Whoever is to act elsewhere and begins in the last minutes gets the time to finish. */
async function extendForPayerAction(
  app: PaymentsApp,
  payment: PaymentRow,
  { channel }: CheckoutChoice,
): Promise<PaymentRow> {
  const now = app.clock.now()
  const minExpiresAt = addMs(now, PAYER_ACTION_MS)
  if (channel === 'card' || payment.expiresAt === null || payment.expiresAt >= minExpiresAt) return payment
  await extendExpiry(app.db, payment.merchantId, payment.id, now, minExpiresAt)
  return (await findPayment(app.db, payment.merchantId, payment.id)) ?? payment
}

interface PayerAction {
  /** How many gateways have provably begun nothing since the payer pressed. */
  failovers: number
  /** Nobody is left to try after this one. */
  isLast: boolean
}

/** Record, call, settle. Answers the payment as it then is when another gateway may take over, and only then. */
async function submitToCandidate(
  app: PaymentsApp,
  payment: PaymentRow,
  { gateway, accountId }: Candidate,
  choice: CheckoutChoice,
  action: PayerAction,
): Promise<PaymentRow | undefined> {
  const now = app.clock.now()
  const attempt = newAttempt(payment, {
    id: app.random.uuid(),
    number: payment.attemptsUsed + 1,
    operation: 'checkout',
    gateway: gateway.name,
    accountId,
    gatewayKey: newGatewayKey(app.random),
    channel: choice.channel,
    choice,
    startedAt: now,
    dueAt: firstLeaseEnd(app, now),
  })
  const next: PaymentRow = {
    ...plainMove(payment, 'processing'),
    statusReason: 'outcome_unknown',
    gateway: gateway.name,
    attemptsUsed: attempt.number,
    failovers: payment.failovers + (action.failovers > 0 ? 1 : 0),
  }
  const moved = await movePayment(app, payment, next, {
    proof: null,
    source: 'checkout',
    newAttempt: attempt,
  })
  if (!moved) return undefined

  await app.failpoints.hit('checkout.after_start')
  const current: PaymentWithAttempt = { payment: next, attempt }
  const outcome = await submitCheckout(app, gateway, current)
  await app.failpoints.hit('checkout.after_call')
  const canFailOver = !action.isLast && isNotSubmitted(outcome)
  const applied = await applyOutcome(app, current, outcome, {
    source: 'checkout',
    firstCall: true,
    canFailOver,
  })
  if (outcome.kind !== 'pending') await schedulePoll(app, applied, outcome)
  // Whoever took the attempt over meanwhile has settled it, or will: then nothing is known to be free.
  const isFree = applied.attempt.status === 'declined' && applied.payment.status === 'pending'
  if (!canFailOver || !isFree) return undefined
  const { merchantId, id: paymentId } = payment
  app.log.write('checkout.gateway_failover', { merchantId, paymentId, gateway: gateway.name })
  return applied.payment
}

/** The one place where a checkout attempt is sent to its gateway, the first time and again under the same key. */
export async function submitCheckout(
  app: PaymentsApp,
  gateway: Gateway,
  { payment, attempt }: PaymentWithAttempt,
): Promise<Outcome> {
  const accessCode = openAccessCode(app, payment)
  if (attempt.choice === null || accessCode === null)
    throw new Error(`attempt ${attempt.id} is not of a checkout`)
  const { name } = await app.merchantProfile(payment.merchantId)
  const started = await gateway.startCheckout(
    toGatewayAttempt(payment, attempt, name),
    attempt.choice,
    `${checkoutUrl(app, accessCode)}/return`,
  )
  if (started.kind === 'pending') {
    // The gateway has the attempt and shows its page only once: nothing is left but to ask how it ends.
    await markAwaitingCustomer(app, { payment, attempt }, started, null, gateway.recovery)
  }
  if (started.kind !== 'started') return started
  await app.failpoints.hit('checkout.after_response')
  // What a provider writes is kept, so it must be text that can be kept.
  const { gatewayReference, next } = sanitizeTexts(started)
  const outcome: Pending = { kind: 'pending', gatewayReference }
  await markAwaitingCustomer(app, { payment, attempt }, outcome, next, gateway.recovery)
  return outcome
}

type Pending = Extract<Outcome, { kind: 'pending' }>

/** The gateway has taken the attempt on, and the payer is to act; without a step we do not know where. */
export async function markAwaitingCustomer(
  app: PaymentsApp,
  { payment, attempt }: PaymentWithAttempt,
  pending: Pending,
  next: NextStep | null,
  recovery: RecoveryProperties,
): Promise<void> {
  const awaiting: PaymentWithAttempt = { payment, attempt: { ...attempt, status: 'awaiting_customer' } }
  const dueAt = nextPollAt(app, awaiting, pending, recovery)
  await updateAwaitingCustomer(app.db, attempt, pending.gatewayReference, next, dueAt)
}

/** Whether the payer may leave the current attempt for another way to pay. */
export function canCancelAttempt({ payment, attempt }: CheckoutView, now: Date): boolean {
  const isInProgress = payment.status === 'processing' && attempt !== undefined && isOpenAttempt(attempt)
  return isInProgress && !isRecentPrompt(attempt, now) && !isDirectTransferSent(attempt)
}

/** The payer says that the merchant has the money: only the merchant can tell that it has not. */
function isDirectTransferSent({ choice, sentAt }: AttemptRow): boolean {
  return sentAt !== null && choice !== null && isDirect(choice.channel)
}

/**
 * Gives the current attempt up, so that another way can be tried. What was paid meanwhile counts. Nothing happens while
 * the payer may be typing the PIN.
 */
export async function cancelAttempt(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  if (!canCancelAttempt(view, app.clock.now())) return view
  const stopped = await stopAttempt(app, view)
  const { payment, attempt } = stopped.view
  const isStillAwaiting =
    stopped.answered && payment.status === 'processing' && attempt?.status === 'awaiting_customer'
  if (!isStillAwaiting || hasUsedAllAttempts(payment)) return stopped.view
  // The gateway cannot close its page. The payer goes on without it; if it is paid all the same, the first success counts
  // and a second one is kept apart.
  return applyPayerMove(app, view, payment, 'pending')
}

// However often it is extended: the merchant's shelf is not held for longer than the longest checkout.
const MAX_CHECKOUT_MS = 24 * 3_600_000

/** One tap gives the payer the whole time again. An open checkout only gets longer, and one that is over stays over. */
export async function extendCheckout(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  const { payment } = view
  const now = app.clock.now()
  const latest = addMs(payment.createdAt, MAX_CHECKOUT_MS)
  const extended = addMs(now, app.settings.checkoutMs)
  await extendExpiry(app.db, payment.merchantId, payment.id, now, extended < latest ? extended : latest)
  return refresh(app, payment)
}

/** The payer leaves. While nobody knows whether they have paid, nothing happens and they see that we do not know. */
export async function cancelCheckout(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  const stopped = await stopAttempt(app, view)
  const { payment, attempt } = stopped.view
  const mayBePaid =
    payment.status === 'processing' && (!stopped.answered || attempt?.status !== 'awaiting_customer')
  if (!isOpen(payment.status) || mayBePaid) return stopped.view
  return applyPayerMove(app, view, payment, 'abandoned')
}

/** The payer's own move. It is none when somebody has said since the payer's view that money is on its way. */
async function applyPayerMove(
  app: PaymentsApp,
  previous: CheckoutView,
  payment: PaymentRow,
  to: 'pending' | 'abandoned',
): Promise<CheckoutView> {
  const { expiresAt: endsAt } = previous.payment
  const facts = { proof: 'customer', source: 'checkout', endsAt } as const
  await movePayment(app, payment, plainMove(payment, to), facts)
  return refresh(app, payment)
}

/**
 * Stops the attempt that is with a gateway, however fresh; `answered` when the gateway said what became of it.
 */
export async function stopAttempt(
  app: PaymentsApp,
  view: CheckoutView,
): Promise<{ view: CheckoutView; answered: boolean }> {
  const { payment, attempt } = view
  if (payment.status !== 'processing' || !attempt || !isOpenAttempt(attempt)) return { view, answered: false }
  const gateway = await gatewayOf(app, attempt)
  const stop = gateway.cancel ?? gateway.verify
  const outcome = await stop(toStatusQuery(payment, attempt), attempt.gatewayReference)
  await applyOutcome(app, { payment, attempt }, outcome, { source: 'checkout' })
  return { view: await refresh(app, payment), answered: outcome.kind !== 'unknown' }
}

/** The payer says that the money was sent. It changes what the page says, and nothing else. */
export async function markPayerSent(app: PaymentsApp, { attempt }: CheckoutView): Promise<void> {
  if (attempt && isOpenAttempt(attempt)) await markSentOrReturned(app.db, attempt, 'sent', app.clock.now())
}

/** The payer came back from the gateway's page, or asks whether it is done. */
export async function refreshCheckout(
  app: PaymentsApp,
  view: CheckoutView,
  source: MoveSource,
): Promise<CheckoutView> {
  const { attempt } = view
  if (source === 'return' && attempt && isOpenAttempt(attempt))
    await markSentOrReturned(app.db, attempt, 'returned', app.clock.now())
  return withAttempt(app, await checkStatus(app, view.payment, source))
}

async function refresh(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutView> {
  const fresh = await findPayment(app.db, payment.merchantId, payment.id)
  if (!fresh) throw new Error(`payment ${payment.id} has vanished`)
  return withAttempt(app, fresh)
}

function requireStartable(app: PaymentsApp, { payment, attempts }: CheckoutView): void {
  const isExpired = payment.expiresAt !== null && payment.expiresAt <= app.clock.now()
  if (payment.status !== 'pending' || isExpired) {
    throw new ApiError('invalid_state', {
      message: isExpired ? 'This checkout has expired.' : `This payment is ${payment.status}.`,
    })
  }
  if (hasUsedAllAttempts(payment)) throw new ApiError('invalid_state')
  // Money is here already, of another amount: a person decides before more of it is asked for.
  if (attempts.some(({ status }) => status === 'amount_mismatch')) throw new ApiError('invalid_state')
}

/** The move itself asks once more, for who is blocked at this very moment. */
async function assertNotBlocked(app: PaymentsApp, { merchantId, customerId }: PaymentRow): Promise<void> {
  if (await isBlocked(app, merchantId, customerId)) throw new ApiError('customer_blocked')
}

/** Those who offer the chosen way to pay, in order; what the payer gave is what the first of them asks for. */
async function requireOffered(
  app: PaymentsApp,
  payment: PaymentRow,
  choice: CheckoutChoice,
): Promise<Candidate[]> {
  // Who wants a gateway is not sent to the merchant's own account, nor the other way round.
  const listed = await listCandidates(app, payment)
  const candidates = listed.filter((one) => isDirectGateway(one) === isDirect(choice.channel))
  // A test instrument is the sandbox's own: who plays with one means no other gateway.
  const sandboxed = candidates.filter(({ gateway }) => choice.instrument !== undefined && gateway.instruments)
  const [first, ...others] = sandboxed.length > 0 ? sandboxed : candidates
  const offers = ({ channels }: Candidate) => channels.includes(choice.channel)
  if (!first || !offers(first)) {
    throw new ApiError('validation_failed', {
      details: [{ field: 'channel', code: 'not_allowed', message: 'This way to pay is not offered here.' }],
    })
  }
  requirePromptable(first.gateway, payment, choice)
  return [first, ...others.filter(offers).filter(({ gateway }) => isPromptable(gateway, payment, choice))]
}
