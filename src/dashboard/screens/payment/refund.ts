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
import { REQUESTS_PATH, type Refund } from '../refunds.ts'
import { loadDestination, tellCustomer } from './tell.ts'

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

/** The form, or the request that waits; and what to tell the customer about the latest refund. */
export async function refundPart(
  request: ScreenRequest,
  payment: Payment,
  requests: readonly RefundRequest[],
  refunds: readonly Refund[],
): Promise<Html> {
  const waiting = requests.find(({ status }) => status === 'awaiting_approval')
  const explained = waiting ? { ...waiting, status: 'awaiting_approval' as const } : refunds[0]
  const tell =
    explained && tellCustomer(request.texts, explained, await loadDestination(request, payment.uuid))
  const form = waiting ? waitingRequest(request, waiting) : await refundForm(request, payment)
  return html`${tell}${form}`
}

/** The person who has asked withdraws it here. */
function waitingRequest(request: ScreenRequest, waiting: RefundRequest): Html {
  const { texts, person, allows, postForm, query } = request
  const { t } = texts
  const path = `${REQUESTS_PATH}/${waiting.uuid}`
  const title = t('requestTitle', { amount: texts.amount(waiting.amount, waiting.currency) })
  const isOwn = waiting.requestedBy === person.userId && allows('refundRequests.withdraw')
  // The notice of the page says it after the request was made.
  const isSaid = query.done === 'request'
  return html`<section class="card"><h2>${t('refund')}</h2>${!isSaid && notice('wait', html`<p>${t('done_request')}</p>`)}<p><a href="${path}">${title}</a></p>${
    isOwn && postForm(`${path}/withdraw`, html`<button class="plain">${t('requestWithdraw')}</button>`)
  }</section>`
}

/** For those who refund, and for those who ask another person to refund. */
async function refundForm(request: ScreenRequest, payment: Payment): Promise<Html | null> {
  const { allows, texts } = request
  const { t } = texts
  const found = refundable(payment)
  if (!allows('refundRequests.create') || !found || payment.status === 'disputed') return null
  const rest = texts.amount(formatAmount(found.rest), payment.sourceCurrency)
  const { approvalFrom } = await loadLimits(request, payment)
  const note = !allows('refunds.create')
    ? t('requestText')
    : approvalFrom !== null &&
      t('refundApprovalFrom', { amount: texts.amount(approvalFrom, payment.sourceCurrency) })
  return html`<section class="card"><h2>${t('refund')}</h2>${note && html`<p class="dim">${note}</p>`}${fields(request, payment, { rest, amount: formatAmount(found.rest) })}</section>`
}

function fields(
  { allows, postForm, texts: { t }, form }: ScreenRequest,
  { uuid }: Payment,
  { rest, amount }: { rest: string; amount: string },
): Html {
  const refunds = allows('refunds.create')
  return postForm(
    `${PAYMENTS_PATH}/${uuid}/refund`,
    html`${field('amount', t('refundAmount'), { value: form.amount ?? amount, hint: t('refundHint', { amount: rest }), isRequired: true, inputmode: 'decimal' })}
${field('reason', t(refunds ? 'refundReason' : 'requestReason'), { value: form.reason ?? '', isRequired: !refunds })}<button class="danger">${t(refunds ? 'refundButton' : 'requestButton')}</button>`,
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
  const { call, allows, form, submission, texts } = request
  const reason = form.reason?.trim()
  const body = { paymentUuid: uuid, amount: readAmount(form.amount), ...(reason && { reason }) }
  if (allows('refunds.create')) {
    try {
      await call('refunds.create', { body, idempotencyKey: submission })
      return 'refund'
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'refund_approval_required')) throw error
    }
  }
  if (!reason) throw new ApiError('validation_failed', { message: texts.t('requestReasonNeeded') })
  const asked = await call('refundRequests.create', { body, idempotencyKey: `${submission}:request` })
  // A boundary: the operation returns a record of this type. A repeated form has been mailed before.
  if (!asked.headers) mailRequest(request, asked.data as RefundRequest)
  return 'request'
}
