// Compares a line of a settlement file with our record of the same payment or refund. Pure functions.

import type { Money } from '../core/money.ts'
import type { FileRow } from './formats.ts'

/** The kinds of breaks, with their meaning. */
export const BREAK_KINDS = {
  missing_in_ledger: 'The file has it, our ledger does not.',
  missing_in_file: 'Our ledger has it, a file that covers its time does not.',
  amount_mismatch: 'The amounts differ.',
  currency_mismatch: 'The currencies differ.',
  status_mismatch: 'One side says that the money moved, the other that it did not.',
  duplicate_row: 'The file has it more than once.',
  negative_payment: 'The file has a payment of zero or less: a reversal or a mistake.',
  reference_mismatch: 'The key and the reference on one line name different records of ours.',
  fee_mismatch: 'The provider kept another fee than the one in our ledger.',
} as const satisfies Record<string, string>

export type BreakKind = keyof typeof BREAK_KINDS

// The keys of a constant object are exactly its type's keys, which Object.keys cannot say by itself.
export const BREAK_KIND_NAMES = Object.keys(BREAK_KINDS) as BreakKind[]

/** Our record of a payment or refund at the gateway. */
export interface InternalRecord {
  merchantId: string
  paymentId: string
  refundId: string | null
  key: string
  reference: string | null
  status: string
  /** Whether the money moved. */
  isDone: boolean
  /** Whether the merchant was credited, so that its pending money can be settled. */
  isCredited: boolean
  amount: Money | null
  /** The fee that the instance keeps; a fee of zero is not compared. */
  fee: Money | null
}

/** The record that a line names. */
export interface LookupResult {
  ours: InternalRecord | undefined
  /** The key and the reference of the line name different records. */
  referencesConflict: boolean
}

/** Why a line is unusable. The defect is a break, and the line neither matches nor closes anything. */
export function rowDefectOf(row: FileRow, { referencesConflict }: LookupResult): BreakKind | null {
  if (referencesConflict) return 'reference_mismatch'
  if (row.type !== 'payment' || row.amount === null || row.amount.minor > 0n) return null
  // Providers often list an unpaid payment with an amount of zero.
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

/** Whether both sides say that this money moved, apart from the fee. */
export function isMatch(
  row: FileRow,
  ours: InternalRecord | undefined,
  breaks: readonly BreakKind[],
): ours is InternalRecord {
  return ours !== undefined && row.isDone && breaks.every((kind) => kind === 'fee_mismatch')
}
