// Cases: situations that need manual review. A case is opened and logged once, and listed until an operator closes it.

import { isCurrency } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import type { Gateway } from '../gateways/gateway.ts'
import type { Tx } from '../kit/db/db.ts'
import { type ListQuery, paginate } from '../kit/db/pagination.ts'
import { recordEntry } from '../ledger/debit.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { listAttempts } from '../payments/find.ts'
import type { CaseKind, CaseRow } from './case.ts'
import { closeCaseRow, findCase, insertCase, listCaseRows, listCasesOfAttempt } from './case-queries.ts'
import { lockAttempt, unscheduleDuplicateRefund } from './duplicates.ts'

export type CasesApp = Pick<PaymentsApp, 'db' | 'clock' | 'random' | 'cursors' | 'gateways'>

export interface NewCase {
  merchantId: string
  kind: CaseKind
  paymentId: string
  attemptId: string
  refundId?: string
}

/** Whether the case is new. With `reopens` a closed case is opened again. */
export function openCase(
  app: Pick<PaymentsApp, 'clock' | 'random'>,
  tx: Tx,
  newCase: NewCase,
  { reopens = false } = {},
): Promise<boolean> {
  const row = { refundId: null, ...newCase, id: app.random.uuid(), openedAt: app.clock.now() }
  return insertCase(tx, row, reopens)
}

/** Closes a case that no longer needs review. */
export async function resolveCase(
  app: Pick<PaymentsApp, 'clock'>,
  tx: Tx,
  { merchantId, attemptId, kind }: Pick<NewCase, 'merchantId' | 'attemptId' | 'kind'>,
  note: string,
): Promise<boolean> {
  const cases = await listCasesOfAttempt(tx, merchantId, attemptId)
  const found = cases.find((one) => one.kind === kind)
  return found !== undefined && closeCaseRow(tx, found, note, app.clock.now())
}

export async function listCases(app: CasesApp, state: 'open' | 'all', query: ListQuery) {
  return paginate(app.cursors, `cases:${state}`, { ...query, sort: 'createdAt:asc' }, async (window) => {
    const { rows, counted } = await listCaseRows(app.db, state, window)
    return { rows: rows.map((row) => ({ ...row, createdAt: row.openedAt })), counted }
  })
}

// In these cases we hold the money until the operator has sent it back.
const UNREFUNDED_DUPLICATE_KINDS: readonly CaseKind[] = [
  'duplicate_not_refundable',
  'duplicate_refund_failed',
  'duplicate_disputed',
]

/** The operator has resolved the case. A duplicate payment is then with the payer, so the ledger no longer owes it. */
export async function closeCase(app: CasesApp, id: string, note: string): Promise<CaseRow> {
  const existing = await findCase(app.db, id)
  if (!existing) throw new ApiError('case_not_found')
  const attempts = await listAttempts(app.db, existing.merchantId, existing.paymentId)
  const attempt = attempts.find((one) => one.id === existing.attemptId)
  if (!attempt) throw new Error(`attempt ${existing.attemptId} does not exist`)
  const gateway = await app.gateways.find(attempt.merchantId, attempt.gateway, attempt.accountId)
  await app.db.transaction(async (tx) => {
    await lockAttempt(tx, attempt.merchantId, attempt.id)
    const isClosed = await closeCaseRow(tx, existing, note, app.clock.now())
    if (!isClosed || !UNREFUNDED_DUPLICATE_KINDS.includes(existing.kind)) return
    await unscheduleDuplicateRefund(tx, attempt.merchantId, attempt.id)
    await recordDuplicateReversal(app, tx, gateway, attempt)
  })
  return (await findCase(app.db, id)) ?? existing
}

/** Records that a duplicate payment was returned without a refund of ours. With direct settlement we never held it. */
export async function recordDuplicateReversal(
  app: Pick<PaymentsApp, 'clock' | 'random'>,
  tx: Tx,
  gateway: Gateway | undefined,
  attempt: AttemptRow,
): Promise<void> {
  const { merchantId, paymentId, id: attemptId, paidCurrency: currency } = attempt
  const heldMinor = (attempt.paidMinor ?? 0n) - attempt.refundedMinor
  if (gateway?.settlesDirectly || heldMinor === 0n || !isCurrency(currency)) return
  await recordEntry(app, tx, {
    merchantId,
    kind: 'reversal',
    paymentId,
    attemptId,
    refundId: null,
    currency,
    at: app.clock.now(),
    lines: [
      ['duplicates', -heldMinor],
      [`gateway:${attempt.gateway}`, heldMinor],
    ],
  })
}
