import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

/** The kinds of cases that need manual review, with their meaning for the operator. */
export const CASE_KINDS = {
  duplicate_not_refundable: 'A payer paid twice, and the gateway cannot send the second payment back.',
  duplicate_refund_failed: 'A payer paid twice, and the gateway refused to send the second payment back.',
  duplicate_disputed:
    'A payer paid twice, and their bank disputes the second payment: it is not sent back until that is decided.',
  duplicate_disputed_after_refund:
    'A payer paid twice, and the second payment is claimed by their bank although it was or may be sent back.',
  refund_failed_late: 'A refund was successful, and the gateway says later that it failed.',
} as const satisfies Record<string, string>

export type CaseKind = keyof typeof CASE_KINDS

// A boundary: Object.keys returns strings, and a constant object has no other keys than its type.
export const CASE_KIND_NAMES = Object.keys(CASE_KINDS) as CaseKind[]

export const CASE = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  kind: column<CaseKind>('text'),
  paymentId: column<string>('uuid'),
  attemptId: column<string>('uuid'),
  refundId: column<string | null>('uuid'),
  /** The operator's note at the close. */
  note: column<string | null>('text'),
  openedAt: column<Date>('timestamptz'),
  closedAt: column<Date | null>('timestamptz'),
})

export type CaseRow = RowOf<typeof CASE>
