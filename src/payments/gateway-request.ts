import { uuidV4 } from '../core/ids.ts'
import { money } from '../core/money.ts'
import type { Attempt, Gateway, StatusQuery } from '../gateways/gateway.ts'
import { currentCell } from '../kit/cells/cells.ts'
import { markUuid } from '../kit/cells/values.ts'
import type { Random } from '../kit/random.ts'
import type { PaymentsApp } from './app.ts'
import type { AttemptRow } from './attempt.ts'
import type { PaymentRow } from './payment.ts'

/** The attempt in the form that a gateway connector takes. */
export function toGatewayAttempt(payment: PaymentRow, attempt: AttemptRow, merchantName: string): Attempt {
  const phone = customerPhoneOf(payment, attempt.choice)
  return {
    key: attempt.gatewayKey,
    operation: attempt.operation,
    paymentId: payment.id,
    merchantId: payment.merchantId,
    merchantName,
    reference: payment.reference,
    amount: money(payment.amountMinor, payment.currency),
    country: payment.country,
    description: payment.description,
    customer: {
      email: payment.customerEmail,
      firstname: payment.customerFirstname,
      lastname: payment.customerLastname,
      ...(phone !== undefined && { phone }),
    },
    startedAt: attempt.startedAt,
    expiresAt: payment.expiresAt,
  }
}

/** The payer's number: the merchant sends it, or the payer enters it on our page. */
export function customerPhoneOf(
  { customerPhone }: Pick<PaymentRow, 'customerPhone'>,
  choice: AttemptRow['choice'],
): string | undefined {
  return choice?.phone ?? choice?.contactPhone ?? customerPhone ?? undefined
}

/** The status query for an attempt. */
export function toStatusQuery(payment: PaymentRow, attempt: AttemptRow): StatusQuery {
  const { gatewayKey: key, operation, startedAt, report } = attempt
  const { amountMinor, currency, expiresAt } = payment
  const phone = attempt.choice?.phone
  const customerPhone = customerPhoneOf(payment, attempt.choice)
  const isPaid = attempt.status === 'succeeded' || attempt.status === 'duplicate_success'
  const savesMethod = Boolean(attempt.choice?.consent) && !(isPaid && payment.paymentMethodId !== null)
  return {
    ...{ key, operation, startedAt, expiresAt, amount: money(amountMinor, currency) },
    ...(report !== null && { report }),
    ...(phone !== undefined && { phone }),
    ...(customerPhone !== undefined && { customerPhone }),
    ...(savesMethod && { savesMethod }),
    ...(isPaid && { isPaid }),
  }
}

/** The gateway of the attempt, with the account with which the attempt started. */
export function gatewayOf(app: PaymentsApp, attempt: AttemptRow): Promise<Gateway> {
  return app.gateways.get(attempt.merchantId, attempt.gateway, attempt.accountId)
}

/** A new idempotency key for an attempt. It is stored before the first call to the gateway, and every retry sends it. */
export function newGatewayKey(random: Random): string {
  return markUuid(uuidV4(random.bytes(16)), currentCell())
}

/** What to ask about: the provider's reference, or else the object that a signed webhook named. */
export function referenceOf({ gatewayReference, referenceHint }: AttemptRow): string | null {
  return gatewayReference ?? referenceHint
}
