import { defaultCountry } from '../core/currency.ts'
import type { PaymentsApp } from './app.ts'
import type { InitiateInput } from './input.ts'
import type { PaymentRow } from './payment.ts'
import { type Claim, type NewPayment, type Recorded, recordPayment } from './record.ts'
import { serializeRedacted } from './views.ts'

/** Records an open checkout for a gateway that the caller has chosen. */
export async function openCheckout(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
  input: InitiateInput,
  gateway: string,
): Promise<Recorded> {
  const newPayment: NewPayment = {
    ...input,
    kind: 'checkout',
    status: 'pending',
    statusReason: null,
    gateway,
    country: input.country ?? defaultCountry(input.amount.currency),
    paymentMethodId: null,
    openForMs: input.openForMs ?? app.settings.checkoutMs,
    attempt: null,
  }
  await app.failpoints.hit('initiate.before_record')
  const serialize = (payment: PaymentRow) => serializeRedacted(app, payment, [], null)
  return recordPayment(app, merchantId, claim, newPayment, serialize)
}
