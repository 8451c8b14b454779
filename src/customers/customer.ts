// The columns of a customer. The row type, the select list and the write list follow from these tables.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

/** The columns that a merchant writes. */
const PROFILE = {
  email: column<string>('text'),
  firstname: column<string>('text'),
  lastname: column<string>('text'),
  country: column<string | null>('text'),
  phone: column<string | null>('text'),
  metadata: column<Record<string, unknown>>('jsonb'),
}

export const CUSTOMER = columnTable({
  id: column<string>('uuid'),
  ...PROFILE,
  status: column<'active' | 'blocked'>('text'),
  /** Why the customer is blocked, as the merchant wrote it. */
  statusReason: column<string | null>('text'),
  successfulPayments: column<bigint>('bigint'),
  lastPaymentAt: column<Date | null>('timestamptz'),
  createdAt: column<Date>('timestamptz'),
  updatedAt: column<Date>('timestamptz'),
})

export type CustomerRow = RowOf<typeof CUSTOMER>

/** The profile with two derived columns: the lower-cased e-mail, which is unique, and the text that a search reads. */
export const CUSTOMER_FIELDS = columnTable({
  ...PROFILE,
  emailKey: column<string>('text'),
  searchText: column<string>('text'),
})

export type CustomerFields = RowOf<typeof CUSTOMER_FIELDS>
