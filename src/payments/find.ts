import { ApiError } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PaymentsApp } from './app.ts'
import type { PaymentRow } from './payment.ts'
import { findPayment, findPaymentByReference } from './queries.ts'

export type PaymentIdentifier = { reference: string } | { uuid: string }

export async function requirePayment(
  app: PaymentsApp,
  merchant: Merchant,
  name: PaymentIdentifier,
): Promise<PaymentRow> {
  const payment =
    'uuid' in name
      ? await findPayment(app.db, merchant.id, name.uuid)
      : await findPaymentByReference(app.db, merchant.id, name.reference)
  if (!payment) throw new ApiError('payment_not_found')
  return payment
}

export async function requireCharge(app: PaymentsApp, merchant: Merchant, uuid: string): Promise<PaymentRow> {
  const charge = await findPayment(app.db, merchant.id, uuid)
  if (charge?.kind !== 'charge') throw new ApiError('charge_not_found')
  return charge
}

/** The payment that something of it names. */
export async function getPayment(
  app: PaymentsApp,
  { merchantId, paymentId }: { merchantId: string; paymentId: string },
): Promise<PaymentRow> {
  const payment = await findPayment(app.db, merchantId, paymentId)
  if (!payment) throw new Error(`payment ${paymentId} has vanished`)
  return payment
}
