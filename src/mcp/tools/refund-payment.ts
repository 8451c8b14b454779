import { Type } from 'typebox'
import { isRecord } from '../../core/canonical.ts'
import { isCurrency } from '../../core/currency.ts'
import { API_ERRORS } from '../../core/errors.ts'
import { formatAmount, type Money, readDecimal, subtract } from '../../core/money.ts'
import { ToolError } from '../api.ts'
import {
  amountOf,
  nameOf,
  PAYMENT_SCOPES,
  PaymentName,
  type PaymentRecord,
  requirePayment,
  summarizePayment,
} from '../payment.ts'
import { writeTool } from '../tool.ts'
import { untrusted } from '../untrusted.ts'
import { Amount } from './fields.ts'

export const refundPayment = writeTool({
  name: 'refund_payment',
  title: 'Refund a payment',
  description:
    'Sends the money of a paid payment or charge back to the payer, all that is left of it or a part. The amount is taken from the wallet; fees are not returned.',
  scopes: [...PAYMENT_SCOPES, 'refunds:write'],
  isDestructive: true,
  input: {
    payment: PaymentName,
    amount: Type.Optional(Amount('The amount to refund. Absent: all that is left.')),
    reason: Type.Optional(Type.String({ maxLength: 255, description: 'For your own records.' })),
  },
  async prepare(context, { payment: name, amount, reason }) {
    const payment = await requirePayment(context, name)
    const left = remainderOf(payment)
    const wanted = formatAmount(amount === undefined ? left : readWanted(left, String(amount)))
    return {
      summary: `${amountOf(payment, wanted)} of ${amountOf(payment, payment.amountPaid ?? '0.00')} of ${nameOf(payment)} would be refunded to the payer through ${payment.paymentGateway}; ${amountOf(payment, formatAmount(left))} can be refunded.`,
      arguments: { payment: payment.uuid, amount: wanted, reason },
      facts: { payment: summarizePayment(context, payment) },
    }
  },
  request: ({ payment, amount, reason }) => ({
    method: 'POST',
    path: '/api/v1/refunds',
    // The summary named an amount, so the token is never of a request without one.
    body: { paymentUuid: payment, amount: Number(amount), reason },
  }),
  describe: ({ publicUrl }, { message, data }) => ({
    headline: message,
    data: {
      state: 'done',
      refund: {
        ...{ uuid: data.uuid, status: data.status, paymentUuid: data.paymentUuid },
        amount: `${data.currency} ${data.amount}`,
        statusReason: data.statusReason ?? undefined,
        ...untrusted({ gatewayMessage: isRecord(data.failure) ? data.failure.message : null }),
      },
      api: `${publicUrl}/api/v1/refunds/${data.uuid}`,
    },
  }),
})

/** Throws as the API would: a summary must not offer what is refused later. */
function readWanted(left: Money, amount: string): Money {
  const wanted = readDecimal(amount, left.currency)
  if (!wanted) throw new ToolError('amount_precision', API_ERRORS.amount_precision.message)
  if (wanted.minor <= 0n) throw new ToolError('amount_out_of_range', API_ERRORS.amount_out_of_range.message)
  if (wanted.minor > left.minor) {
    const message = `At most ${left.currency} ${formatAmount(left)} of this payment can still be refunded.`
    throw new ToolError('refund_exceeds_amount', message)
  }
  return wanted
}

/** What can still be refunded; throws if the payment is in no state for it. */
function remainderOf({ status, sourceCurrency, amountPaid, refundedAmount }: PaymentRecord): Money {
  const paid = isCurrency(sourceCurrency) ? readDecimal(amountPaid ?? '', sourceCurrency) : undefined
  const refunded = isCurrency(sourceCurrency) ? readDecimal(refundedAmount, sourceCurrency) : undefined
  const left = paid && refunded && subtract(paid, refunded)
  const isRefundable = status === 'successful' || status === 'partially_refunded' || status === 'refunded'
  if (!isRefundable || !left || left.minor <= 0n)
    throw new ToolError('invalid_state', `Nothing of this payment can be refunded: it is ${status}.`)
  return left
}
