// What a line of a settlement file and our books say about the same money, held against each other: a pure function.

import type { Money } from '../core/money.ts'
import type { FileRow } from './formats.ts'

/** Every kind of break, and what it means. */
export const BREAK_KINDS = {
  missing_in_ledger: 'The file has it, our books do not.',
  missing_in_file: 'Our books have it, a file that covers its time does not.',
  amount_mismatch: 'Both have it, with another amount.',
  currency_mismatch: 'Both have it, in another currency.',
  status_mismatch: 'One says that the money was moved, the other that it was not.',
  duplicate_row: 'The file has it more than once.',
  negative_payment: 'The file has a payment of nothing or less: money that was taken back, or a mistake.',
  reference_mismatch: 'The key and the reference on one line do not name the same thing in our books.',
  fee_mismatch: 'The provider kept something else than the fee in our books.',
} as const satisfies Record<string, string>

export type BreakKind = keyof typeof BREAK_KINDS

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const BREAK_KIND_NAMES = Object.keys(BREAK_KINDS) as BreakKind[]

/** What our books say about a payment or a refund at the gateway. */
export interface InternalRecord {
  merchantId: string
  paymentId: string
  refundId: string | null
  key: string
  reference: string | null
  status: string
  /** Whether the money was moved. */
  isDone: boolean
  /** Whether its pending money may become available. */
  isCredited: boolean
  amount: Money | null
  /** What we keep of it; nothing to compare where that is nothing. */
  fee: Money | null
}

/** What a line names in our books. */
export interface LookupResult {
  ours: InternalRecord | undefined
  /** Its key and its reference do not name the same. */
  referencesConflict: boolean
}

/** Why a line cannot be taken for what it says; it is a break by itself, and proof of nothing. */
export function rowDefectOf(row: FileRow, { referencesConflict }: LookupResult): BreakKind | null {
  if (referencesConflict) return 'reference_mismatch'
  if (row.type !== 'payment' || row.amount === null || row.amount.minor > 0n) return null
  // What was never paid is often listed with nothing as its amount.
  return row.isDone || row.amount.minor < 0n ? 'negative_payment' : null
}

export function compareRow(row: FileRow, ours: InternalRecord | undefined): BreakKind[] {
  if (!ours) return row.isDone ? ['missing_in_ledger'] : []
  if (row.isDone !== ours.isDone) return ['status_mismatch']
  if (!row.isDone) return []
  if (ours.amount?.currency !== row.currency) return ['currency_mismatch']
  if (ours.amount.minor !== row.amount?.minor) return ['amount_mismatch']
  return comparesFee(row, ours) && row.fee?.minor !== ours.fee?.minor ? ['fee_mismatch'] : []
}

export function comparesFee(row: FileRow, ours: InternalRecord): boolean {
  return row.fee !== null && ours.fee !== null && ours.fee.minor > 0n
}

/** Whether both say that this money was moved, a fee apart. */
export function isMatch(
  row: FileRow,
  ours: InternalRecord | undefined,
  breaks: readonly BreakKind[],
): ours is InternalRecord {
  return ours !== undefined && row.isDone && breaks.every((kind) => kind === 'fee_mismatch')
}
