// The facts of a checkout screen, and the choice of the screen: a pure function of the stored state and the time. So
// a reload, the back button, a second tab and a restarted browser show the right screen.

import { LINK_ENDED } from '../../checkout/capacity.ts'
import type { ConsentForm } from '../../consents/consent.ts'
import type { MethodRow } from '../../customers/method.ts'
import { type Channel, type Instrument, isDirect } from '../../gateways/gateway.ts'
import type { MerchantProfile } from '../../merchants/profiles.ts'
import type { TransferRow } from '../../p2p/transfer.ts'

import type { Capacity } from '../../payments/app.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import type { PaymentRow } from '../../payments/payment.ts'
import type { Translator } from '../translator.ts'
import type { FormState, Offer } from './form.ts'

export interface CheckoutFacts {
  payment: PaymentRow
  /** The latest attempt, in any state. */
  attempt: AttemptRow | undefined
  attempts: readonly AttemptRow[]
  /** The direct transfer to the merchant by which the payment is or was to be paid. */
  transfer: TransferRow | null
  merchant: MerchantProfile
  channels: readonly Channel[]
  /** Test instruments to choose from; empty for a real gateway. */
  instruments: readonly Instrument[]
  /** Whether our page asks for the phone number, or the gateway's page. */
  asksPhone: boolean
  /** The channels whose gateway wants a number of every payer, which our page asks for. */
  contactChannels: readonly Channel[]
  /** The networks to choose from; empty if the payer chooses on the gateway's page. */
  networks: Offer['networks']
  /** The channels that no real gateway has in this place. */
  testOnlyChannels: readonly Channel[]
  /** Whether our page shows the account of a bank transfer, or the gateway's page. */
  showsAccount: boolean
  /** How the page asks whether a card is saved; null if it is not saved. */
  consentForm: ConsentForm | null
  /** The same for a mobile money number. */
  numberConsentForm: ConsentForm | null
  /** The payer's saved methods to choose from; empty unless the merchant asked for it with this payment. */
  savedMethods: readonly MethodRow[]
  /** "Visa •••• 4242" if the provider reported it, otherwise null. */
  methodLabel: string | null
  /** The URL of the payer's page, without a trailing slash. */
  path: string
  /** The merchant's return URL with reference and status; null without redirectUrl. */
  returnUrl: string | null
  /** Whether the payer may cancel the attempt in progress now. */
  canCancelAttempt: boolean
  /** Whether the payment link has a free slot; true for a payment without a link. */
  capacity: Capacity
  /** The payer has cancelled; while the payment is open it can be paid after all. */
  isCancelled: boolean
  /** The merchant is suspended: no attempt starts. */
  isSuspended: boolean
  isTest: boolean
  now: Date
  form: FormState
  /** Whether the payer has not been redirected to the merchant yet; that happens once. */
  autoReturns: boolean
  translator: Translator
}

export type ScreenName =
  | 'open'
  | 'prompt'
  | 'transfer'
  | 'redirect'
  | 'confirming'
  | 'slow'
  | 'mismatch'
  | 'paid'
  | 'already_paid'
  | 'paid_late'
  | 'failed'
  | 'expired'
  | 'cancelled'
  | 'cancelled_open'
  | 'suspended'
  | 'direct'
  | 'direct_checking'
  | 'direct_underpaid'
  | 'link_busy'
  | 'link_ended'

type StateFacts = Pick<CheckoutFacts, 'payment' | 'attempt' | 'attempts' | 'now'> &
  Partial<Pick<CheckoutFacts, 'capacity' | 'transfer' | 'isSuspended' | 'isCancelled'>>

export function screenOf(facts: StateFacts): ScreenName {
  const { payment, attempts } = facts
  // A different amount arrived, by any attempt: show that until the right amount is proven.
  const isMismatch = payment.paidAt === null && attempts.some(({ status }) => status === 'amount_mismatch')
  if (isMismatch) return 'mismatch'
  switch (payment.status) {
    case 'pending':
      return openScreenOf(facts)
    case 'processing':
      return waitingScreenOf(facts)
    case 'failed':
      return 'failed'
    case 'abandoned':
      return 'cancelled'
    case 'expired':
      return payment.statusReason === LINK_ENDED ? 'link_ended' : 'expired'
    default:
      return paidScreenOf(facts)
  }
}

