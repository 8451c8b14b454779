// The response schemas of payments and charges, and the functions that make these records out of rows. Responses, events
// and the OpenAPI document all use them.

import { Type } from 'typebox'
import type { Currency } from '../core/currency.ts'
import { FAILURES, type FailureCode, failureOf } from '../core/failures.ts'
import { formatAmount, money } from '../core/money.ts'
import { receiptCodeOf } from '../core/text/receipt-code.ts'
import { SavedMethodRecord, SavedMethodType, type SavedMethodView } from '../customers/schema.ts'
import { CHANNELS } from '../gateways/gateway.ts'
import {
  AmountText,
  amountText,
  CountryCode,
  CreatedAt,
  CurrencyCode,
  described,
  Enum,
  flag,
  Metadata,
  NamedEnum,
  Nullable,
  named,
  namedObject,
  openEnum,
  Timestamp,
  text,
  timestamp,
  Uuid,
} from '../kit/http/schema.ts'
import type { ShownAttempt } from './attempt.ts'
import type { PaymentRow } from './payment.ts'
import { ATTEMPT_STATUSES, PAYMENT_STATUSES, STATUS_MEANINGS } from './states.ts'

const CUSTOMER_SUMMARY = {
  uuid: described(Uuid, 'The uuid of the customer.'),
  firstname: text('The first name that was sent with this payment.', 'Amina'),
  lastname: text('The last name that was sent with this payment.', 'Odhiambo'),
  email: text('The e-mail address that was sent with this payment.', 'amina@example.com'),
}
const CustomerSummary = namedObject('CustomerSummary', CUSTOMER_SUMMARY, {
  description: 'The customer, with the names that were sent with this payment.',
})

const PayingCustomer = namedObject(
  'PayingCustomer',
  {
    ...CUSTOMER_SUMMARY,
    phone: Type.Optional(
      text('The phone number in E.164. Absent unless it was sent with this payment.', '+254712345678'),
    ),
  },
  { description: 'The customer, with the names that were sent with this payment.' },
)

// Object.keys returns string[]; the keys of this constant are exactly those of its type.
export const FailureCodes = NamedEnum('FailureCode', Object.keys(FAILURES) as FailureCode[], {
  description: 'Why it was declined. Branch on this. Later versions may have other codes.',
})

/** Charges of saved methods have no channel of their own. */
const ATTEMPT_CHANNELS = [...CHANNELS, 'saved'] as const
export type AttemptChannel = (typeof ATTEMPT_CHANNELS)[number]

export const AttemptChannels = NamedEnum('AttemptChannel', ATTEMPT_CHANNELS, {
  description:
    'How the payer paid: card, mobile_money, bank_transfer, direct_mobile_money or direct_bank_transfer (to your own account), or saved (a saved method). Later versions may have others.',
})

const Failure = namedObject(
  'Failure',
  {
    code: openEnum(FailureCodes),
    message: text('The reason in a sentence, for people. It may change.', 'The card has expired.'),
    category: Enum(['soft', 'hard', 'technical'], {
      description:
        'soft: it may work later or with another method. hard: it will not work again with this method. technical: a fault, not a decision of the bank.',
    }),
    retryable: flag('Whether the same method may succeed at a later try.'),
  },
  { description: 'Why the payment failed.' },
)

const Status = named(
  'PaymentStatus',
  Enum(PAYMENT_STATUSES, {
    description: PAYMENT_STATUSES.map((status) => `${status}: ${STATUS_MEANINGS[status]}`).join(' '),
  }),
)

const REFERENCES = {
  gatewayReference: Nullable(
    Type.String(),
    'The provider’s id of the payment, as its dashboard and settlement files name it. Null until the provider has given one.',
  ),
  receiptNumber: Nullable(
    Type.String({ examples: ['SGL31KQ0ZP'] }),
    'The number by which the payer or the provider finds the payment, such as an M-Pesa code. Null if the provider has none.',
  ),
  gatewayKey: Nullable(
    Type.String(),
    'Our reference and idempotency key at the provider, the same for every retry. Null before the first attempt.',
  ),
}

