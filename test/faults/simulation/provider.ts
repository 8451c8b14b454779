// A payment provider in simulated time. Its records are the truth about money: executions and refunds by key. It keeps
// keys for a while, may execute late, may return stale reads, and sends webhooks about changes.

import type { FailureCode } from '../../../src/core/failures.ts'
import { type Money, money } from '../../../src/core/money.ts'
import type {
  Attempt,
  GatewayBehavior,
  Outcome,
  RefundOutcome,
  RefundRequest,
  StartedCheckout,
} from '../../../src/gateways/gateway.ts'
import type { SavedMethod } from '../../../src/gateways/saved-method.ts'
import type { Prng } from './prng.ts'
import type { Sim } from './sim.ts'

/** confirmed: the payer has agreed, and the money moves when we complete the payment. */
type ProviderPaymentStatus = 'received' | 'open' | 'confirmed' | 'succeeded' | 'declined' | 'cancelled'

/** The provider's record of one of our keys. */
export interface ProviderPayment {
  key: string
  operation: 'checkout' | 'charge'
  paymentId: string
  amount: Money
  paid: Money
  reference: string
  firstSeenMs: number
  status: ProviderPaymentStatus
  code: FailureCode
  savedMethod: SavedMethod | null
  /** The status that status checks return, and since when. */
  reportedStatuses: { atMs: number; status: ProviderPaymentStatus }[]
}

export interface Execution {
  key: string
  paymentId: string
  amountMinor: bigint
  atMs: number
}

export interface ExecutedRefund {
  key: string
  attemptKey: string
  amountMinor: bigint
  /** The payer's bank rejected the refund, and it needs manual review. */
  wasReturned: boolean
}

interface ProviderRefund {
  status: 'pending' | 'succeeded' | 'failed'
  /** Until then status checks do not find it. */
  knownAtMs: number
}

export interface Provider {
  readonly name: string
  readonly behavior: GatewayBehavior
  readonly payments: ReadonlyMap<string, ProviderPayment>
  /** Executed payments, in order. */
  readonly executions: readonly Execution[]
  readonly executedRefunds: readonly ExecutedRefund[]
  /** Whether it can cancel a page that was not paid. */
  readonly cancels: boolean
  /** Payments move no money before they are completed. A second completing call would execute them again. */
  readonly completes: boolean
  complete(key: string): Outcome | 'no_response'
  hasRejected(key: string): boolean
  charge(attempt: Attempt): Outcome | 'no_response'
  openPage(attempt: Attempt): StartedCheckout | Outcome | 'no_response'
  checkStatus(key: string): Outcome
  cancel(key: string): Outcome
  refund(request: RefundRequest): RefundOutcome | 'no_response'
  checkRefundStatus(key: string): RefundOutcome
  /** The payer acts on the provider's page; false when there is no page to act on. */
  pay(key: string): boolean
  decline(key: string): boolean
}

export interface ProviderOptions {
  name: string
  behavior: GatewayBehavior
  /** How long it really keeps keys. */
  keyRetentionMs: number
  completes: boolean
  /** Called when the attempt with this key has changed. */
  notify: (key: string) => void
}

const HOUR_MS = 3_600_000

export const SLOWEST_COMPLETION_MS = 40_000
// A completing call may start late by a pause of its process, be in transit, and be executed late.
const COMPLETES_WITHIN_MS = 120_000
const CONFIRMED_MS = 180_000

const REJECTED: Outcome = {
  kind: 'declined',
  code: 'provider_unavailable',
  message: 'no',
  gatewayReference: null,
  refused: true,
}

const NOT_FOUND = { kind: 'unknown', reason: 'not_found', message: 'unknown key' } as const

