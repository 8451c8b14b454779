// The form that refunds a payment, or asks another person to do so.

import { isCurrency } from '../../../core/currency.ts'
import { ApiError } from '../../../core/errors.ts'
import { add, formatAmount, type Money, parseAmount, readDecimal, subtract } from '../../../core/money.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { RefundRequest } from '../../../refund-requests/request.ts'
import { isFrom, type RefundLimits } from '../../../refunds/limits/limit.ts'
import { field, notice, table } from '../../frame/components.ts'
import { readAmount } from '../../frame/form-input.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import { mailRequest } from '../../refund-mails.ts'
import { requestColumns } from '../money/refund-requests.ts'
import { PAYMENTS_PATH, type Payment } from '../payments.ts'

interface Refundable {
  refunded: Money
  /** More than zero. */
  rest: Money
}

function refundable({ amountPaid, refundedAmount, sourceCurrency }: Payment): Refundable | undefined {
  if (amountPaid === null || !isCurrency(sourceCurrency)) return undefined
  const paid = readDecimal(amountPaid, sourceCurrency)
  const refunded = readDecimal(refundedAmount, sourceCurrency)
  if (!paid || !refunded || refunded.minor >= paid.minor) return undefined
  return { refunded, rest: subtract(paid, refunded) }
}

async function loadLimits({ call }: ScreenRequest, { sourceCurrency }: Payment): Promise<RefundLimits> {
  // A boundary: the operation returns this type.
  return (await call('refunds.limits', { query: { currency: sourceCurrency } })).data as RefundLimits
}

/** For those who refund, and for those who ask another person to refund. */
export async function refundForm(
  request: ScreenRequest,
  payment: Payment,
  requests: readonly RefundRequest[],
): Promise<Html | null> {
  const { allows, texts } = request
  const { t } = texts
  const found = refundable(payment)
  if (!allows('refundRequests.create') || !found || payment.status === 'disputed') return null
  const rest = texts.amount(formatAmount(found.rest), payment.sourceCurrency)
  // The notice of the page says it after the request was made.
  const isWaiting =
    request.query.done !== 'request' && requests.some(({ status }) => status === 'awaiting_approval')
  const { approvalFrom } = await loadLimits(request, payment)
  const note = !allows('refunds.create')
    ? t('requestText')
    : approvalFrom !== null &&
      t('refundApprovalFrom', { amount: texts.amount(approvalFrom, payment.sourceCurrency) })
  return html`<section class="card"><h2>${t('refund')}</h2>${isWaiting && notice('wait', html`<p>${t('done_request')}</p>`)}${note && html`<p class="dim">${note}</p>`}${fields(request, payment, { rest, amount: formatAmount(found.rest) })}</section>`
}

function fields(
  { allows, postForm, texts: { t }, form }: ScreenRequest,
  { uuid }: Payment,
  { rest, amount }: { rest: string; amount: string },
): Html {
  return postForm(
    `${PAYMENTS_PATH}/${uuid}/refund`,
    html`${field('amount', t('refundAmount'), { value: form.amount ?? amount, hint: t('refundHint', { amount: rest }), isRequired: true, inputmode: 'decimal' })}
${field('reason', t('refundReason'), { value: form.reason ?? '' })}<button class="danger">${t(allows('refunds.create') ? 'refundButton' : 'requestButton')}</button>`,
  )
}

/** The requests for refunds of the payment, newest first, whatever became of them. */
export async function loadRequests(
  { call, allows }: ScreenRequest,
  { uuid }: Payment,
): Promise<RefundRequest[]> {
  if (!allows('refundRequests.list')) return []
  const query = { payment: uuid, limit: '20' }
  // A boundary: the operation returns records of this type.
  return (await call('refundRequests.list', { query })).data as RefundRequest[]
}

export async function requestTable(
  request: ScreenRequest,
  requests: readonly RefundRequest[],
): Promise<Html | null> {
  if (requests.length === 0) return null
  const title = request.texts.t('requestsOfPayment')
  return html`<h2>${title}</h2>${table(title, await requestColumns(request), requests)}`
}

/** Whether all refunds of the payment with this one reach the amount before which people confirm who they are. */
export async function needsConfirmation(request: ScreenRequest, payment: Payment): Promise<boolean> {
  const found = refundable(payment)
  const asked = readAmount(request.form.amount)
  // A request moves no money.
  if (!request.allows('refunds.create') || !found || typeof asked !== 'number') return false
  const { currency } = found.rest
  const amount = parseAmount(asked, currency)
  if (typeof amount === 'string') return false
  const { confirmationFrom } = await loadLimits(request, payment)
  return isFrom(confirmationFrom, formatAmount(add(found.refunded, amount)), currency)
}

/** Returns what was done: a refund, or from the limit of the merchant on a request for one. */
export async function refund(request: ScreenRequest, { uuid }: Payment): Promise<'refund' | 'request'> {
  const { call, allows, form, submission } = request
  const body = {
    paymentUuid: uuid,
    amount: readAmount(form.amount),
    ...(form.reason && { reason: form.reason }),
  }
  if (allows('refunds.create')) {
    try {
      await call('refunds.create', { body, idempotencyKey: submission })
      return 'refund'
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'refund_approval_required')) throw error
    }
  }
  const asked = await call('refundRequests.create', { body, idempotencyKey: `${submission}:request` })
  // A boundary: the operation returns a record of this type. A repeated form has been mailed before.
  if (!asked.headers) mailRequest(request, asked.data as RefundRequest)
  return 'request'
}
