// The filters of the payment lists: their query parameters, and the values that the statements compare with.

import { type Static, type TSchema, Type } from 'typebox'
import { errorFromIssues } from '../core/errors.ts'
import type { FailureCode } from '../core/failures.ts'
import { parseAccountName } from '../core/gateway-accounts/name.ts'
import { oneOfIssue } from '../core/text/spelling.ts'
import {
  CurrencyFilter,
  described,
  Enum,
  EnumList,
  NamedEnum,
  PAGE_QUERY,
  timestamp,
  UuidInput,
} from '../kit/http/schema.ts'
import { type AttemptChannel, AttemptChannels, FailureCodes } from '../payments/schema.ts'
import {
  PAYMENT_STATUSES,
  type PaymentStatus,
  STATUS_REASONS,
  type StatusReason,
} from '../payments/states.ts'

/** A null filter fits every payment. */
export interface PaymentFilter {
  kinds: readonly ('checkout' | 'charge')[]
  customerId: string | null
  linkId: string | null
  statuses: readonly PaymentStatus[] | null
  currency: string | null
  gateway: string | null
  channel: AttemptChannel | null
  failureCode: FailureCode | null
  statusReason: StatusReason | null
  /** Lower case; a part of the reference or of the e-mail, whatever its case. */
  search: string | null
  /** The same search as a whole reference of the provider, in the cases that providers use. */
  providerReferences: readonly string[] | null
  /** One of them must be a whole reference of an attempt at the provider. */
  gatewayReferences: readonly string[] | null
  minHundredths: bigint | null
  maxHundredths: bigint | null
  paidFrom: Date | null
  paidTo: Date | null
  /** Every pair must be in the metadata of the payment. */
  metadata: Readonly<Record<string, string>> | null
}

const amount = (description: string) =>
  Type.String({
    pattern: '^\\d{1,12}(?:\\.\\d{1,2})?$',
    description,
    'x-message': 'must be an amount in major units, such as 1250.50.',
    examples: ['1250.50'],
  })

/** One pair for each key of an order, a customer or a campaign; more pairs find no fewer payments. */
const MAX_METADATA_PAIRS = 5

export const FILTER_QUERY = {
  ...PAGE_QUERY,
  status: Type.Optional(
    EnumList(NamedEnum('PaymentStatus', PAYMENT_STATUSES), 'Only payments with one of these statuses.'),
  ),
  currency: Type.Optional(CurrencyFilter),
  paymentGateway: Type.Optional(
    Type.String({
      pattern: '^[a-z][a-z0-9_]{0,39}$',
      'x-message': 'must be the name of a gateway.',
      description: 'Only payments of this gateway, by its name.',
      examples: ['paystack'],
    }),
  ),
  channel: Type.Optional(
    described(
      AttemptChannels,
      'Only payments whose latest attempt has this channel; saved for charges of saved methods.',
    ),
  ),
  failureCode: Type.Optional(described(FailureCodes, 'Only payments that were declined for this reason.')),
  statusReason: Type.Optional(Enum(STATUS_REASONS, { description: 'Only payments with this statusReason.' })),
  gatewayReference: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description:
        'A whole reference at the provider: the gatewayReference, receiptNumber (such as an M-Pesa code) or gatewayKey of the payment or of one of its attempts.',
    }),
  ),
  minAmount: Type.Optional(
    amount('Only payments of at least this amount, in major units of their currency.'),
  ),
  maxAmount: Type.Optional(amount('Only payments of at most this amount, in major units of their currency.')),
  paidFrom: Type.Optional(timestamp('Paid at this time or later.')),
  paidTo: Type.Optional(timestamp('Paid at this time or earlier.')),
  metadata: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 500 },
      maxProperties: MAX_METADATA_PAIRS,
      'x-message': `must be up to ${MAX_METADATA_PAIRS} pairs, written such as metadata[orderId]=7, with values of at most 500 characters.`,
      description: `Up to ${MAX_METADATA_PAIRS} pairs, such as metadata[orderId]=7: payments whose metadata has this text, number or boolean under this key.`,
    }),
  ),
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description:
        'Part of a reference or of an e-mail, the receiptCode on the payer’s receipt, or a whole name of the payment at the provider: gatewayReference, receiptNumber (such as an M-Pesa code) or gatewayKey.',
    }),
  ),
} satisfies Record<string, TSchema>

