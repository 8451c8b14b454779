// The columns of a line of a wallet statement. The row type and the select list follow from this table.

import type { Currency } from '../core/currency.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const WALLET_LINE = columnTable({
  currency: column<Currency>('text'),
  /** Counted per merchant and currency from 1, without gaps. */
  number: column<bigint>('bigint'),
  kind: column<string>('text'),
  account: column<'available' | 'pending'>('text'),
  amountMinor: column<bigint>('bigint'),
  /** The balances after this line. */
  availableMinor: column<bigint>('bigint'),
  pendingMinor: column<bigint>('bigint'),
  paymentId: column<string>('uuid'),
  createdAt: column<Date>('timestamptz'),
})

export interface LineRow extends RowOf<typeof WALLET_LINE> {
  /** `currency:number`, unique per merchant. */
  id: string
}

export interface LineFilter {
  currency: Currency | null
  kind: string | null
  paymentId: string | null
}