const ReceiptCode = Nullable(
  Type.String({ examples: ['2WNM-9JV6-5HV2'] }),
  'The number on the payer’s receipt, without characters that are easily confused; the last one is a check. `search` of the lists finds it. Null until it is paid.',
)

const AmountPaid = Nullable(
  AmountText,
  'The collected amount, a decimal in major units. Null until it is paid.',
)

const AmountReceived = Nullable(
  AmountText,
  'What the provider has received from the payer, a decimal in major units. It differs from amountPaid while a case about another amount is open. Null until money has arrived.',
)

const StatusReason = Nullable(
  Type.String({ examples: ['awaiting_customer'] }),
  'Why it has this status, where the status alone does not say it: the values are those of the filter `statusReason` of the lists. Null if there is nothing to add.',
)

const RefundedAmount = amountText('The total of the successful refunds.')

const PaidAt = Nullable(Timestamp, 'When the provider collected the money, in UTC. Null until it is paid.')

const REQUESTED = {
  uuid: Uuid,
  reference: text('Your own reference, as you sent it.', 'order-1042'),
  status: Status,
  sourceAmount: amountText('The requested amount.'),
  sourceCurrency: CurrencyCode,
}

const INITIATED = {
  ...REQUESTED,
  country: Nullable(
    CountryCode,
    'The country whose rails collect it, an ISO 3166-1 alpha-2 code. Null if neither you nor the currency names one.',
  ),
  paymentGateway: text(
    'The gateway that was chosen first, then the one of the latest attempt; once it is paid, the one that collected the money.',
    'paystack',
  ),
  checkoutUrl: Nullable(
    Type.String(),
    'The page where the customer pays: send the customer there. Anyone who has it can pay. Null in events and for charges of saved methods.',
  ),
  accessCode: Nullable(Type.String(), 'The secret last part of checkoutUrl. Null where checkoutUrl is null.'),
  isRecurring: flag('Whether you declared that you will charge the method again. Only a signal for reports.'),
  offerSavedMethods: flag('Whether the page offers the saved methods of the customer.'),
  description: Nullable(Type.String(), 'Your text about the payment. Null if you sent none.'),
  metadata: Metadata,
  redirectUrl: Nullable(
    Type.String(),
    'Where the customer is sent afterwards. Null: the customer stays on our receipt.',
  ),
  customer: PayingCustomer,
  expiresAt: Nullable(
    Timestamp,
    'When the checkout closes if nothing is paid, in UTC. Null for charges of saved methods.',
  ),
  createdAt: CreatedAt,
}

export const InitiatedPayment = namedObject('InitiatedPayment', INITIATED, {
  description: 'A payment and where the customer pays it.',
})

const Fee = Nullable(
  AmountText,
  'The fee in major units: that of COWRY_FEES for this gateway and currency, or else the one that the provider reports (Paystack, Flutterwave). Null until it is paid, and if neither says it: then the wallet is credited with the whole amount, and the provider’s fee shows in its settlement file.',
)
const NetAmount = Nullable(
  AmountText,
  'amountPaid less fee, a decimal in major units. Null while the fee is not known.',
)

const AttemptRecord = namedObject(
  'Attempt',
  {
    uuid: described(Uuid, 'The id of the attempt.'),
    paymentGateway: text('The gateway of the attempt.', 'paystack'),
    channel: openEnum(AttemptChannels),
    status: NamedEnum('AttemptStatus', ATTEMPT_STATUSES, {
      description:
        'started: it was sent to the gateway. awaiting_customer: the payer has to approve it. succeeded, declined: the outcome. amount_mismatch: another amount was paid. duplicate_success: the payment was paid already. requires_review: a case is open.',
    }),
    failureCode: Nullable(openEnum(FailureCodes), 'Why it was declined. Null otherwise.'),
    ...REFERENCES,
    startedAt: timestamp('When the attempt started, in UTC.'),
    endedAt: Nullable(Timestamp, 'When its outcome was known, in UTC. Null until then.'),
    refundedAmount: amountText(
      'How much of a duplicate_success was refunded. Duplicate payments are refunded automatically.',
    ),
  },
  { description: 'One try to collect the payment at one gateway.' },
)

