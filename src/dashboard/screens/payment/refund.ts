// The form that refunds a payment.

import { isCurrency } from '../../../core/currency.ts'
import { add, formatAmount, type Money, parseAmount, readDecimal, subtract } from '../../../core/money.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { RefundLimits } from '../../../refunds/limits/limit.ts'
import { field } from '../../frame/components.ts'
import { readAmount } from '../../frame/form-input.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
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

export async function refundForm(request: ScreenRequest, payment: Payment): Promise<Html | null> {
  const { allows, postForm, texts, form } = request
  const { t } = texts
  const found = refundable(payment)
  if (!allows('refunds.create') || !found || payment.status === 'disputed') return null
  const { approvalFrom } = await loadLimits(request, payment)
  const rest = formatAmount(found.rest)
  const shown = (decimal: string) => texts.amount(decimal, payment.sourceCurrency)
  return html`<section class="card"><h2>${t('refund')}</h2>${
    approvalFrom !== null &&
    html`<p class="dim">${t('refundApprovalFrom', { amount: shown(approvalFrom) })}</p>`
  }${postForm(
    `${PAYMENTS_PATH}/${payment.uuid}/refund`,
    html`${field('amount', t('refundAmount'), { value: form.amount ?? rest, hint: t('refundHint', { amount: shown(rest) }), isRequired: true, inputmode: 'decimal' })}
${field('reason', t('refundReason'), { value: form.reason ?? '' })}<button class="danger">${t('refundButton')}</button>`,
  )}</section>`
}

/** Whether all refunds of the payment with this one reach the amount before which people confirm who they are. */
export async function needsConfirmation(request: ScreenRequest, payment: Payment): Promise<boolean> {
  const found = refundable(payment)
  const asked = readAmount(request.form.amount)
  if (!found || typeof asked !== 'number') return false
  const { currency } = found.rest
  const { confirmationFrom } = await loadLimits(request, payment)
  const limit = confirmationFrom === null ? undefined : readDecimal(confirmationFrom, currency)
  const amount = parseAmount(asked, currency)
  if (!limit || typeof amount === 'string') return false
  return add(found.refunded, amount).minor >= limit.minor
}

/** Returns what was done. */
export async function refund({ call, form, submission }: ScreenRequest, payment: Payment): Promise<'refund'> {
  const body = {
    paymentReference: payment.reference,
    amount: readAmount(form.amount),
    ...(form.reason && { reason: form.reason }),
  }
  await call('refunds.create', { body, idempotencyKey: submission })
  return 'refund'
}
