// With what a payment was paid, masked, so that support can tell the payer where a refund arrives.

import { findNetwork } from '../../core/networks.ts'
import { displayLabel } from '../../customers/schema.ts'
import { findSavedMethod } from '../../customers/service.ts'
import { ok, type PersonRoute, personRoute } from '../../kit/http/route.ts'
import { UuidParams } from '../../kit/http/schema.ts'
import { maskPhone } from '../../kit/phone.ts'
import type { PaymentsApp } from '../../payments/app.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import { listAttempts, requirePayment } from '../../payments/find.ts'
import type { PaymentRow } from '../../payments/payment.ts'
import type { RefundDestination } from './destination.ts'

export function refundDestinationRoutes(app: PaymentsApp): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: '/app/payments/{uuid}/refund-destination',
      scope: 'refunds:read',
      operationId: 'refunds.destination',
      params: UuidParams,
      handle: async ({ merchant, params }) => {
        const payment = await requirePayment(app, merchant, params)
        return ok('Where a refund goes.', await destinationOf(app, payment))
      },
    }),
  ]
}

async function destinationOf(app: PaymentsApp, payment: PaymentRow): Promise<RefundDestination> {
  const attempts = await listAttempts(app.db, payment.merchantId, payment.id)
  const paid = attempts.find(({ status }) => status === 'succeeded')
  const method = (await savedLabel(app, payment)) ?? walletLabel(paid)
  return { channel: paid?.channel ?? payment.channel, method }
}

async function savedLabel(app: PaymentsApp, payment: PaymentRow): Promise<string | null> {
  if (payment.paymentMethodId === null) return null
  const method = await findSavedMethod(app, payment.merchantId, payment.paymentMethodId)
  return method ? displayLabel(method) : null
}

function walletLabel(paid: AttemptRow | undefined): string | null {
  const { phone, network } = paid?.choice ?? {}
  if (phone === undefined) return null
  return [findNetwork(network ?? '')?.name, maskPhone(phone)].filter(Boolean).join(' ')
}
