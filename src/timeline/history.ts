// One entry of the history of a payment, as facts.

import { formatAmount, money } from '../core/money.ts'
import { namesOperator, withoutOperatorNames } from '../core/text/operator-names.ts'
import type { PaymentRow } from '../payments/payment.ts'
import type { AnyTimelineType, TimelineRow } from './queries.ts'

export interface HistoryEntry extends Pick<TimelineRow, 'status' | 'detail' | 'source' | 'count'> {
  at: string
  type: Exclude<AnyTimelineType, 'event' | 'delivery'>
  uuid: string | null
  amount: string | null
}

/** Events have a list of their own. */
export function toHistory(payment: PaymentRow, rows: readonly TimelineRow[]): HistoryEntry[] {
  return rows.flatMap((row) => {
    const { type } = row
    return type === 'event' || type === 'delivery' ? [] : [{ ...toFacts(payment, row), type }]
  })
}

/** For merchants. What the gateway answered stays. */
export function withoutOperators(entry: HistoryEntry): HistoryEntry {
  const { type, source, detail } = entry
  if (!type.startsWith('case_') || source === null || !namesOperator(source)) return entry
  return { ...entry, source: withoutOperatorNames(source), detail: type === 'case_asked' ? detail : null }
}

function toFacts({ currency }: PaymentRow, row: TimelineRow) {
  const { at, id: uuid, status, detail, source, count, amountMinor } = row
  const amount = amountMinor === null ? null : formatAmount(money(amountMinor, currency))
  return { at: at.toISOString(), uuid, status, detail, source, count, amount }
}
