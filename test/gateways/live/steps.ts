// The steps of a live run: each calls the connector as the service does, and says what was seen.

import { randomUUID } from 'node:crypto'
import { equals, formatAmount, type Money, money } from '../../../src/core/money.ts'
import type {
  Attempt,
  CheckoutChoice,
  Gateway,
  NextStep,
  Outcome,
  RefundOutcome,
  RefundRequest,
} from '../../../src/gateways/gateway.ts'
import type { SavedMethod } from '../../../src/gateways/saved-method.ts'
import { redactPageUrl } from './redact.ts'
import type { ProviderSandbox } from './sandboxes.ts'

export type StepResult = 'seen' | 'not seen' | 'left out'

export interface Finding {
  result: StepResult
  /** What was seen, in a sentence. */
  detail: string
}

/** What the steps need of the person and of time. */
export interface Person {
  say(text: string): void
  /** Waits until the person has done it; false if the person leaves the step out. */
  ask(text: string): Promise<boolean>
  sleep(ms: number): Promise<void>
}

export interface Stage {
  gateway: Gateway
  sandbox: ProviderSandbox
  person: Person
  amount: Money
  country: string
  choice: CheckoutChoice
  returnUrl: string
  /** How often a pending outcome is polled. */
  polls: number
  now(): Date
}

/** What later steps take from earlier ones. */
export interface Paid {
  attempt: Attempt
  reference: string
  savedMethod: SavedMethod | null
  receiptNumber: string | null
}

const POLL_DELAY_MS = 5_000
const CHECKOUT_MS = 30 * 60_000
// Some providers refund whole units only.
const REFUND_STEP = 100n

const seen = (detail: string): Finding => ({ result: 'seen', detail })
const notSeen = (detail: string): Finding => ({ result: 'not seen', detail })
export const leftOut = (detail: string): Finding => ({ result: 'left out', detail })

export async function checkCredentials({ gateway }: Stage): Promise<Finding> {
  if (!gateway.probe) return leftOut('The connector has no call that checks credentials.')
  const result = await gateway.probe()
  return result === 'works' ? seen('The credentials are accepted.') : notSeen(`The probe says: ${result}.`)
}

export async function checkAccount({ gateway }: Stage): Promise<Finding> {
  const checks = (await gateway.checkAccount?.()) ?? []
  if (checks.length === 0) return leftOut('The connector does not check settings of the account.')
  return seen(checks.map(({ name, result, detail }) => `${name}: ${result}. ${detail}`.trim()).join(' '))
}

export function newAttempt({ amount, country, now }: Stage, operation: Attempt['operation']): Attempt {
  const startedAt = now()
  const isCheckout = operation === 'checkout'
  return {
    key: randomUUID(),
    operation,
    paymentId: randomUUID(),
    merchantId: randomUUID(),
    merchantName: 'Test shop',
    reference: `live-${startedAt.getTime()}`,
    amount,
    country,
    description: 'Test payment',
    customer: { email: 'payer@example.com', firstname: 'Test', lastname: 'Payer', phone: '+201012345678' },
    startedAt,
    expiresAt: isCheckout ? new Date(startedAt.getTime() + CHECKOUT_MS) : null,
  }
}

export async function startCheckout(
  { gateway, choice, returnUrl }: Stage,
  attempt: Attempt,
): Promise<{ finding: Finding; reference: string | null; next: NextStep | null }> {
  const started = await gateway.startCheckout(attempt, choice, returnUrl)
  if (started.kind !== 'started')
    return { finding: notSeen(describeOutcome(started)), reference: null, next: null }
  const { gatewayReference: reference, next } = started
  return { finding: seen(`The checkout began with ${describeNext(next)}.`), reference, next }
}

/** The same request with the same key: the provider must not begin a second payment. */
export async function repeatCheckout(stage: Stage, attempt: Attempt, reference: string): Promise<Finding> {
  if (stage.gateway.behavior.notResendable) return leftOut('The provider has no key for repeated requests.')
  const again = await stage.gateway.startCheckout(attempt, stage.choice, stage.returnUrl)
  if (again.kind === 'started')
    return again.gatewayReference === reference
      ? seen('The repeated request returned the same checkout.')
      : notSeen('The repeated request began a second checkout.')
  return again.kind === 'pending' || again.kind === 'succeeded'
    ? seen(`The repeated request was recognized: ${describeOutcome(again)}`)
    : notSeen(describeOutcome(again))
}

