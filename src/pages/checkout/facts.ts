// What a screen of the checkout is made from, and which screen that is: a pure function of the server's state and the
// time, so that a reload, the back button, a second tab and a killed browser show the right one.

import { LINK_ENDED } from '../../checkout/capacity.ts'
import { type Channel, type Instrument, isDirect } from '../../gateways/gateway.ts'
import type { MerchantProfile } from '../../merchants/profiles.ts'
import type { TransferRow } from '../../p2p/transfer.ts'

import type { Capacity } from '../../payments/app.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import type { PaymentRow } from '../../payments/payment.ts'
import type { Translator } from '../translator.ts'
import type { FormState } from './form.ts'

export interface CheckoutFacts {
  payment: PaymentRow
  /** The latest attempt, whatever became of it. */
  attempt: AttemptRow | undefined
  attempts: readonly AttemptRow[]
  /** The transfer straight to the merchant that the payment is or was to be paid by. */
  transfer: TransferRow | null
  merchant: MerchantProfile
  channels: readonly Channel[]
  /** Test instruments to choose from; empty with a real gateway. */
  instruments: readonly Instrument[]
  /** Whether our page asks for the phone number, or the gateway's own. */
  asksPhone: boolean
  /** "Visa •••• 4242" when the provider told, otherwise null. */
  methodLabel: string | null
  /** The payer's own address, without a slash at the end. */
  path: string
  /** Where the merchant wants the payer back, with reference and status; null without redirectUrl. */
  returnUrl: string | null
  /** Whether the payer may give the attempt that is under way up already. */
  canCancelAttempt: boolean
  /** Whether there is a place at the link where the payment was begun; always, when it was begun at none. */
  capacity: Capacity
  isTest: boolean
  now: Date
  form: FormState
  /** Not yet sent back to the merchant by itself; that happens once. */
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
  | 'direct'
  | 'direct_checking'
  | 'direct_underpaid'
  | 'link_busy'
  | 'link_ended'

type StateFacts = Pick<CheckoutFacts, 'payment' | 'attempt' | 'attempts' | 'now'> &
  Partial<Pick<CheckoutFacts, 'capacity' | 'transfer'>>

export function screenOf(facts: StateFacts): ScreenName {
  const { payment, attempts, now, capacity = 'available' } = facts
  // Money of another amount came, by whichever attempt: that is the truth until the right one is proven.
  const isMismatch = payment.paidAt === null && attempts.some(({ status }) => status === 'amount_mismatch')
  if (isMismatch) return 'mismatch'
  switch (payment.status) {
    case 'pending':
      return payment.expiresAt !== null && payment.expiresAt <= now ? 'expired' : OPEN_SCREENS[capacity]
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

const OPEN_SCREENS: Readonly<Record<Capacity, ScreenName>> = {
  available: 'open',
  busy: 'link_busy',
  ended: 'link_ended',
}

// Long enough for every answer that a provider gives at once.
const CONFIRMING_MS = 20_000
// Most payers have typed their PIN by then; later answers do come, so the page stays.
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

// What the merchant has decided is settled in the same moment.
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

/** Who came back has paid, or has not: nobody knows yet, and they are not sent there again. */
function screenAfterReturn(returnedAt: Date, now: Date): ScreenName {
  return now.getTime() - returnedAt.getTime() > CONFIRMING_MS ? 'slow' : 'confirming'
}

// The one who has just paid reads "Paid"; who opens the address again later reads that it was.
const JUST_PAID_MS = 600_000

function paidScreenOf({ payment, now }: StateFacts): ScreenName {
  const { paidAt, expiresAt } = payment
  if (paidAt === null) return 'paid'
  if (expiresAt !== null && paidAt > expiresAt) return 'paid_late'
  return now.getTime() - paidAt.getTime() > JUST_PAID_MS ? 'already_paid' : 'paid'
}

/** Changes whenever the screen would look different, also while the payment stays where it is. */
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
 * An attempt whose end nobody knows, whose payer says that the money is on its way, or who could send it to the merchant
 * without telling anybody: it may still come.
 */
export function mayHaveSentMoney({ attempts }: Pick<CheckoutFacts, 'attempts'>): boolean {
  return attempts.some(
    ({ status, sentAt, choice }) =>
      status !== 'declined' || sentAt !== null || (choice != null && isDirect(choice.channel)),
  )
}
