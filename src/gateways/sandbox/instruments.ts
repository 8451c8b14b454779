// The test instruments, as data: what each of them does in checkout, when it is charged again and when
// its money is given back.

import type { FailureCode } from '../../core/failures.ts'
import type { Instrument, ProviderChannel } from '../gateway.ts'

export type Cleanup = { pays: 'all' | 'less' } | { declines: FailureCode }

/** When a checkout with the instrument ends: by the payer's hand on our page, or by itself. */
type Timing =
  | { on: 'page' }
  | { on: 'approval' }
  | { on: 'start'; afterMs: number }
  | { on: 'prompt_expiry' }
  | { on: 'checkout_expiry'; afterMs: number }

/** What happens when the saved card is charged without the payer, and how the answer travels. */
export interface ChargedAgain {
  ending: Cleanup
  answer: 'normal' | 'lost' | 'slow'
}

/** How money goes back to the instrument. */
export type RefundManner = 'gives' | 'gives later' | 'gives and loses the answer' | 'declines'

interface InstrumentFacts {
  channel: ProviderChannel
  label: string
  ending: Cleanup
  timing: Timing
  /** Null: it cannot be saved. */
  again: ChargedAgain | null
  refund: RefundManner
  last4: string | null
}

const PAYS: Cleanup = { pays: 'all' }
const declines = (code: FailureCode): Cleanup => ({ declines: code })

function card(
  last4: string,
  says: string,
  again: ChargedAgain | null,
  checkout: { ending: Cleanup; on: 'page' | 'approval' } = { ending: PAYS, on: 'page' },
): InstrumentFacts {
  const label = `Visa •••• ${last4}: ${says}`
  const { ending, on } = checkout
  return { channel: 'card', label, ending, timing: { on }, again, refund: 'gives', last4 }
}

function away(
  channel: 'mobile_money' | 'bank_transfer',
  label: string,
  ending: Cleanup,
  timing: Timing,
): InstrumentFacts {
  return { channel, label, ending, timing, again: null, refund: 'gives', last4: null }
}

/** Pays and is charged again like any card; only its refunds are special. */
function refunded(last4: string, says: string, refund: RefundManner): InstrumentFacts {
  return { ...card(last4, `pays now, ${says}`, approves), refund }
}

const approves: ChargedAgain = { ending: PAYS, answer: 'normal' }
const soon: Timing = { on: 'start', afterMs: 2_000 }

const TABLE = {
  card_success: card('4242', 'pays', approves),
  card_3ds: card('3155', 'asks for approval, then pays', approves, { ending: PAYS, on: 'approval' }),
  card_declined: card('0002', 'declined', null, { ending: declines('do_not_honor'), on: 'page' }),
  card_insufficient_funds: card('9995', 'not enough money', null, {
    ending: declines('insufficient_funds'),
    on: 'page',
  }),
  card_declined_later: card('0341', 'pays now, declined when charged again', {
    ending: declines('insufficient_funds'),
    answer: 'normal',
  }),
  card_auth_required_later: card('3184', 'pays now, wants approval when charged again', {
    ending: declines('authentication_required'),
    answer: 'normal',
  }),
  card_lost_answer_later: card('0119', 'pays now, the answer gets lost when charged again', {
    ending: PAYS,
    answer: 'lost',
  }),
  card_slow_later: card('0259', 'pays now, answers slowly when charged again', {
    ending: PAYS,
    answer: 'slow',
  }),
  card_refund_declined: refunded('5126', 'a refund is declined', 'declines'),
  card_refund_pending: refunded('7726', 'a refund takes a moment', 'gives later'),
  card_refund_lost_answer: refunded('0127', 'the answer to a refund gets lost', 'gives and loses the answer'),
  mobile_success: away('mobile_money', 'Mobile money: approved', PAYS, soon),
  mobile_cancelled: away('mobile_money', 'Mobile money: refused', declines('customer_cancelled'), {
    on: 'start',
    afterMs: 1_000,
  }),
  mobile_timeout: away('mobile_money', 'Mobile money: never answered', declines('customer_timeout'), {
    on: 'prompt_expiry',
  }),
  mobile_late_success: away('mobile_money', 'Mobile money: approved after the checkout closed', PAYS, {
    on: 'checkout_expiry',
    afterMs: 2_000,
  }),
  transfer_success: away('bank_transfer', 'Bank transfer: arrives', PAYS, soon),
  transfer_underpaid: away('bank_transfer', 'Bank transfer: less arrives', { pays: 'less' }, soon),
} as const satisfies Record<string, InstrumentFacts>

export type InstrumentName = keyof typeof TABLE

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const INSTRUMENT_NAMES = Object.keys(TABLE) as InstrumentName[]

export function factsOf(name: InstrumentName): InstrumentFacts {
  return TABLE[name]
}

export function isInstrumentName(name: unknown): name is InstrumentName {
  return typeof name === 'string' && Object.hasOwn(TABLE, name)
}

/** What the payer uses when nobody chose. */
export const DEFAULT_INSTRUMENTS: Record<ProviderChannel, InstrumentName> = {
  card: 'card_success',
  mobile_money: 'mobile_success',
  bank_transfer: 'transfer_success',
}

export const SANDBOX_INSTRUMENTS: readonly Instrument[] = INSTRUMENT_NAMES.map((name) => ({
  name,
  channel: TABLE[name].channel,
  label: TABLE[name].label,
}))