export function createProvider(sim: Sim, options: ProviderOptions): Provider {
  const { prng, scheduler } = sim
  const payments = new Map<string, ProviderPayment>()
  const executions: Execution[] = []
  const executedRefunds: ExecutedRefund[] = []
  const refunds = new Map<string, ProviderRefund>()
  // A rejected request is rejected again, as long as the reason exists.
  const rejectedKeys = new Set<string>()
  const cancels = prng.nextBool(0.5)

  const setStatus = (payment: ProviderPayment, status: ProviderPaymentStatus) => {
    payment.status = status
    payment.reportedStatuses.push({ atMs: scheduler.now(), status })
    options.notify(payment.key)
  }
  const collect = (payment: ProviderPayment) => {
    const { key, paymentId, paid } = payment
    executions.push({ key, paymentId, amountMinor: paid.minor, atMs: scheduler.now() })
    setStatus(payment, 'succeeded')
  }
  /** Releases the payment after a while if it is not completed. */
  const confirm = (payment: ProviderPayment) => {
    setStatus(payment, 'confirmed')
    sim.extendFaultWindow(CONFIRMED_MS)
    scheduler.after(CONFIRMED_MS, `${options.name} releases`, () => {
      if (payment.status === 'confirmed') setStatus(payment, 'declined')
    })
  }
  const accept = options.completes ? confirm : collect
  const receive = (attempt: Attempt): ProviderPayment => {
    const { key, operation, paymentId, amount } = attempt
    const isOdd = operation === 'checkout' && sim.injects('wrongAmount')
    const payment: ProviderPayment = {
      ...{ key, operation, paymentId, amount },
      paid: isOdd ? money(amount.minor - 1n, amount.currency) : amount,
      reference: `${options.name}-${payments.size + 1}`,
      firstSeenMs: scheduler.now(),
      status: 'received',
      code: prng.nextBool(0.15) ? 'authentication_required' : 'insufficient_funds',
      savedMethod: operation === 'checkout' && prng.nextBool(0.3) ? savedCard(prng, attempt) : null,
      reportedStatuses: [],
    }
    payments.set(key, payment)
    return payment
  }
  const findUnexpired = (key: string): ProviderPayment | undefined => {
    const payment = payments.get(key)
    return payment && scheduler.now() - payment.firstSeenMs < options.keyRetentionMs ? payment : undefined
  }
  const rejectionOf = (key: string): Outcome | undefined => {
    if (sim.isFaultFree() || !(rejectedKeys.has(key) || sim.injects('rejects'))) return undefined
    rejectedKeys.add(key)
    return REJECTED
  }

  /** Executes the request, at once or later. */
  const decideCharge = (payment: ProviderPayment): Outcome | 'no_response' => {
    const isPaid = prng.nextBool(0.7)
    const end = () => (isPaid ? accept(payment) : setStatus(payment, 'declined'))
    if (sim.injects('executionDelayed')) {
      const delayMs = prng.between(0, 40_000)
      sim.extendFaultWindow(delayMs)
      scheduler.after(delayMs, `${options.name} executes late`, end)
      return 'no_response'
    }
    if (prng.nextBool(0.2)) {
      setStatus(payment, 'open')
      scheduler.after(prng.between(100, 8_000), `${options.name} executes`, end)
      return toOutcome(payment, 'open')
    }
    end()
    return toOutcome(payment, payment.status)
  }

  const executeRefund = (request: RefundRequest): RefundOutcome | 'no_response' => {
    const { key, attemptKey, amount } = request
    const isGiven = prng.nextBool(0.85)
    const willBeReturned = prng.nextBool(0.1)
    const executed: ExecutedRefund = { key, attemptKey, amountMinor: amount.minor, wasReturned: false }
    const refund: ProviderRefund = { status: 'pending', knownAtMs: scheduler.now() }
    refunds.set(key, refund)
    const fail = () => {
      refund.status = 'failed'
      executed.wasReturned = true
      options.notify(attemptKey)
    }
    const end = () => {
      refund.status = isGiven ? 'succeeded' : 'failed'
      refund.knownAtMs = Math.min(refund.knownAtMs, scheduler.now())
      if (isGiven) executedRefunds.push(executed)
      options.notify(attemptKey)
      if (isGiven && willBeReturned) scheduler.after(prng.between(5_000, 60_000), 'refund comes back', fail)
    }
    if (sim.injects('executionDelayed')) {
      refund.knownAtMs = Number.POSITIVE_INFINITY
      const delayMs = prng.between(0, 30_000)
      sim.extendFaultWindow(delayMs)
      scheduler.after(delayMs, `${options.name} refunds late`, end)
      return 'no_response'
    }
    if (prng.nextBool(0.4)) scheduler.after(prng.between(100, 8_000), `${options.name} refunds`, end)
    else end()
    return toRefundOutcome(key, refund)
  }

  const refundStatusOf = (key: string): RefundOutcome => {
    const refund = refunds.get(key)
    const isKnown = refund !== undefined && refund.knownAtMs <= scheduler.now() && !sim.injects('staleRead')
    return isKnown ? toRefundOutcome(key, refund) : NOT_FOUND
  }

  const completing = new Set<string>()

  /** It has no protection against a second call for the same payment. */
  const completePayment = (key: string): Outcome | 'no_response' => {
    const payment = payments.get(key)
    if (!payment || sim.injects('rejects')) return REJECTED
    if (payment.status !== 'confirmed' && !completing.has(key)) return toOutcome(payment, payment.status)
    completing.add(key)
    const end = () => (payment.status === 'declined' ? undefined : collect(payment))
    // Slow also when there are no other faults: most payers confirm after those.
    if (!sim.injects('executionDelayed') && prng.nextBool(0.8)) {
      end()
      return toOutcome(payment, payment.status)
    }
    const delayMs = prng.between(0, SLOWEST_COMPLETION_MS)
    sim.extendFaultWindow(delayMs)
    scheduler.after(delayMs, `${options.name} completes late`, end)
    return 'no_response'
  }

  const actOnOpenPage = (key: string, act: (payment: ProviderPayment) => void): boolean => {
    const payment = payments.get(key)
    const isRetried = payment?.status === 'declined' && options.behavior.paysAfterDecline === true
    if (payment?.operation !== 'checkout' || !(payment.status === 'open' || isRetried)) return false
    act(payment)
    return true
  }

  return {
    name: options.name,
    behavior: options.behavior,
    payments,
    executions,
    executedRefunds,
    cancels,
    completes: options.completes,
    complete: completePayment,
    hasRejected: (key) => rejectedKeys.has(key),
    charge(attempt) {
      const existing = findUnexpired(attempt.key)
      if (existing)
        return existing.reportedStatuses.length === 0 ? 'no_response' : toOutcome(existing, existing.status)
      return rejectionOf(attempt.key) ?? decideCharge(receive(attempt))
    },
    openPage(attempt) {
      const existing = findUnexpired(attempt.key)
      if (existing)
        return existing.status === 'open' ? toStarted(existing) : toOutcome(existing, existing.status)
      const rejection = rejectionOf(attempt.key)
      if (rejection) return rejection
      const payment = receive(attempt)
      setStatus(payment, 'open')
      return toStarted(payment)
    },
    checkStatus(key) {
      const payment = payments.get(key)
      const lagMs = sim.injects('staleRead') ? prng.between(0, 20_000) : 0
      const reported = payment?.reportedStatuses.findLast(({ atMs }) => atMs <= scheduler.now() - lagMs)
      return payment && reported ? toOutcome(payment, reported.status) : NOT_FOUND
    },
    cancel(key) {
      const payment = payments.get(key)
      if (!payment) return NOT_FOUND
      const isUnpaid = payment.status === 'open' || payment.status === 'confirmed'
      if (isUnpaid && payment.operation === 'checkout' && !completing.has(key))
        setStatus(payment, 'cancelled')
      return toOutcome(payment, payment.status)
    },
    refund(request) {
      const existing = options.behavior.nonIdempotentRefunds ? undefined : refunds.get(request.key)
      if (existing)
        return existing.knownAtMs <= scheduler.now() ? toRefundOutcome(request.key, existing) : 'no_response'
      return executeRefund(request)
    },
    checkRefundStatus: refundStatusOf,
    pay: (key) => actOnOpenPage(key, accept),
    decline: (key) => actOnOpenPage(key, (payment) => setStatus(payment, 'declined')),
  }
}