/** The customer or the link is in the path. */
export const PaymentsWithinQuery = Type.Object(FILTER_QUERY)

const CUSTOMER = {
  customer: Type.Optional(described(UuidInput, 'Only payments of the customer with this uuid.')),
}

export const PaymentsQuery = Type.Object({ ...FILTER_QUERY, ...CUSTOMER })

export const AllPaymentsQuery = Type.Object({
  ...FILTER_QUERY,
  ...CUSTOMER,
  kind: Type.Optional(
    NamedEnum('PaymentKind', ['checkout', 'charge'], {
      description: 'Only checkout payments, or only charges of saved methods.',
    }),
  ),
})

type Query = Static<typeof AllPaymentsQuery>

/** The list that a route shows, before the filters of its query. */
export type Scope = Partial<Pick<PaymentFilter, 'customerId' | 'linkId'>> & { kind?: 'checkout' | 'charge' }

const BOTH_KINDS = ['checkout', 'charge'] as const
const PAID_STATUSES = ['successful', 'partially_refunded', 'refunded', 'disputed', 'reversed'] as const

/** The name of a gateway, as the service knows it. */
export interface KnownGateways {
  gatewayNames: readonly string[]
}

/** A mistyped gateway would look like a gateway without payments. */
export function requireKnownGateway({ gatewayNames }: KnownGateways, { paymentGateway }: Query): void {
  if (paymentGateway !== undefined && !parseAccountName(gatewayNames, paymentGateway))
    throw errorFromIssues([oneOfIssue('paymentGateway', paymentGateway, gatewayNames)])
}

export function toFilter({ kind = undefined, customerId, linkId }: Scope, query: Query): PaymentFilter {
  const { search, gatewayReference, metadata = {} } = query
  const onlyKind = kind ?? query.kind
  const isByPayment = query.paidFrom !== undefined || query.paidTo !== undefined
  return {
    kinds: onlyKind ? [onlyKind] : BOTH_KINDS,
    customerId: customerId ?? query.customer ?? null,
    linkId: linkId ?? null,
    // Only paid payments have a time of payment: the statement then reads no others.
    statuses: query.status ?? (isByPayment ? PAID_STATUSES : null),
    currency: query.currency ?? null,
    gateway: query.paymentGateway ?? null,
    channel: query.channel ?? null,
    failureCode: query.failureCode ?? null,
    statusReason: query.statusReason ?? null,
    search: search === undefined ? null : search.normalize('NFC').toLowerCase(),
    providerReferences: search === undefined ? null : toProviderReferences(search),
    gatewayReferences: gatewayReference === undefined ? null : toProviderReferences(gatewayReference),
    ...amountRange(query),
    paidFrom: query.paidFrom === undefined ? null : new Date(query.paidFrom),
    paidTo: query.paidTo === undefined ? null : new Date(query.paidTo),
    metadata: Object.keys(metadata).length === 0 ? null : metadata,
  }
}

/** Ids at providers are exact; payers type the capitals of a receipt number as they like. */
function toProviderReferences(text: string): string[] {
  const reference = text.trim()
  return [...new Set([reference, reference.toUpperCase(), reference.toLowerCase()])]
}

function amountRange({ minAmount, maxAmount }: Query) {
  const [minHundredths, maxHundredths] = [minAmount, maxAmount].map(hundredthsOf)
  if (minHundredths && maxHundredths && minHundredths > maxHundredths) {
    const message = 'minAmount must not be greater than maxAmount.'
    throw errorFromIssues([{ field: 'minAmount', code: 'out_of_range', message }])
  }
  return { minHundredths: minHundredths ?? null, maxHundredths: maxHundredths ?? null }
}

function hundredthsOf(text: string | undefined): bigint | null {
  if (text === undefined) return null
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(2, '0'))
}
