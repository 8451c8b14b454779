// The response schemas of payments and charges, and the functions that make these records out of rows. Responses, events
// and the OpenAPI document all use them.

import { Type } from 'typebox'
import type { Currency } from '../core/currency.ts'
import { FAILURES, type FailureCode, failureOf } from '../core/failures.ts'
import { formatAmount, money } from '../core/money.ts'
import { receiptCodeOf } from '../core/text/receipt-code.ts'
import { SavedMethodRecord, type SavedMethodView } from '../customers/schema.ts'
import { AmountText, CurrencyCode, Enum, Metadata, Nullable, Timestamp, Uuid } from '../kit/http/schema.ts'
import type { AttemptRow } from './attempt.ts'
import type { PaymentRow } from './payment.ts'
import { PAYMENT_STATUSES } from './states.ts'

const CUSTOMER_SUMMARY = {
  uuid: Uuid,
  firstname: Type.String(),
  lastname: Type.String(),
  email: Type.String(),
}
const CustomerSummary = Type.Object(CUSTOMER_SUMMARY)

const PayingCustomer = Type.Object({
  ...CUSTOMER_SUMMARY,
  phone: Type.Optional(Type.String({ description: 'In E.164; only if it was sent with this payment.' })),
})

// Object.keys returns string[]; the keys of this constant are exactly those of its type.
const FAILURE_CODES = Object.keys(FAILURES) as FailureCode[]

const Failure = Type.Object({
  code: Enum(FAILURE_CODES),
  message: Type.String(),
  category: Enum(['soft', 'hard', 'technical']),
  retryable: Type.Boolean(),
})

const REFERENCES = {
  gatewayReference: Nullable(
    Type.String({
      description: 'The provider’s id of the payment, as its dashboard and settlement files name it.',
    }),
  ),
  receiptNumber: Nullable(
    Type.String({
      description:
        'The number by which the payer or the provider finds the payment, such as an M-Pesa code, where the provider has one.',
    }),
  ),
  gatewayKey: Nullable(
    Type.String({
      description: 'Our reference and idempotency key at the provider, the same for every retry.',
    }),
  ),
}

const ReceiptCode = Nullable(
  Type.String({
    description:
      'The number on the payer’s receipt, such as 2WNM-9JV6-5HV2: without characters that are easily confused, the last one is a check. `search` of the lists finds it. Null before the payment.',
  }),
)

const AmountReceived = Nullable(
  Type.Unsafe<string>({
    ...AmountText,
    description:
      'What the provider has received from the payer. It differs from amountPaid while a case about another amount is open.',
  }),
)

const INITIATED = {
  uuid: Uuid,
  reference: Type.String(),
  status: Enum(PAYMENT_STATUSES),
  sourceAmount: AmountText,
  sourceCurrency: CurrencyCode,
  country: Nullable(Type.String()),
  paymentGateway: Type.String(),
  checkoutUrl: Nullable(Type.String()),
  accessCode: Nullable(Type.String()),
  isRecurring: Type.Boolean(),
  offerSavedMethods: Type.Boolean(),
  description: Nullable(Type.String()),
  metadata: Metadata,
  redirectUrl: Nullable(Type.String()),
  customer: PayingCustomer,
  expiresAt: Nullable(Timestamp),
  createdAt: Timestamp,
}

export const InitiatedPayment = Type.Object(INITIATED)

const Fee = Nullable(
  Type.Unsafe<string>({
    ...AmountText,
    description:
      'The fee of COWRY_FEES for this gateway and currency, or else the fee that the provider reports (Paystack, Flutterwave). Null before the payment, and if neither says it: then the wallet is credited with the whole amount, and the provider’s fee shows in its settlement file.',
  }),
)
const NetAmount = Nullable(
  Type.Unsafe<string>({
    ...AmountText,
    description: 'amountPaid less fee; null while the fee is not known.',
  }),
)

const AttemptRecord = Type.Object({
  uuid: Uuid,
  paymentGateway: Type.String(),
  channel: Type.String(),
  status: Type.String(),
  failureCode: Nullable(Enum(FAILURE_CODES)),
  ...REFERENCES,
  startedAt: Timestamp,
  endedAt: Nullable(Timestamp),
  refundedAmount: Type.Unsafe<string>({
    ...AmountText,
    description:
      'How much of a duplicate_success was refunded. Duplicate payments are refunded automatically.',
  }),
})

const Channel = Nullable(
  Type.String({
    description:
      'The channel of the latest attempt, such as card or mobile_money; once it is paid, of the attempt that was paid.',
  }),
)

export const PaymentRecord = Type.Object({
  ...INITIATED,
  channel: Channel,
  statusReason: Nullable(Type.String()),
  amountPaid: Nullable(AmountText),
  amountReceived: AmountReceived,
  fee: Fee,
  netAmount: NetAmount,
  paidAt: Nullable(Timestamp),
  receiptCode: ReceiptCode,
  ...REFERENCES,
  failure: Nullable(Failure),
  attempts: Type.Array(AttemptRecord),
  refundedAmount: AmountText,
  paymentMethod: Nullable(SavedMethodRecord),
  paymentLink: Nullable(
    Type.String({ format: 'uuid', description: 'The payment link on which the payer opened it.' }),
  ),
})

