// The request and response schemas of P2P payments.

import { type Static, Type } from 'typebox'
import { InitiateBody } from '../checkout/input.ts'
import { formatAmount, money } from '../core/money.ts'
import { findNetwork } from '../core/networks.ts'
import {
  AmountText,
  amountText,
  CurrencyFilter,
  Enum,
  NamedEnum,
  Nullable,
  named,
  namedExtension,
  namedObject,
  PAGE_QUERY,
  text,
} from '../kit/http/schema.ts'
import { ACCOUNT_CHANNELS } from '../p2p-accounts/account.ts'

import { PaymentRecord } from '../payments/schema.ts'
import { TRANSFER_MEANINGS, TRANSFER_STATUSES } from './states.ts'
import { differenceOf, type TransferRow } from './transfer.ts'

const MIN_OPEN_MINUTES = 10
const MAX_OPEN_MINUTES = 7 * 24 * 60
export const DEFAULT_OPEN_MINUTES = 24 * 60

// P2P saves and charges no payment method.
const { isRecurring: _recurring, offerSavedMethods: _saved, ...INITIATE_FIELDS } = InitiateBody.properties

export const P2pPaymentBody = namedObject('InitiateP2PPaymentRequest', {
  ...INITIATE_FIELDS,
  channel: Type.Optional(
    NamedEnum('P2PChannel', ACCOUNT_CHANNELS, {
      description:
        'To which kind of account of yours the payer sends the money. Absent: that of your oldest account that fits.',
    }),
  ),
  expiresInMinutes: Type.Optional(
    Type.Integer({
      minimum: MIN_OPEN_MINUTES,
      maximum: MAX_OPEN_MINUTES,
      default: DEFAULT_OPEN_MINUTES,
      description: 'How many minutes the payer has to mark the transfer as paid.',
    }),
  ),
})
export type P2pPaymentInput = Static<typeof P2pPaymentBody>

export const ConfirmBody = namedObject('ConfirmP2PPaymentRequest', {
  receivedAmount: Type.Number({
    description: 'All that has arrived so far, in major units.',
    examples: [5000],
  }),
})

export const RejectBody = namedObject('RejectP2PPaymentRequest', {
  reason: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: '\\S',
      'x-multiline': true,
      description: 'Why you reject it, for your own records.',
    }),
  ),
})

const TRANSFER = {
  transferStatus: named(
    'TransferStatus',
    Enum(TRANSFER_STATUSES, {
      description: TRANSFER_STATUSES.map((status) => `${status}: ${TRANSFER_MEANINGS[status]}`).join(' '),
    }),
  ),
  instructions: namedObject(
    'TransferInstructions',
    {
      channel: NamedEnum('P2PChannel', ACCOUNT_CHANNELS, { description: 'The kind of your account.' }),
      accountName: text('The name of the account holder.', 'Demo Shop Ltd'),
      accountNumber: Nullable(Type.String(), 'The account number. Null for mobile_money.'),
      bankName: Nullable(Type.String(), 'The name of the bank. Null for mobile_money.'),
      network: Nullable(
        Type.String({ examples: ['m-Gurush'] }),
        'The mobile-money network, by the name that payers know. Null for bank_transfer.',
      ),
      phoneNumber: Nullable(
        Type.String({ examples: ['+211912345678'] }),
        'The phone number of the mobile-money account in E.164. Null for bank_transfer.',
      ),
      narration: text(
        'The payer enters it as the reference of the transfer; you match the money by it.',
        'K7F3CQX4',
      ),
    },
    { description: 'Where the payer sends the money.' },
  ),
  amountExpected: amountText('The amount that the payer has to send in all.'),
  amountReceived: Nullable(
    AmountText,
    'What has arrived so far by your confirmation, a decimal in major units. Null before the first.',
  ),
  amountMissing: amountText(
    'What the payer still has to send; zero if the payment was paid by another method.',
  ),
  amountExcess: amountText(
    'What you owe to the payer: what is above the amount, or all of it if the payment was paid by another method.',
  ),
  rejectionReason: Nullable(
    Type.String(),
    'Why you rejected the transfer, as you wrote it. Null if you did not, or gave no reason.',
  ),
}

export const P2pPaymentRecord = namedExtension('P2PPayment', PaymentRecord, TRANSFER, {
  description: 'A payment by transfer to an account of yours.',
})

/** The response to the request. The status and the instructions are null if the transfer could not be opened. */
export const RequestedP2pPayment = namedExtension(
  'RequestedP2PPayment',
  PaymentRecord,
  {
    ...TRANSFER,
    transferStatus: Nullable(
      TRANSFER.transferStatus,
      'The status of the transfer. Null where instructions is null.',
    ),
    instructions: Type.Unsafe<unknown>({
      ...Nullable(TRANSFER.instructions),
      description:
        'Where the payer sends the money. Null if the payment ended before there were any, or if there are none yet: then repeat the request later.',
    }),
  },
  { description: 'A payment by transfer to an account of yours, as it was requested.' },
)

export const P2pPaymentsQuery = Type.Object({
  ...PAGE_QUERY,
  transferStatus: Type.Optional(
    NamedEnum('TransferStatus', TRANSFER_STATUSES, {
      description: 'Only payments whose transfer has this status.',
    }),
  ),
  currency: Type.Optional(CurrencyFilter),
  narration: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 20,
      description: 'Only the payment with this narration, in either case, with or without spaces.',
      examples: ['K7F3CQX4'],
    }),
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