function savedCard(prng: Prng, { customer: { email } }: Attempt): SavedMethod {
  return {
    type: 'card',
    credential: `credential-${prng.nextInt(3)}`,
    fingerprint: `card of ${email}`,
    card: { brand: 'Visa', last4: '4242', expiryMonth: 12, expiryYear: 2099, country: 'KE' },
    mobileMoney: null,
    currencies: ['KES'],
  }
}

function toStarted(payment: ProviderPayment): StartedCheckout {
  const url = `https://provider.example/${payment.key}`
  return { kind: 'started', gatewayReference: payment.reference, next: { kind: 'redirect', url } }
}

function toOutcome(payment: ProviderPayment, status: ProviderPaymentStatus): Outcome {
  const { reference: gatewayReference, key, paid, savedMethod } = payment
  switch (status) {
    case 'succeeded': {
      const paidAt = new Date(
        Math.floor(payment.reportedStatuses.findLast((one) => one.status === status)?.atMs ?? 0),
      )
      return { kind: 'succeeded', gatewayReference, paid, key, savedMethod, paidAt }
    }
    case 'declined':
      return { kind: 'declined', code: payment.code, message: 'declined', gatewayReference }
    case 'cancelled':
      return { kind: 'declined', code: 'customer_cancelled', message: 'cancelled', gatewayReference }
    case 'received':
    case 'open':
      return { kind: 'pending', gatewayReference }
    case 'confirmed':
      return { kind: 'pending', gatewayReference, canComplete: true }
  }
}

function toRefundOutcome(key: string, { status }: ProviderRefund): RefundOutcome {
  const gatewayReference = `refund-${key}`
  if (status === 'failed') return { kind: 'failed', message: 'not possible', gatewayReference }
  return { kind: status, gatewayReference }
}

/** The guarantees of a provider; some differ between schedules. */
export function drawBehavior(
  sim: Sim,
  hasShortKeyRetention: boolean,
): { behavior: GatewayBehavior; keyRetentionMs: number } {
  const { prng } = sim
  // A key that is kept only for seconds makes its expiry part of the schedule.
  const keyRetentionHours = hasShortKeyRetention ? 25_000 / HOUR_MS : 24
  const behavior: GatewayBehavior = {
    ...{ keyRetentionHours, cachesErrors: true, lookupByReference: true },
    completesWithinMs: COMPLETES_WITHIN_MS,
    ...(prng.nextBool(0.3) && { paysAfterDecline: true }),
    ...(prng.nextBool(0.2) && { sequentialRefunds: true }),
    ...(prng.nextBool(0.2) && { nonIdempotentRefunds: true }),
  }
  return { behavior, keyRetentionMs: keyRetentionHours * HOUR_MS }
}
