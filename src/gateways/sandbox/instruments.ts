// The test instruments: what each one does in checkout, when it is charged again and when it is refunded.

import type { FailureCode } from '../../core/failures.ts'
import type { Instrument, ProviderChannel } from '../gateway.ts'

/** `holds`: the provider reports a status that the connector does not know. */
export type InstrumentEnding = { pays: 'all' | 'less' | 'more' } | { declines: FailureCode } | { holds: true }

/** When a checkout with the instrument ends: by the payer's action on the page, or by itself. */
type Timing =
  | { on: 'page' }
  | { on: 'approval' }
  | { on: 'start'; afterMs: number }
  | { on: 'prompt_expiry' }
  | { on: 'checkout_expiry'; afterMs: number }

/** What happens when the saved card is charged without the payer, and how the response is delivered. */
export interface SavedCardCharge {
  ending: InstrumentEnding
  response: 'normal' | 'lost' | 'slow'
}

/** How a refund to the instrument goes. */
export type RefundBehavior =
  | 'succeeds'
  | 'succeeds_later'
  | 'succeeds_response_lost'
  | 'declines'
  /** The payer's bank rejects the money after the refund was reported as successful. */
  | 'fails_after_success'

interface InstrumentFacts {
  channel: ProviderChannel
  label: string
  ending: InstrumentEnding
  timing: Timing
  /** Null: it cannot be saved. */
  savedCardCharge: SavedCardCharge | null
  refund: RefundBehavior
  last4: string | null
  /** What the payer's bank does this long after the payment. Absent: nothing. */
  disputes?: readonly { afterMs: number; status: 'open' | 'won' | 'lost' }[]
}

const PAYS: InstrumentEnding = { pays: 'all' }
const declines = (code: FailureCode): InstrumentEnding => ({ declines: code })

function card(
  last4: string,
  behavior: string,
  savedCardCharge: SavedCardCharge | null,
  checkout: { ending: InstrumentEnding; on: 'page' | 'approval' } = { ending: PAYS, on: 'page' },
): InstrumentFacts {
  const label = `Visa •••• ${last4}: ${behavior}`
  const { ending, on } = checkout
  return { channel: 'card', label, ending, timing: { on }, savedCardCharge, refund: 'succeeds', last4 }
}

function offPageInstrument(
  channel: 'mobile_money' | 'bank_transfer',
  label: string,
  ending: InstrumentEnding,
  timing: Timing,
): InstrumentFacts {
  return { channel, label, ending, timing, savedCardCharge: null, refund: 'succeeds', last4: null }
}

/** Pays and is charged again like any card; only its refunds differ. */
function cardWithRefund(last4: string, behavior: string, refund: RefundBehavior): InstrumentFacts {
  return { ...card(last4, `pays now, ${behavior}`, APPROVES), refund }
}

const DAY_MS = 24 * 3_600_000

/** Pays and is charged again like any card; the bank opens a dispute after a day, and decides it a week later. */
function cardWithDispute(last4: string, decision: 'won' | 'lost'): InstrumentFacts {
  return {
    ...card(last4, `pays now, disputed after a day, ${decision} a week later`, APPROVES),
    disputes: [
      { afterMs: DAY_MS, status: 'open' },
      { afterMs: 8 * DAY_MS, status: decision },
    ],
  }
}

const APPROVES: SavedCardCharge = { ending: PAYS, response: 'normal' }
const AFTER_TWO_SECONDS: Timing = { on: 'start', afterMs: 2_000 }

const INSTRUMENTS = {
  card_success: card('4242', 'pays', APPROVES),
  card_3ds: card('3155', 'asks for approval, then pays', APPROVES, { ending: PAYS, on: 'approval' }),
  card_declined: card('0002', 'declined', null, { ending: declines('do_not_honor'), on: 'page' }),
  card_insufficient_funds: card('9995', 'not enough money', null, {
    ending: declines('insufficient_funds'),
    on: 'page',
  }),
  card_unknown_status: card('6007', 'the provider answers with a status that we do not know', null, {
    ending: { holds: true },
    on: 'page',
  }),
  card_declined_later: card('0341', 'pays now, declined when charged again', {
    ending: declines('insufficient_funds'),
    response: 'normal',
  }),
  card_auth_required_later: card('3184', 'pays now, wants approval when charged again', {
    ending: declines('authentication_required'),
    response: 'normal',
  }),
  card_lost_answer_later: card('0119', 'pays now, the answer gets lost when charged again', {
    ending: PAYS,
    response: 'lost',
  }),
  card_slow_later: card('0259', 'pays now, answers slowly when charged again', {
    ending: PAYS,
    response: 'slow',
  }),
  card_refund_declined: cardWithRefund('5126', 'a refund is declined', 'declines'),
  card_refund_pending: cardWithRefund('7726', 'a refund takes a moment', 'succeeds_later'),
  card_refund_lost_answer: cardWithRefund(
    '0127',
    'the answer to a refund gets lost',
    'succeeds_response_lost',
  ),
  card_refund_fails_later: cardWithRefund('3725', 'a refund fails after its success', 'fails_after_success'),
  card_dispute_won_later: cardWithDispute('1976', 'won'),
  card_dispute_lost_later: cardWithDispute('2685', 'lost'),
  mobile_success: offPageInstrument('mobile_money', 'Mobile money: approved', PAYS, AFTER_TWO_SECONDS),
  mobile_cancelled: offPageInstrument(
    'mobile_money',
    'Mobile money: refused',
    declines('customer_cancelled'),
    {
      on: 'start',
      afterMs: 1_000,
    },
  ),
  mobile_timeout: offPageInstrument(
    'mobile_money',
    'Mobile money: never answered',
    declines('customer_timeout'),
    {
      on: 'prompt_expiry',
    },
  ),
  mobile_late_success: offPageInstrument(
    'mobile_money',
    'Mobile money: approved after the checkout closed',
    PAYS,
    {
      on: 'checkout_expiry',
      afterMs: 2_000,
    },
  ),
  transfer_success: offPageInstrument('bank_transfer', 'Bank transfer: arrives', PAYS, AFTER_TWO_SECONDS),
  transfer_underpaid: offPageInstrument(
    'bank_transfer',
    'Bank transfer: less arrives',
    { pays: 'less' },
    AFTER_TWO_SECONDS,
  ),
  transfer_overpaid: offPageInstrument(
    'bank_transfer',
    'Bank transfer: more arrives',
    { pays: 'more' },
    AFTER_TWO_SECONDS,
  ),
} as const satisfies Record<string, InstrumentFacts>

export type InstrumentName = keyof typeof INSTRUMENTS

// A boundary: the keys of a constant object are exactly its type's keys; Object.keys only says string.
export const INSTRUMENT_NAMES = Object.keys(INSTRUMENTS) as InstrumentName[]

export function factsOf(name: InstrumentName): InstrumentFacts {
  return INSTRUMENTS[name]
}

export function isInstrumentName(name: unknown): name is InstrumentName {
  return typeof name === 'string' && Object.hasOwn(INSTRUMENTS, name)
}

/** The instrument if none was chosen. */
export const DEFAULT_INSTRUMENTS: Record<ProviderChannel, InstrumentName> = {
  card: 'card_success',
  mobile_money: 'mobile_success',
  bank_transfer: 'transfer_success',
}

export const SANDBOX_INSTRUMENTS: readonly Instrument[] = INSTRUMENT_NAMES.map((name) => ({
  name,
  channel: INSTRUMENTS[name].channel,
  label: INSTRUMENTS[name].label,
}))
