// A payment as it stands now, for the merchant who asks.

import { Refusal } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { findPayment, findPaymentByReference, type PaymentRow } from '../payments/queries.ts'
import { askAbout } from './status-check.ts'

export type PaymentName = { reference: string } | { uuid: string }

export async function requirePayment(
  app: PaymentsApp,
  merchant: Merchant,
  name: PaymentName,
): Promise<PaymentRow> {
  const payment =
    'uuid' in name
      ? await findPayment(app.db, merchant.id, name.uuid)
      : await findPaymentByReference(app.db, merchant.id, name.reference)
  if (!payment) throw new Refusal('payment_not_found')
  return payment
}

/** Asks the gateway when the payment is not final; answers what is stored when the gateway cannot be reached. */
export async function verifyPayment(
  app: PaymentsApp,
  merchant: Merchant,
  name: PaymentName,
): Promise<PaymentRow> {
  return askAbout(app, await requirePayment(app, merchant, name), 'verify')
}

export async function requireCharge(app: PaymentsApp, merchant: Merchant, uuid: string): Promise<PaymentRow> {
  const charge = await findPayment(app.db, merchant.id, uuid)
  if (charge?.kind !== 'charge') throw new Refusal('charge_not_found')
  return charge
}