export async function payCheckout(
  stage: Stage,
  attempt: Attempt,
  started: { reference: string; next: NextStep },
): Promise<{ finding: Finding; paid: Paid | null }> {
  const isDone = await stage.person.ask(`${instructionOf(started.next)}\n${stage.sandbox.pay}`)
  if (!isDone) return { finding: leftOut('The person left it out.'), paid: null }
  const outcome = await pollOutcome(stage, attempt, started.reference)
  if (outcome.kind !== 'succeeded') return { finding: notSeen(describeOutcome(outcome)), paid: null }
  if (outcome.key !== attempt.key || !equals(outcome.paid, attempt.amount))
    return {
      finding: notSeen(`Another payment was reported: ${formatPaid(outcome.paid)}, key ${outcome.key}.`),
      paid: null,
    }
  const { gatewayReference: reference, savedMethod, receiptNumber = null } = outcome
  return { finding: seen(describeOutcome(outcome)), paid: { attempt, reference, savedMethod, receiptNumber } }
}

export async function declineCheckout(stage: Stage): Promise<Finding> {
  const attempt = newAttempt(stage, 'checkout')
  const { finding, reference, next } = await startCheckout(stage, attempt)
  if (reference === null || next === null) return finding
  const isDone = await stage.person.ask(`${instructionOf(next)}\n${stage.sandbox.decline}`)
  if (!isDone) return leftOut('The person left it out.')
  const outcome = await pollOutcome(stage, attempt, reference)
  return outcome.kind === 'declined' ? seen(describeOutcome(outcome)) : notSeen(describeOutcome(outcome))
}

export async function chargeAgain(stage: Stage, { savedMethod }: Paid): Promise<Finding> {
  const { chargeSaved } = stage.gateway
  if (!chargeSaved || !savedMethod) return leftOut('The payment saved no method that can be charged again.')
  const attempt = newAttempt(stage, 'charge')
  const first = await chargeSaved.call(stage.gateway, attempt, savedMethod.credential)
  const outcome = isOpen(first) ? await pollOutcome(stage, attempt, referenceOf(first)) : first
  return outcome.kind === 'succeeded' ? seen(describeOutcome(outcome)) : notSeen(describeOutcome(outcome))
}

export async function refundHalf(stage: Stage, paid: Paid): Promise<Finding> {
  const { refund } = stage.gateway
  if (!refund) return leftOut('The connector has no refunds.')
  const { amount, key: attemptKey } = paid.attempt
  const rounded = (amount.minor / 2n / REFUND_STEP) * REFUND_STEP
  const canHalve = rounded > 0n && !stage.gateway.behavior.fullRefundsOnly
  const half = canHalve ? rounded : amount.minor
  const request: RefundRequest = {
    key: randomUUID(),
    attemptKey,
    attemptReference: paid.reference,
    amount: money(half, amount.currency),
    isFull: half === amount.minor,
    ...(paid.receiptNumber !== null && { receiptNumber: paid.receiptNumber }),
    ...(stage.choice.phone !== undefined && { payerPhone: stage.choice.phone }),
  }
  const outcome = await pollRefund(stage, request, await refund.call(stage.gateway, request))
  const detail = describeRefund(outcome, request.amount)
  return outcome.kind === 'succeeded' || outcome.kind === 'pending' ? seen(detail) : notSeen(detail)
}

export async function listRefunds(
  { gateway }: Stage,
  { attempt, reference, receiptNumber }: Paid,
): Promise<Finding> {
  if (!gateway.listRefunds) return leftOut('The provider has no list of refunds.')
  const { key: attemptKey, amount } = attempt
  const listed = await gateway.listRefunds({
    kind: 'payment',
    attemptKey,
    attemptReference: reference,
    receiptNumber,
    currency: amount.currency,
    refunded: money(0n, amount.currency),
  })
  if (listed.kind !== 'refunds') return notSeen(listed.message)
  return seen(`The list has ${listed.refunds.length} refunds of the payment.`)
}

