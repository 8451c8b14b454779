// The JSON shape of disputes.

import { Type } from 'typebox'
import { formatAmount, money } from '../core/money.ts'
import {
  amountText,
  CurrencyCode,
  described,
  NamedEnum,
  Nullable,
  namedObject,
  PAGE_QUERY,
  Timestamp,
  text,
  timestamp,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import type { ListedDispute } from './list-queries.ts'

const STATUSES = ['open', 'won', 'lost'] as const

export const DisputeRecord = namedObject(
  'Dispute',
  {
    uuid: Uuid,
    paymentUuid: described(Uuid, 'The uuid of the disputed payment or charge.'),
    paymentReference: text('Your reference of the payment or charge.', 'order-1001'),
    paymentGateway: text('The gateway of the payment.', 'paystack'),
    gatewayReference: text('The provider’s id of the dispute.', '358950'),
    status: NamedEnum('DisputeStatus', STATUSES, {
      description:
        'open: the bank has not decided. won: you keep the money. lost: the provider has taken the money back, also without a dispute that was open before.',
    }),
    amount: amountText('What the payer’s bank claims.'),
    heldAmount: amountText(
      'What is held of your wallet while it is open, or was lost: at most what refunds have left.',
    ),
    currency: CurrencyCode,
    respondBy: Nullable(
      Timestamp,
      'Until when the provider accepts your response, in UTC. Null if it does not say, or waits for none.',
    ),
    openedAt: timestamp('When we learned of it, in UTC.'),
    closedAt: Nullable(Timestamp, 'When it was decided, in UTC. Null while it is open.'),
  },
  { description: 'A chargeback: the payer’s bank claims the money of a payment back.' },
)

export const DisputesQuery = Type.Object({
  ...{ page: PAGE_QUERY.page, limit: PAGE_QUERY.limit, cursor: PAGE_QUERY.cursor },
  ...{ createdFrom: PAGE_QUERY.createdFrom, createdTo: PAGE_QUERY.createdTo },
  status: Type.Optional(
    NamedEnum('DisputeStatus', STATUSES, { description: 'Only disputes with this status.' }),
  ),
  payment: Type.Optional(described(UuidInput, 'Only disputes of the payment or charge with this uuid.')),
})

export const DISPUTE_EXAMPLE = {
  uuid: '0197a3c2-9d11-7b52-8c0e-6f1d2e3a4b5c',
  paymentUuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  paymentReference: 'order-1001',
  paymentGateway: 'paystack',
  gatewayReference: '358950',
  status: 'open',
  amount: '1250.50',
  heldAmount: '1250.50',
  currency: 'KES',
  respondBy: '2026-03-21T09:26:53.589Z',
  openedAt: '2026-03-14T09:26:53.589Z',
  closedAt: null,
}

export function toDispute(row: ListedDispute, paymentReference: string) {
  const amountOf = (minor: bigint) => formatAmount(money(minor, row.currency))
  return {
    uuid: row.id,
    paymentUuid: row.paymentId,
    paymentReference,
    paymentGateway: row.gateway,
    gatewayReference: row.gatewayReference,
    status: row.status,
    amount: amountOf(row.claimedMinor),
    heldAmount: amountOf(row.amountMinor),
    currency: row.currency,
    respondBy: row.respondBy?.toISOString() ?? null,
    openedAt: row.openedAt.toISOString(),
    closedAt: row.closedAt?.toISOString() ?? null,
  }
}
