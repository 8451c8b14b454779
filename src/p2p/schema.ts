// The request and response schemas of P2P payments.

import { type Static, Type } from 'typebox'
import { InitiateBody } from '../checkout/input.ts'
import { formatAmount, money } from '../core/money.ts'
import { findNetwork } from '../core/networks.ts'
import { AmountText, CurrencyFilter, Enum, Nullable, PAGE_QUERY } from '../kit/http/schema.ts'
import { ACCOUNT_CHANNELS } from '../p2p-accounts/account.ts'

import { PaymentRecord } from '../payments/schema.ts'
import { TRANSFER_STATUSES } from './states.ts'
import { differenceOf, type TransferRow } from './transfer.ts'

const MIN_OPEN_MINUTES = 10
const MAX_OPEN_MINUTES = 7 * 24 * 60
export const DEFAULT_OPEN_MINUTES = 24 * 60

// P2P saves and charges no payment method.
const { isRecurring: _recurring, offerSavedMethods: _saved, ...INITIATE_FIELDS } = InitiateBody.properties

export const P2pPaymentBody = Type.Object({
  ...INITIATE_FIELDS,
  channel: Type.Optional(
    Enum(ACCOUNT_CHANNELS, { description: 'Absent: that of your oldest account that fits.' }),
  ),
  expiresInMinutes: Type.Optional(
    Type.Integer({
      minimum: MIN_OPEN_MINUTES,
      maximum: MAX_OPEN_MINUTES,
      default: DEFAULT_OPEN_MINUTES,
      description: 'How long the payer has to mark the transfer as paid.',
    }),
  ),
})
export type P2pPaymentInput = Static<typeof P2pPaymentBody>

export const ConfirmBody = Type.Object({
  receivedAmount: Type.Number({ description: 'All that has arrived so far, in major units.' }),
})

export const RejectBody = Type.Object({
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 255, pattern: '\\S', 'x-multiline': true })),
})

export const P2pPaymentRecord = Type.Object({
  ...PaymentRecord.properties,
  transferStatus: Enum(TRANSFER_STATUSES),
  instructions: Type.Object({
    channel: Enum(ACCOUNT_CHANNELS),
    accountName: Type.String(),
    accountNumber: Nullable(Type.String()),
    bankName: Nullable(Type.String()),
    network: Nullable(Type.String({ description: 'The name that payers know.' })),
    phoneNumber: Nullable(Type.String()),
    narration: Type.String({
      description: 'The payer enters it as the reference of the transfer; you match the money by it.',
    }),
  }),
  amountExpected: AmountText,
  amountReceived: Nullable(AmountText),
  amountMissing: Type.Unsafe<string>({
    ...AmountText,
    description:
      'The amount that the payer still has to send; zero if the payment was paid by another method.',
  }),
  amountExcess: Type.Unsafe<string>({
    ...AmountText,
    description:
      'What you owe to the payer: what is above the amount, or all of it when the payment was paid another way.',
  }),
  rejectionReason: Nullable(Type.String()),
})

/** The response to the request. A replay returns the current record, so transfer fields may be null. */
export const RequestedP2pPayment = Type.Object({
  ...P2pPaymentRecord.properties,
  transferStatus: Nullable(P2pPaymentRecord.properties.transferStatus),
  instructions: Type.Unsafe<unknown>({
    ...Nullable(P2pPaymentRecord.properties.instructions),
    description:
      'Null only for a repeated request, when the payment ended before there were any, or they are still being made.',
  }),
})

export const P2pPaymentsQuery = Type.Object({
  ...PAGE_QUERY,
  transferStatus: Type.Optional(Enum(TRANSFER_STATUSES)),
  currency: Type.Optional(CurrencyFilter),
  narration: Type.Optional(
    Type.String({ minLength: 1, maxLength: 20, description: 'In either case, with or without spaces.' }),
  ),
})

/** The fields that a transfer adds to the record of its payment. */
export function toTransfer(row: TransferRow, payment: { paidAt: string | null; paymentGateway: string }) {
  const { currency, expectedMinor, receivedMinor } = row
  const format = (minor: bigint) => formatAmount(money(minor, currency))
  const { missingMinor, excessMinor } = differenceOf(row, payment.paidAt && payment.paymentGateway)
  return {
    transferStatus: row.status,
    instructions: {
      channel: row.channel,
      accountName: row.accountName,
      accountNumber: row.accountNumber,
      bankName: row.bankName,
      network: networkName(row.network),
      phoneNumber: row.phoneNumber,
      narration: row.narration,
    },
    amountExpected: format(expectedMinor),
    amountReceived: receivedMinor === null ? null : format(receivedMinor),
    amountMissing: format(missingMinor),
    amountExcess: format(excessMinor),
    rejectionReason: row.rejectionReason,
  }
}

/** The same fields for a payment without a transfer. */
export function withoutTransfer({ sourceAmount, paidAt }: { sourceAmount: string; paidAt: string | null }) {
  const nothing = '0.00'
  return {
    transferStatus: null,
    instructions: null,
    amountExpected: sourceAmount,
    amountReceived: null,
    amountMissing: paidAt === null ? sourceAmount : nothing,
    amountExcess: nothing,
    rejectionReason: null,
  }
}

export function networkName(code: string | null): string | null {
  return code === null ? null : (findNetwork(code)?.name ?? code)
}
