import { ToolError } from '../api.ts'
import { nameOf, PAYMENT_SCOPES, PaymentName, requirePayment, summarizePayment } from '../payment.ts'
import { writeTool } from '../tool.ts'
import { describePayment } from './explain-payment.ts'

export const cancelPayment = writeTool({
  name: 'cancel_payment',
  title: 'Cancel a payment',
  description:
    'Ends an open checkout, so that the payer can no longer pay. It does not refund: refund_payment does, for a payment that is paid.',
  scopes: [...PAYMENT_SCOPES, 'checkout:write'],
  isDestructive: true,
  input: { payment: PaymentName },
  async prepare(context, { payment: name }) {
    const payment = await requirePayment(context, name)
    if (payment.kind === 'charge' || !['pending', 'processing'].includes(payment.status))
      throw new ToolError(
        'invalid_state',
        `Only an open checkout can be cancelled. ${describePayment(payment)}`,
      )
    return {
      summary: `${describePayment(payment)} It is ${nameOf(payment)}. It would end as abandoned, and the payer could no longer pay.`,
      arguments: { payment: payment.uuid },
      facts: { payment: summarizePayment(context, payment) },
    }
  },
  request: ({ payment }) => ({
    method: 'POST',
    path: `/api/v1/checkout/payments/${encodeURIComponent(payment)}/cancel`,
    body: {},
  }),
  describe: (context, { message, data }) => ({
    headline: `${message} Its status is ${data.status}.`,
    data: {
      state: 'done',
      payment: { uuid: data.uuid, status: data.status, statusReason: data.statusReason ?? undefined },
      api: `${context.publicUrl}/api/v1/checkout/payments/${data.uuid}`,
    },
  }),
})
