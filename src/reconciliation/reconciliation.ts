// The columns of a reconciliation and of a break. The row types and the select lists follow from these tables.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import type { BreakKind } from './compare.ts'
import type { Format } from './formats.ts'

/** One settlement file of one account at a gateway. */
export const RECONCILIATION = columnTable({
  id: column<string>('uuid'),
  gateway: column<string>('text'),
  /** The merchant whose own account it is; null is the account of the instance. */
  merchantId: column<string | null>('uuid'),
  fileName: column<string | null>('text'),
  format: column<Format>('text'),
  coversFrom: column<Date | null>('timestamptz'),
  coversTo: column<Date | null>('timestamptz'),
  finishedAt: column<Date | null>('timestamptz'),
  rowCount: column<number>('integer'),
  ignoredCount: column<number>('integer'),
  matchedCount: column<number>('integer'),
  settledCount: column<number>('integer'),
  breakCount: column<number>('integer'),
  createdAt: column<Date>('timestamptz'),
})

export type ReconciliationRow = RowOf<typeof RECONCILIATION>

/** A difference between a settlement file and our records. */
export const BREAK = columnTable({
  id: column<string>('uuid'),
  gateway: column<string>('text'),
  merchantId: column<string | null>('uuid'),
  kind: column<BreakKind>('text'),
  subject: column<string>('text'),
  reconciliationId: column<string>('uuid'),
  line: column<number | null>('integer'),
  /** The merchant whose payment or refund it is. */
  ownerMerchantId: column<string | null>('uuid'),
  paymentId: column<string | null>('uuid'),
  refundId: column<string | null>('uuid'),
  ours: column<unknown>('jsonb'),
  theirs: column<unknown>('jsonb'),
  state: column<'open' | 'closed'>('text'),
  /** The person who works on it. */
  owner: column<string | null>('text'),
  assignedBy: column<'operator' | 'merchant' | null>('text'),
  note: column<string | null>('text'),
  noteBy: column<'operator' | 'merchant' | null>('text'),
  closedBy: column<'file' | 'operator' | 'merchant' | null>('text'),
  openedAt: column<Date>('timestamptz'),
  closedAt: column<Date | null>('timestamptz'),
})

export type BreakRow = RowOf<typeof BREAK>