export const ChargeRecord = Type.Object({
  uuid: Uuid,
  reference: Type.String(),
  status: Enum(PAYMENT_STATUSES),
  sourceAmount: AmountText,
  sourceCurrency: CurrencyCode,
  paymentGateway: Type.String(),
  channel: Channel,
  customer: CustomerSummary,
  createdAt: Timestamp,
  statusReason: Nullable(Type.String()),
  amountPaid: Nullable(AmountText),
  amountReceived: AmountReceived,
  fee: Fee,
  netAmount: NetAmount,
  paidAt: Nullable(Timestamp),
  receiptCode: ReceiptCode,
  ...REFERENCES,
  failure: Nullable(Failure),
  refundedAmount: AmountText,
  description: Nullable(Type.String()),
  metadata: Metadata,
  paymentMethod: Nullable(Type.Object({ uuid: Uuid, type: Type.String(), label: Type.String() })),
  recovery: Nullable(
    Type.Object(
      { uuid: Uuid, reference: Type.String(), checkoutUrl: Type.String() },
      {
        description:
          'The open checkout where the customer can approve the payment, when the bank wants them present. Verify it by its own reference.',
      },
    ),
  ),
})

/** The secret parts of a response. They are sealed in the database, and events do not have them. */
export interface PaymentSecrets {
  accessCode: string
  checkoutUrl: string
}

export function toInitiatedPayment(payment: PaymentRow, secrets: PaymentSecrets | null) {
  return {
    uuid: payment.id,
    reference: payment.reference,
    status: payment.status,
    sourceAmount: formatAmount(money(payment.amountMinor, payment.currency)),
    sourceCurrency: payment.currency,
    country: payment.country,
    paymentGateway: payment.gateway,
    checkoutUrl: secrets?.checkoutUrl ?? null,
    accessCode: secrets?.accessCode ?? null,
    isRecurring: payment.isRecurring,
    offerSavedMethods: payment.offerSavedMethods,
    description: payment.description,
    metadata: payment.metadata,
    redirectUrl: payment.redirectUrl,
    customer: toPayingCustomer(payment),
    expiresAt: payment.expiresAt?.toISOString() ?? null,
    createdAt: payment.createdAt.toISOString(),
  }
}

export function toPaymentRecord(
  payment: PaymentRow,
  attempts: AttemptRow[],
  method: SavedMethodView | null,
  secrets: PaymentSecrets | null,
) {
  return {
    ...toInitiatedPayment(payment, secrets),
    channel: payment.channel,
    ...toResult(payment),
    ...toReferences(payingAttempt(attempts)),
    attempts: attempts.map((attempt) => toAttemptRecord(attempt, payment.currency)),
    refundedAmount: formatAmount(money(payment.refundedMinor, payment.currency)),
    paymentMethod: method,
    paymentLink: payment.linkId,
  }
}

export function toChargeRecord(
  charge: PaymentRow,
  attempts: readonly AttemptRow[],
  method: { uuid: string; type: string; label: string } | null,
  recovery: { uuid: string; reference: string; checkoutUrl: string } | null,
) {
  return {
    uuid: charge.id,
    reference: charge.reference,
    status: charge.status,
    sourceAmount: formatAmount(money(charge.amountMinor, charge.currency)),
    sourceCurrency: charge.currency,
    paymentGateway: charge.gateway,
    channel: charge.channel,
    customer: toCustomerSummary(charge),
    createdAt: charge.createdAt.toISOString(),
    ...toResult(charge),
    ...toReferences(payingAttempt(attempts)),
    refundedAmount: formatAmount(money(charge.refundedMinor, charge.currency)),
    description: charge.description,
    metadata: charge.metadata,
    paymentMethod: method,
    recovery,
  }
}

function toPayingCustomer(payment: PaymentRow) {
  const { customerPhone: phone } = payment
  return { ...toCustomerSummary(payment), ...(phone !== null && { phone }) }
}

function toCustomerSummary(payment: PaymentRow) {
  return {
    uuid: payment.customerId,
    firstname: payment.customerFirstname,
    lastname: payment.customerLastname,
    email: payment.customerEmail,
  }
}

function toResult(payment: PaymentRow) {
  const { amountPaidMinor: paid, feeMinor: fee, currency } = payment
  const received = paid ?? payment.amountReceivedMinor
  return {
    statusReason: payment.statusReason,
    amountPaid: paid === null ? null : formatAmount(money(paid, currency)),
    amountReceived: received === null ? null : formatAmount(money(received, currency)),
    fee: fee === null ? null : formatAmount(money(fee, currency)),
    netAmount: paid === null || fee === null ? null : formatAmount(money(paid - fee, currency)),
    paidAt: payment.paidAt?.toISOString() ?? null,
    receiptCode: payment.paidAt === null ? null : receiptCodeOf(payment.id),
    failure: payment.failureCode === null ? null : failureOf(payment.failureCode, payment.statusReason),
  }
}

/** The attempt that was paid, or else the last one. */
function payingAttempt(attempts: readonly AttemptRow[]): AttemptRow | undefined {
  return attempts.find(({ status }) => status === 'succeeded') ?? attempts.at(-1)
}

function toReferences(attempt: AttemptRow | undefined) {
  return {
    gatewayReference: attempt?.gatewayReference ?? null,
    receiptNumber: attempt?.receiptNumber ?? null,
    gatewayKey: attempt?.gatewayKey ?? null,
  }
}

function toAttemptRecord(attempt: AttemptRow, currency: Currency) {
  return {
    uuid: attempt.id,
    paymentGateway: attempt.gateway,
    channel: attempt.channel,
    status: attempt.status,
    failureCode: attempt.failureCode,
    ...toReferences(attempt),
    startedAt: attempt.startedAt.toISOString(),
    endedAt: attempt.endedAt?.toISOString() ?? null,
    refundedAmount: formatAmount(money(attempt.refundedMinor, currency)),
  }
}