function openScreenOf(facts: StateFacts): ScreenName {
  const { payment, now, capacity = 'available', isSuspended = false, isCancelled = false } = facts
  if (payment.expiresAt !== null && payment.expiresAt <= now) return isCancelled ? 'cancelled' : 'expired'
  if (isSuspended) return 'suspended'
  return isCancelled ? 'cancelled_open' : OPEN_SCREENS[capacity]
}

const OPEN_SCREENS: Readonly<Record<Capacity, ScreenName>> = {
  available: 'open',
  busy: 'link_busy',
  ended: 'link_ended',
}

// Longer than any provider takes to respond at once.
const CONFIRMING_MS = 20_000
// Most payers have entered their PIN by then; later responses are possible, so the page stays.
const PROMPT_SLOW_MS = 120_000

function waitingScreenOf({ attempt, now, transfer }: StateFacts): ScreenName {
  const step = attempt?.nextStep ?? null
  if (step && transfer && transfer.attemptKey === attempt?.gatewayKey) return DIRECT_SCREENS[transfer.status]
  const ageMs = attempt ? now.getTime() - attempt.startedAt.getTime() : 0
  switch (step?.kind) {
    case 'redirect':
      return attempt?.returnedAt ? screenAfterReturn(attempt.returnedAt, now) : 'redirect'
    case 'prompt':
      return ageMs > PROMPT_SLOW_MS || new Date(step.expiresAt) <= now ? 'slow' : 'prompt'
    case 'transfer':
    case 'wallet_transfer':
      return new Date(step.expiresAt) <= now ? 'slow' : 'transfer'
    default:
      return ageMs > CONFIRMING_MS ? 'slow' : 'confirming'
  }
}

// The merchant's decision is applied at once.
const DIRECT_SCREENS: Readonly<Record<TransferRow['status'], ScreenName>> = {
  awaiting_payment: 'direct',
  expired: 'direct',
  marked_paid: 'direct_checking',
  underpaid: 'direct_underpaid',
  confirmed: 'confirming',
  overpaid: 'confirming',
  rejected: 'confirming',
  cancelled: 'confirming',
}

export function isDirectScreen(name: ScreenName): boolean {
  return name === 'direct' || name === 'direct_checking' || name === 'direct_underpaid'
}

/** The payer returned from the gateway, and the outcome is unknown: do not send them there again. */
function screenAfterReturn(returnedAt: Date, now: Date): ScreenName {
  return now.getTime() - returnedAt.getTime() > CONFIRMING_MS ? 'slow' : 'confirming'
}

// A payer who has just paid reads "Paid"; a payer who returns later reads that it was paid.
const JUST_PAID_MS = 600_000

function paidScreenOf({ payment, now }: StateFacts): ScreenName {
  const { paidAt, expiresAt } = payment
  if (paidAt === null) return 'paid'
  if (expiresAt !== null && paidAt > expiresAt) return 'paid_late'
  return now.getTime() - paidAt.getTime() > JUST_PAID_MS ? 'already_paid' : 'paid'
}

/** Changes whenever the screen changes, even if the payment stays the same. */
export function screenFingerprint(facts: StateFacts): string {
  const { payment, attempt, transfer } = facts
  const parts = [
    screenOf(facts),
    payment.version,
    payment.statusReason,
    attempt?.status,
    attempt?.sentAt !== null,
    transfer?.version,
  ]
  return parts.join('.')
}

/**
 * True for an attempt with an unknown outcome, or if the payer reported a transfer or could have sent one directly to
 * the merchant: money may still arrive.
 */
export function mayHaveSentMoney({ attempts }: Pick<CheckoutFacts, 'attempts'>): boolean {
  return attempts.some(
    ({ status, sentAt, choice }) =>
      status !== 'declined' || sentAt !== null || (choice != null && isDirect(choice.channel)),
  )
}
