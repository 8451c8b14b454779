// Reads refunds: one, a list, those that a settlement file names, and the backlog of the resolver.

import { ApiError, type ApiErrorCode, requireFound } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import { formatAmount, money } from '../core/money.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import { type Page, paginate, substringPattern } from '../kit/db/pagination.ts'
import type { Backlog } from '../kit/observability/backlog.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { requirePayment } from '../payments/find.ts'
import {
  type GatewayAccount,
  type RefundSum,
  selectGatewayRefunds,
  selectRefundSum,
} from './gateway-refund-queries.ts'
import type { RefundInput } from './input.ts'
import { listRefundRows } from './list-queries.ts'
import { findRefund, selectDuplicateRefund, selectRefundBacklog } from './queries.ts'
import type { GatewayRefundRow, RefundRow } from './refund.ts'
import type { RefundsQuery } from './schema.ts'

export async function requireRefund(app: PaymentsApp, merchant: Merchant, id: string): Promise<RefundRow> {
  return requireFound(await findRefund(app.db, merchant.id, id), 'refund_not_found')
}

const EXHAUSTED: readonly ApiErrorCode[] = ['invalid_state', 'refund_exceeds_amount']

/** The error with the refund that has taken the money: who repeats a full refund after a timeout learns that it was made. */
export async function nameLatestRefund(
  app: PaymentsApp,
  merchant: Merchant,
  { payment: selector }: RefundInput,
  error: unknown,
): Promise<never> {
  if (!(error instanceof ApiError) || !EXHAUSTED.includes(error.code)) throw error
  const payment = await requirePayment(app, merchant, selector)
  const { rows } = await listRefunds(app, merchant, { payment: payment.id })
  const latest = rows.find(({ status, isDuplicate }) => status !== 'failed' && !isDuplicate)
  if (!latest) throw error
  const { id, amountMinor, currency, status } = latest
  const message = `${error.message} Its latest refund is ${id}: ${formatAmount(money(amountMinor, currency))} ${currency}, ${status}.`
  throw new ApiError(error.code, { message, details: error.details, cause: error })
}

/** The refund to which a row such as a case belongs. */
export async function getRefund(app: PaymentsApp, merchantId: string, id: string): Promise<RefundRow> {
  const refund = await findRefund(app.db, merchantId, id)
  if (!refund) throw new Error(`refund ${id} does not exist`)
  return refund
}

/** Whether held money of this attempt is refunded: by a refund that is pending or successful. */
export async function hasDuplicateRefund(tx: Tx, merchantId: string, attemptId: string): Promise<boolean> {
  return (await selectDuplicateRefund(tx, merchantId, attemptId)) !== undefined
}

export async function listRefunds(
  app: PaymentsApp,
  merchant: Merchant,
  query: RefundsQuery,
): Promise<Page<RefundRow>> {
  const { status = null, payment: paymentId = null, currency = null, search } = query
  const { refundReference = null, gatewayReference = null } = query
  const pattern = search === undefined ? null : substringPattern(search.toLowerCase())
  const providerReference = search?.trim() ?? null
  const filter = {
    status,
    paymentId,
    refundReference,
    gatewayReference,
    currency,
    pattern,
    providerReference,
  }
  const scope = `refunds:${merchant.id}:${JSON.stringify(filter)}`
  return paginate(app.cursors, scope, query, (window) =>
    listRefundRows(app.db, merchant.id, filter, window, app.cappedLists),
  )
}

/** Finds the refunds with one of these keys or references, for reconciliation with a settlement file. */
export function findGatewayRefunds(
  db: Tx,
  account: GatewayAccount,
  keys: readonly string[],
  references: readonly string[],
): Promise<GatewayRefundRow[]> {
  return selectGatewayRefunds(db, account, keys, references)
}

/** The refunds of a paid attempt in our records. */
export function sumRefunds(db: Tx, attempt: AttemptRow): Promise<RefundSum> {
  return selectRefundSum(db, attempt)
}

/** How many refunds are due, for the operator and the metrics. */
export function readRefundBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return selectRefundBacklog(db, now)
}