const Channel = Nullable(
  openEnum(AttemptChannels),
  'The channel of the latest attempt; once it is paid, of the attempt that was paid. Null before the first attempt.',
)

export const PaymentRecord = namedObject(
  'Payment',
  {
    ...INITIATED,
    channel: Channel,
    statusReason: StatusReason,
    amountPaid: AmountPaid,
    amountReceived: AmountReceived,
    fee: Fee,
    netAmount: NetAmount,
    paidAt: PaidAt,
    receiptCode: ReceiptCode,
    ...REFERENCES,
    failure: Nullable(
      Failure,
      'Why the latest attempt was declined, or why the payment failed. Null otherwise.',
    ),
    attempts: Type.Array(AttemptRecord, { description: 'Every try to collect it, oldest first.' }),
    refundedAmount: RefundedAmount,
    paymentMethod: Nullable(
      SavedMethodRecord,
      'The saved method, which can be charged again. Null if none was saved or charged.',
    ),
    paymentLink: Nullable(
      Uuid,
      'The uuid of the payment link on which the payer opened it. Null if it was opened by the API.',
    ),
  },
  { description: 'A payment through a hosted checkout, with its outcome so far.' },
)

export const ChargeRecord = namedObject(
  'Charge',
  {
    ...REQUESTED,
    paymentGateway: text('The gateway of the saved method, which charges it.', 'paystack'),
    channel: Channel,
    customer: CustomerSummary,
    createdAt: CreatedAt,
    statusReason: StatusReason,
    amountPaid: AmountPaid,
    amountReceived: AmountReceived,
    fee: Fee,
    netAmount: NetAmount,
    paidAt: PaidAt,
    receiptCode: ReceiptCode,
    ...REFERENCES,
    failure: Nullable(Failure, 'Why the charge failed. Null unless it was declined.'),
    refundedAmount: RefundedAmount,
    description: Nullable(Type.String(), 'Your text about the charge, as you sent it.'),
    metadata: Metadata,
    paymentMethod: Nullable(
      namedObject('ChargedMethod', {
        uuid: described(Uuid, 'The uuid of the saved method.'),
        type: SavedMethodType,
        label: text('The masked name of the method, to show to the customer.', 'Visa •••• 4242'),
      }),
      'The saved method that was charged.',
    ),
    recovery: Nullable(
      namedObject('RecoveryCheckout', {
        uuid: described(Uuid, 'The uuid of the payment of this checkout.'),
        reference: text('The reference of that payment. Verify it by this.'),
        checkoutUrl: text('The page to which you send the customer.'),
      }),
      'The open checkout where the customer can approve the payment, when the bank wants them present (failure.code authentication_required). Null otherwise.',
    ),
  },
  { description: 'A charge of a saved payment method, without the customer present.' },
)

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
  attempts: readonly ShownAttempt[],
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
  attempts: readonly ShownAttempt[],
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
function payingAttempt(attempts: readonly ShownAttempt[]): ShownAttempt | undefined {
  return attempts.find(({ status }) => status === 'succeeded') ?? attempts.at(-1)
}

function toReferences(attempt: ShownAttempt | undefined) {
  return {
    gatewayReference: attempt?.gatewayReference ?? null,
    receiptNumber: attempt?.receiptNumber ?? null,
    gatewayKey: attempt?.gatewayKey ?? null,
  }
}

function toAttemptRecord(attempt: ShownAttempt, currency: Currency) {
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
