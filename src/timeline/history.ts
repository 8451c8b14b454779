// One entry of the history of a payment, as facts.

import { formatAmount, money } from '../core/money.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { TimelineRow, TimelineType } from './queries.ts'

export interface HistoryEntry extends Pick<TimelineRow, 'status' | 'detail' | 'source' | 'count'> {
  at: string
  type: Exclude<TimelineType, 'event' | 'delivery'>
  uuid: string | null
  amount: string | null
}

export function toHistoryEntry({ currency }: PaymentRow, row: TimelineRow) {
  const { at, type, id, status, detail, source, count, amountMinor } = row
  const amount = amountMinor === null ? null : formatAmount(money(amountMinor, currency))
  return { at: at.toISOString(), type, uuid: id, status, detail, source, count, amount }
}
