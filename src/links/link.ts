// A payment link: its stored columns, and the fields that every read computes from them and from the slots.

import type { Currency } from '../core/currency.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const LINK_STATUSES = ['active', 'inactive', 'expired', 'completed'] as const
export const LINK_USAGES = ['single', 'multi'] as const

export type LinkStatus = (typeof LINK_STATUSES)[number]
export type LinkUsage = (typeof LINK_USAGES)[number]

export const LINK = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  slug: column<string>('text'),
  title: column<string>('text'),
  description: column<string | null>('text'),
  /** Null when the payer chooses. */
  amountMinor: column<bigint | null>('bigint'),
  minAmountMinor: column<bigint | null>('bigint'),
  maxAmountMinor: column<bigint | null>('bigint'),
  currency: column<Currency>('text'),
  country: column<string | null>('text'),
  usage: column<LinkUsage>('text'),
  maxPayments: column<number | null>('integer'),
  redirectUrl: column<string | null>('text'),
  metadata: column<Record<string, unknown>>('jsonb'),
  expiresAt: column<Date | null>('timestamptz'),
  expiredAt: column<Date | null>('timestamptz'),
  completedAt: column<Date | null>('timestamptz'),
  version: column<number>('integer'),
  createdAt: column<Date>('timestamptz'),
})

export interface LinkRow extends RowOf<typeof LINK> {
  /** Successful payments, including those whose event is not written yet. */
  paymentsCount: bigint
  collectedMinor: bigint
  /** Successful payments and payments at a gateway. */
  slotsReserved: bigint
  status: LinkStatus
}

/** The fields that the merchant may change. */
export const LINK_TERMS = [
  'title',
  'description',
  'minAmountMinor',
  'maxAmountMinor',
  'maxPayments',
  'redirectUrl',
  'metadata',
  'expiresAt',
] as const

export type LinkTerms = Pick<LinkRow, (typeof LINK_TERMS)[number]>

/** The fields that are fixed when the link is created. */
export const LINK_IDENTITY = [
  'merchantId',
  'id',
  'slug',
  'amountMinor',
  'currency',
  'country',
  'usage',
  'createdAt',
] as const

export type NewLink = LinkTerms & Pick<LinkRow, (typeof LINK_IDENTITY)[number]>
