// A receiving account: a bank or mobile-money account of the merchant, to which payers send money themselves.

import type { Currency } from '../core/currency.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const ACCOUNT_CHANNELS = ['bank_transfer', 'mobile_money'] as const

export type AccountChannel = (typeof ACCOUNT_CHANNELS)[number]

/** Where the payer sends the money. A transfer copies these columns, so a later change of the account does not move it. */
export const DESTINATION_COLUMNS = {
  accountName: column<string>('text'),
  accountNumber: column<string | null>('text'),
  bankName: column<string | null>('text'),
  /** The code of a network of core/networks.ts. */
  network: column<string | null>('text'),
  /** E.164. */
  phoneNumber: column<string | null>('text'),
}

export const ACCOUNT = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  channel: column<AccountChannel>('text'),
  currency: column<Currency>('text'),
  /** Null: any country that uses the currency. */
  country: column<string | null>('text'),
  ...DESTINATION_COLUMNS,
  isActive: column<boolean>('boolean'),
  createdAt: column<Date>('timestamptz'),
  updatedAt: column<Date>('timestamptz'),
})

export type AccountRow = RowOf<typeof ACCOUNT>

export type Destination = Pick<AccountRow, keyof typeof DESTINATION_COLUMNS>
