// The JSON shapes of refunds in requests and responses.

import { type Static, Type } from 'typebox'
import { formatAmount, money } from '../core/money.ts'
import {
  amountText,
  CreatedAt,
  CurrencyCode,
  CurrencyFilter,
  described,
  Enum,
  Metadata,
  NamedEnum,
  Nullable,
  namedObject,
  PAGE_QUERY,
  text,
  UpdatedAt,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import { Reference } from '../payments/input.ts'
import type { RefundRow } from './refund.ts'
import { REFUND_REASONS, REFUND_STATUSES } from './states.ts'

const reference = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 100, description }))
const uuid = (description: string) => Type.Optional(Type.Unsafe<string>({ ...UuidInput, description }))

export const RefundBody = namedObject('CreateRefundRequest', {
  paymentReference: reference(
    'The reference of the payment or charge to refund, or its uuid in paymentUuid. If both are given, they must name the same payment.',
  ),
  paymentUuid: uuid('The uuid of the payment or charge to refund.'),
  reference: reference(
    'The same as paymentReference: the reference of the payment, not of the refund. Your own reference of the refund is refundReference.',
  ),
  uuid: uuid('The same as paymentUuid.'),
  refundReference: Type.Optional(
    Type.Unsafe<string>({
      ...Reference,
      description:
        'Your own reference of this refund, unique among your refunds. A request with a known refundReference and the same body returns the refund as it is now; with another body it is rejected. A partial refund needs it, or an Idempotency-Key header.',
      examples: ['return-77'],
    }),
  ),
  amount: Type.Optional(
    // A null may come from a failed calculation of the caller, so it must not refund the whole payment.
    Type.Number({
      'x-null': 'refused',
      description:
        'The amount to refund, in major units of the payment’s currency. Absent: all that is left of the payment.',
      examples: [500],
    }),
  ),
  reason: Type.Optional(
    Type.String({
      maxLength: 255,
      'x-multiline': true,
      description: 'Why you refund it, for your own records.',
    }),
  ),
  metadata: Type.Optional(Metadata),
})
export type RefundBody = Static<typeof RefundBody>

const REASONS = Object.entries(REFUND_REASONS).map(([name, meaning]) => `${name}: ${meaning}`)

export const RefundRecord = namedObject(
  'Refund',
  {
    uuid: Uuid,
    status: NamedEnum('RefundStatus', REFUND_STATUSES, {
      description:
        'pending: the gateway has not decided yet. successful: the gateway has proven that it refunds the money. failed: the gateway refused it.',
    }),
    statusReason: Nullable(
      Enum(Object.keys(REFUND_REASONS), {
        description: `Why it is still pending, or needs manual review. ${REASONS.join(' ')} Null while the gateway processes it.`,
      }),
    ),
    refundReference: Nullable(
      Type.String({ examples: ['return-77'] }),
      'Your own reference of the refund. Null if you sent none.',
    ),
    paymentUuid: described(Uuid, 'The uuid of the refunded payment or charge.'),
    paymentReference: text('Your reference of the refunded payment or charge.', 'order-1042'),
    amount: amountText('The refunded amount.'),
    currency: CurrencyCode,
    reason: Nullable(Type.String(), 'Why you refunded it, as you wrote it. Null if you gave no reason.'),
    metadata: Metadata,
    paymentGateway: text('The gateway that collected the payment, and that refunds it.', 'paystack'),
    source: Enum(['api', 'provider'], {
      description:
        'api: you requested it, or it is an automatic refund. provider: made in the provider’s dashboard or by its support; we found it there and booked it like any other.',
    }),
    gatewayReference: Nullable(
      Type.String(),
      'The provider’s id of the refund. Null until the provider has given one.',
    ),
    gatewayKey: Nullable(
      Type.String(),
      'Our idempotency key at the provider. Null for a refund that was made there.',
    ),
    isDuplicate: Type.Boolean({
      description:
        'True for an automatic refund: the payer paid twice, and the second payment was returned. It counts neither as refundedAmount of the payment nor in your wallet.',
    }),
    failure: Nullable(
      namedObject('RefundFailure', {
        code: Enum(['refused_by_gateway'], { description: 'The gateway refused the refund.' }),
        message: text('The gateway’s own message.'),
      }),
      'Why the refund failed. Null unless it failed.',
    ),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { description: 'Money of a payment or charge that goes back to the payer.' },
)

export const RefundsQuery = Type.Object({
  ...PAGE_QUERY,
  status: Type.Optional(
    NamedEnum('RefundStatus', REFUND_STATUSES, { description: 'Only refunds with this status.' }),
  ),
  payment: Type.Optional(described(UuidInput, 'Only refunds of the payment or charge with this uuid.')),
  refundReference: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Your own reference of the refund, exactly.' }),
  ),
  gatewayReference: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'The refund’s id at the provider, exactly.' }),
  ),
  currency: Type.Optional(CurrencyFilter),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'A part of the payment’s reference, or the whole gatewayReference of the refund.',
    }),
  ),
})
export type RefundsQuery = Static<typeof RefundsQuery>

export function toRefund(refund: RefundRow) {
  return {
    uuid: refund.id,
    status: refund.status,
    statusReason: refund.statusReason,
    refundReference: refund.refundReference,
    paymentUuid: refund.paymentId,
    paymentReference: refund.paymentReference,
    amount: formatAmount(money(refund.amountMinor, refund.currency)),
    currency: refund.currency,
    reason: refund.reason,
    metadata: refund.metadata,
    paymentGateway: refund.gateway,
    source: refund.source,
    gatewayReference: refund.gatewayReference,
    gatewayKey: refund.source === 'api' ? refund.gatewayKey : null,
    isDuplicate: refund.isDuplicate,
    failure:
      refund.failureMessage === null
        ? null
        : { code: 'refused_by_gateway' as const, message: refund.failureMessage },
    createdAt: refund.createdAt.toISOString(),
    updatedAt: refund.updatedAt.toISOString(),
  }
}
