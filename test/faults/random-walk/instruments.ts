// The expected behaviour of the sandbox instruments, from the contract.

export interface Expected {
  channel: 'card' | 'mobile_money' | 'bank_transfer'
  checkout: 'pays' | 'declines' | 'pays late' | 'pays less'
  /** Null: it cannot be charged again. */
  recurringCharge: 'approves' | 'declines' | 'wants approval' | 'approves without answer' | null
  refund: 'gives' | 'declines' | 'gives without answer'
}

const card: Expected = { channel: 'card', checkout: 'pays', recurringCharge: 'approves', refund: 'gives' }
const mobile: Expected = { ...card, channel: 'mobile_money', recurringCharge: null }
const transfer: Expected = { ...mobile, channel: 'bank_transfer' }

export const INSTRUMENTS: Readonly<Record<string, Expected>> = {
  card_success: card,
  card_3ds: card,
  card_declined: { ...card, checkout: 'declines', recurringCharge: null },
  card_insufficient_funds: { ...card, checkout: 'declines', recurringCharge: null },
  card_declined_later: { ...card, recurringCharge: 'declines' },
  card_auth_required_later: { ...card, recurringCharge: 'wants approval' },
  card_lost_answer_later: { ...card, recurringCharge: 'approves without answer' },
  card_slow_later: { ...card, recurringCharge: 'approves without answer' },
  card_refund_declined: { ...card, refund: 'declines' },
  card_refund_pending: { ...card, refund: 'gives without answer' },
  card_refund_lost_answer: { ...card, refund: 'gives without answer' },
  mobile_success: mobile,
  mobile_cancelled: { ...mobile, checkout: 'declines' },
  mobile_timeout: { ...mobile, checkout: 'declines' },
  mobile_late_success: { ...mobile, checkout: 'pays late' },
  transfer_success: transfer,
  transfer_underpaid: { ...transfer, checkout: 'pays less' },
}

export const INSTRUMENT_NAMES = Object.keys(INSTRUMENTS)

export function expectedOf(instrument: string | null): Expected {
  const expected = instrument === null ? undefined : INSTRUMENTS[instrument]
  if (!expected) throw new Error(`${instrument} is no instrument`)
  return expected
}