const isOpen = (outcome: Outcome) => outcome.kind === 'pending' || outcome.kind === 'unknown'
const referenceOf = (outcome: Outcome) => (outcome.kind === 'pending' ? outcome.gatewayReference : null)

/** Polls until the outcome is known. Makes the completing call once, if the provider waits for it. */
async function pollOutcome(stage: Stage, attempt: Attempt, reference: string | null): Promise<Outcome> {
  const { gateway, person, polls } = stage
  let isCompleted = false
  for (let poll = 1; ; poll += 1) {
    const outcome = await gateway.verify(attempt, reference)
    if (!isOpen(outcome) || poll >= polls) return outcome
    person.say(`Poll ${poll} of ${polls}: ${describeOutcome(outcome)}`)
    const named = referenceOf(outcome) ?? reference
    if (outcome.kind === 'pending' && outcome.canComplete && gateway.complete && named && !isCompleted) {
      isCompleted = true
      const completed = await gateway.complete(attempt, named)
      if (!isOpen(completed)) return completed
    }
    await person.sleep(POLL_DELAY_MS)
  }
}

async function pollRefund(
  { gateway, person, polls }: Stage,
  request: RefundRequest,
  first: RefundOutcome,
): Promise<RefundOutcome> {
  let outcome = first
  for (let poll = 1; poll < polls && gateway.verifyRefund; poll += 1) {
    if (outcome.kind === 'succeeded' || outcome.kind === 'failed') break
    await person.sleep(POLL_DELAY_MS)
    const reference = outcome.kind === 'pending' ? outcome.gatewayReference : null
    const next = await gateway.verifyRefund(request, reference)
    if (next.kind !== 'unknown') outcome = next
  }
  return outcome
}

const formatPaid = (paid: Money) => `${formatAmount(paid)} ${paid.currency}`

export function describeOutcome(outcome: Outcome): string {
  if (outcome.kind === 'declined') return `It was declined as ${outcome.code}: ${outcome.message}`
  if (outcome.kind === 'pending')
    return outcome.canComplete ? 'It waits for our completing call.' : 'It is pending.'
  if (outcome.kind === 'unknown') return `The outcome is unknown (${outcome.reason}): ${outcome.message}`
  const { paid, receiptNumber, fee, savedMethod, paidAt } = outcome
  const also = [
    receiptNumber !== undefined && 'a receipt number',
    fee !== undefined && `a fee of ${formatPaid(fee)}`,
    paidAt !== null && 'the time of the payment',
    savedMethod !== null && `a saved method (${savedMethod.type})`,
  ].filter((one) => one !== false)
  return `It was paid with ${formatPaid(paid)}${also.length > 0 ? `, with ${also.join(', ')}` : ''}.`
}

function describeRefund(outcome: RefundOutcome, amount: Money): string {
  if (outcome.kind === 'succeeded') return `${formatPaid(amount)} were refunded.`
  if (outcome.kind === 'pending') return `The refund of ${formatPaid(amount)} is accepted and pending.`
  return `The refund is ${outcome.kind}: ${outcome.message}`
}

function describeNext(next: NextStep): string {
  if (next.kind === 'redirect') return `a page at ${redactPageUrl(next.url)}`
  return next.kind === 'prompt' ? `a prompt of ${next.network} on the phone` : 'an account to pay into'
}

function instructionOf(next: NextStep): string {
  if (next.kind === 'redirect') return `Open ${next.url}`
  if (next.kind === 'prompt') return `A prompt of ${next.network} was sent to ${next.phone}.`
  if (next.kind === 'transfer')
    return `Pay into the account ${next.accountNumber} (${next.bankName}, ${next.accountName}), reference ${next.narration}.`
  return `Pay to ${next.phoneNumber} (${next.network}, ${next.accountName}), reference ${next.narration}.`
}
