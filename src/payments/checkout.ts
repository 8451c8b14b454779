// What a payer can do with an open checkout: try a way to pay, give it up for another, cancel. One checkout, many
// attempts, at most one success.

import { Refusal } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { money } from '../core/money.ts'
import type { Channel, CheckoutChoice, Outcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import type { PaymentsApp } from './app.ts'
import { askAbout } from './ask.ts'
import { toGatewayAttempt } from './attempt.ts'
import { type AttemptRow, listAttempts, markAwaiting } from './attempt-queries.ts'
import { MAX_ATTEMPTS } from './decide.ts'
import { findPayment, findPaymentByAccess, type PaymentRow } from './queries.ts'
import { hashAccessCode } from './record.ts'
import { isUnsettled, nextQuestionAt, scheduleQuestion } from './schedule.ts'
import { type Known, movePayment, plainMove, settle } from './settle.ts'
import { isOpen, type MoveSource } from './states.ts'
import { requirePayment } from './verify.ts'
import { checkoutUrl, openAccessCode } from './views.ts'

const LEASE_SLACK_MS = 2_000

export interface CheckoutView {
  payment: PaymentRow
  /** The latest attempt, whatever became of it. */
  attempt: AttemptRow | undefined
}

/** The payment behind a payer's address. An unknown code tells nothing. */
export async function requireCheckout(app: PaymentsApp, accessCode: string): Promise<CheckoutView> {
  const payment = await findPaymentByAccess(app.db, hashAccessCode(accessCode))
  if (!payment) throw new Refusal('payment_not_found')
  return withAttempt(app, payment)
}

/** The checkout behind a merchant's own reference; a charge has none. */
export async function requireCheckoutPayment(
  app: PaymentsApp,
  merchant: Merchant,
  reference: string,
): Promise<CheckoutView> {
  const payment = await requirePayment(app, merchant, { reference })
  if (payment.kind !== 'checkout') throw new Refusal('payment_not_found')
  return withAttempt(app, payment)
}

async function withAttempt(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutView> {
  return { payment, attempt: (await listAttempts(app.db, payment.merchantId, payment.id)).at(-1) }
}

export function channelsOf(app: PaymentsApp, payment: PaymentRow): readonly Channel[] {
  const candidates = app.gateways.candidates(payment.currency, payment.country)
  return candidates.find(({ gateway }) => gateway.name === payment.gateway)?.channels ?? []
}

/** Starts an attempt, or answers the one that is under way: the same payer is never prompted twice. */
export async function startAttempt(
  app: PaymentsApp,
  view: CheckoutView,
  choice: CheckoutChoice,
): Promise<CheckoutView> {
  const { payment } = view
  if (payment.status === 'processing') return view
  requireStartable(app, payment, choice)
  const attempt = newAttempt(app, payment, choice)
  const next: PaymentRow = {
    ...plainMove(payment, 'processing'),
    statusReason: 'outcome_unknown',
    attemptsUsed: attempt.number,
  }
  const moved = await movePayment(app, payment, next, {
    proof: null,
    source: 'checkout',
    newAttempt: attempt,
  })
  if (!moved) return refresh(app, payment)

  await app.failpoints.pass('checkout.after_start')
  const known: Known = { payment: next, attempt }
  const outcome = await submitCheckout(app, known)
  await app.failpoints.pass('checkout.after_call')
  const settled = await settle(app, known, outcome, { source: 'checkout', firstCall: true })
  if (outcome.kind !== 'pending') await scheduleQuestion(app, settled, outcome)
  return refresh(app, payment)
}

/** The one place where a checkout attempt is sent to its gateway, the first time and again under the same key. */
export async function submitCheckout(app: PaymentsApp, { payment, attempt }: Known): Promise<Outcome> {
  const accessCode = openAccessCode(app, payment)
  if (attempt.choice === null || accessCode === null)
    throw new Error(`attempt ${attempt.id} is not of a checkout`)
  const merchantName = await app.merchantName(payment.merchantId)
  const started = await app.gateways
    .get(attempt.gateway)
    .startCheckout(
      toGatewayAttempt(payment, attempt, merchantName),
      attempt.choice,
      `${checkoutUrl(app, accessCode)}/return`,
    )
  if (started.kind !== 'started') return started
  const awaiting: Known = { payment, attempt: { ...attempt, status: 'awaiting_customer' } }
  await markAwaiting(app.db, attempt, started.gatewayReference, started.next, nextQuestionAt(app, awaiting))
  return { kind: 'pending', gatewayReference: started.gatewayReference }
}

/** Gives the current attempt up, so that another way can be tried. What was paid meanwhile counts. */
export async function giveUpAttempt(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  const { payment, attempt } = view
  if (payment.status !== 'processing' || !attempt || !isUnsettled(attempt)) return view
  const gateway = app.gateways.get(attempt.gateway)
  const asked = { key: attempt.gatewayKey, amount: money(payment.amountMinor, payment.currency) }
  const outcome = gateway.cancel
    ? await gateway.cancel(asked, attempt.gatewayReference)
    : await gateway.verify(asked, attempt.gatewayReference)
  await settle(app, { payment, attempt }, outcome, { source: 'checkout' })
  return refresh(app, payment)
}

/** The payer leaves. Refused while nobody knows whether they have paid. */
export async function cancelCheckout(app: PaymentsApp, view: CheckoutView): Promise<CheckoutView> {
  const given = await giveUpAttempt(app, view)
  const { payment, attempt } = given
  if (!isOpen(payment.status)) return given
  if (payment.status === 'processing' && attempt?.status !== 'awaiting_customer') {
    throw new Refusal('invalid_state', { message: 'We do not know yet whether this payment went through.' })
  }
  await movePayment(app, payment, plainMove(payment, 'abandoned'), { proof: 'customer', source: 'checkout' })
  return refresh(app, payment)
}

/** The payer came back from the gateway's page, or asks whether it is done. */
export async function refreshCheckout(
  app: PaymentsApp,
  view: CheckoutView,
  source: MoveSource,
): Promise<CheckoutView> {
  return withAttempt(app, await askAbout(app, view.payment, source))
}

async function refresh(app: PaymentsApp, payment: PaymentRow): Promise<CheckoutView> {
  const fresh = await findPayment(app.db, payment.merchantId, payment.id)
  if (!fresh) throw new Error(`payment ${payment.id} has vanished`)
  return withAttempt(app, fresh)
}

function requireStartable(app: PaymentsApp, payment: PaymentRow, choice: CheckoutChoice): void {
  const isOver = payment.expiresAt !== null && payment.expiresAt <= app.clock.now()
  if (payment.status !== 'pending' || isOver) {
    throw new Refusal('invalid_state', {
      message: isOver ? 'This checkout has expired.' : `This payment is ${payment.status}.`,
    })
  }
  if (payment.attemptsUsed >= MAX_ATTEMPTS) throw new Refusal('invalid_state')
  if (!channelsOf(app, payment).includes(choice.channel)) {
    throw new Refusal('validation_failed', {
      details: [{ field: 'channel', code: 'not_allowed', message: 'This way to pay is not offered here.' }],
    })
  }
}

function newAttempt(app: PaymentsApp, payment: PaymentRow, choice: CheckoutChoice): AttemptRow {
  const id = app.random.uuid()
  const now = app.clock.now()
  return {
    merchantId: payment.merchantId,
    id,
    paymentId: payment.id,
    number: payment.attemptsUsed + 1,
    operation: 'checkout',
    gateway: payment.gateway,
    channel: choice.channel,
    status: 'started',
    gatewayKey: id,
    gatewayReference: null,
    choice,
    nextStep: null,
    failureCode: null,
    failureWords: null,
    paidMinor: null,
    paidCurrency: null,
    startedAt: now,
    endedAt: null,
    dueAt: addMs(now, app.settings.gatewayTimeoutMs + LEASE_SLACK_MS),
    tries: 0,
    fence: 1,
  }
}
