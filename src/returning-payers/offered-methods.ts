// The saved methods that the page of a checkout offers. Anyone with the address of the page can pay with them. So the
// merchant has to ask for it with each payment, and they are never offered where the payer could type the e-mail address.

import { findOffer } from '../checkout/offer.ts'
import type { MethodRow } from '../customers/method.ts'
import { listActiveMethods } from '../customers/service.ts'
import type { Gateway } from '../gateways/gateway.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'

export interface OfferedMethod {
  method: MethodRow
  gateway: Gateway
}

// They fit above the fold of a phone, and few people have more cards in use.
const MAX_OFFERED = 5

/** Those of the payment's customer that a gateway of this payment can charge now, the default first. */
export async function listOfferedMethods(app: PaymentsApp, payment: PaymentRow): Promise<OfferedMethod[]> {
  if (!payment.offerSavedMethods || payment.linkId !== null) return []
  const methods = await listActiveMethods(app, payment.merchantId, payment.customerId)
  if (methods.length === 0) return []
  const { gateways } = await findOffer(app, payment)
  const offered = methods.flatMap((method): OfferedMethod[] => {
    const isOfMethod = ({ gateway, accountId }: (typeof gateways)[number]) =>
      gateway.name === method.gateway && accountId === method.accountId
    const gateway = gateways.find(isOfMethod)?.gateway
    const isAble = gateway?.chargeSaved !== undefined && method.currencies.includes(payment.currency)
    return isAble ? [{ method, gateway }] : []
  })
  return offered.slice(0, MAX_OFFERED)
}
