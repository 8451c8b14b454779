// Charges the saved method that the payer has chosen on the page, as an attempt of the checkout. Record, call, apply the
// outcome, as for a charge by the merchant; after a decline the payer may pay another way.

import { executeCharge } from '../charges/charge.ts'
import { startAttempt } from '../checkout/start-attempt.ts'
import type { CheckoutView } from '../checkout/view.ts'
import { requireFound } from '../core/errors.ts'
import type { MethodRow } from '../customers/method.ts'
import type { Channel } from '../gateways/gateway.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { newGatewayKey } from '../payments/gateway-request.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { listOfferedMethods, type OfferedMethod } from './offered-methods.ts'

// The decline messages of the page depend on it.
const CHANNELS: Readonly<Record<MethodRow['type'], Channel>> = {
  card: 'card',
  mobile_money: 'mobile_money',
  bank_account: 'bank_transfer',
}

/** Starts the attempt, or returns the one in progress. `payment_method_not_found`: the page does not offer this method. */
export function payWithSavedMethod(
  app: PaymentsApp,
  view: CheckoutView,
  methodId: string,
): Promise<CheckoutView> {
  return startAttempt(app, view, async (payment, record) => {
    const { method, gateway } = await requireOfferedMethod(app, payment, methodId)
    await app.failpoints.hit('checkout.before_start')
    // The statement checks the method again, so one that was revoked meanwhile is not charged.
    const recorded = await record({
      operation: 'charge',
      gateway: gateway.name,
      accountId: method.accountId,
      gatewayKey: newGatewayKey(app.random),
      channel: 'saved',
      // It is saved already, with the consent of that time.
      choice: { channel: CHANNELS[method.type], consent: null },
      paymentMethodId: method.id,
    })
    if (recorded) await executeCharge(app, gateway, { ...recorded, method }, 'checkout')
  })
}

async function requireOfferedMethod(
  app: PaymentsApp,
  payment: PaymentRow,
  methodId: string,
): Promise<OfferedMethod> {
  const offered = await listOfferedMethods(app, payment)
  return requireFound(
    offered.find(({ method }) => method.id === methodId),
    'payment_method_not_found',
  )
}
