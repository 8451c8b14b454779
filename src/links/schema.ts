// The response schema of a payment link.

import { Type } from 'typebox'
import type { Currency } from '../core/currency.ts'
import { formatAmount, money } from '../core/money.ts'
import {
  AmountText,
  CountryCode,
  CreatedAt,
  CurrencyCode,
  CurrencyFilter,
  count,
  described,
  Metadata,
  NamedEnum,
  Nullable,
  namedExtension,
  namedObject,
  PAGE_QUERY,
  Timestamp,
  text,
  timestamp,
  Uuid,
} from '../kit/http/schema.ts'
import type { LinksApp } from './app.ts'
import { LINK_STATUSES, LINK_USAGES, type LinkRow } from './link.ts'
import { qrOf } from './qr.ts'

const UNSIGNED_AMOUNT = '^\\d+\\.\\d{2}$'

/** A link in an event. */
export const StoredLinkRecord = namedObject(
  'PaymentLinkSummary',
  {
    uuid: Uuid,
    slug: text('The last part of the URL.', '7Gk2WmQ9sT1xXb4'),
    url: text(
      'The URL at which payers pay. Send it, print it, or show its QR code.',
      'https://pay.example/l/7Gk2WmQ9sT1xXb4',
    ),
    title: text('What is paid for. Payers see it.', 'Ticket for the coffee tasting'),
    description: Nullable(Type.String(), 'More about it, which payers see too. Null if you wrote nothing.'),
    amount: Nullable(
      Type.String({ pattern: UNSIGNED_AMOUNT, examples: ['1250.50'] }),
      'The amount of each payment, a decimal in major units. Null if the payer chooses it.',
    ),
    minAmount: Nullable(
      AmountText,
      'The smallest amount that the payer may choose, in major units. Null: no limit of yours.',
    ),
    maxAmount: Nullable(
      AmountText,
      'The largest amount that the payer may choose, in major units. Null: no limit of yours.',
    ),
    currency: CurrencyCode,
    country: Nullable(
      CountryCode,
      'The country whose rails collect the payments, an ISO 3166-1 alpha-2 code. Null if neither you nor the currency names one.',
    ),
    usage: NamedEnum('PaymentLinkUsage', LINK_USAGES, {
      description: 'single: it takes one payment. multi: it takes many.',
    }),
    maxPayments: Nullable(Type.Integer(), 'How many payments it takes. Null: any number.'),
    paymentsCount: count(
      'Payments that have succeeded. A refund does not take one back; late payments may bring it above maxPayments.',
    ),
    amountCollected: Type.String({
      pattern: UNSIGNED_AMOUNT,
      description:
        'The total that was collected, a decimal in major units. Refunds are shown in the payments.',
      examples: ['15006.00'],
    }),
    status: NamedEnum('PaymentLinkStatus', LINK_STATUSES, {
      description:
        'active: it can be paid. completed: it has as many payments as it takes. inactive: you deactivated it. expired: its time has passed.',
    }),
    redirectUrl: Nullable(
      Type.String(),
      'Where payers are sent after paying. Null: they stay on our receipt.',
    ),
    metadata: Metadata,
    expiresAt: Nullable(Timestamp, 'Until when it can be paid, in UTC. Null: it does not expire.'),
    createdAt: CreatedAt,
  },
  { description: 'A payment link without its QR code.' },
)

export const LinkRecord = namedExtension(
  'PaymentLink',
  StoredLinkRecord,
  { qr: text('The QR code of the URL, an SVG picture. Events and lists leave it out.') },
  { description: 'A page at which anyone with the link pays.' },
)

/** A link in the event of a payment. */
export const PaidLinkRecord = namedExtension(
  'PaidPaymentLink',
  StoredLinkRecord,
  {
    payment: namedObject(
      'LinkPayment',
      {
        uuid: described(Uuid, 'The uuid of the payment.'),
        reference: text('The reference of the payment.'),
        amountPaid: described(AmountText, 'What was paid, a decimal in major units.'),
        paidAt: timestamp('When it was paid, in UTC.'),
      },
      { description: 'The payment that succeeded.' },
    ),
  },
  { description: 'A payment link with the payment that succeeded.' },
)

export const LinksQuery = Type.Object({
  ...PAGE_QUERY,
  status: Type.Optional(
    NamedEnum('PaymentLinkStatus', LINK_STATUSES, { description: 'Only links with this status.' }),
  ),
  currency: Type.Optional(CurrencyFilter),
  usage: Type.Optional(
    NamedEnum('PaymentLinkUsage', LINK_USAGES, { description: 'Only links for one payment, or for many.' }),
  ),
  search: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Part of a title or slug.' }),
  ),
})

type UrlApp = Pick<LinksApp, 'settings'>

function linkUrl(app: UrlApp, slug: string): string {
  return `${app.settings.publicUrl()}/l/${slug}`
}

export function toLink(app: UrlApp, link: LinkRow) {
  const { uuid, slug, url, ...rest } = toStoredLink(app, link)
  return { uuid, slug, url, qr: qrOf(url), ...rest }
}

/** For events and lists, without the QR code: it can be made from the address and would be most of them. */
export function toStoredLink(app: UrlApp, link: LinkRow) {
  const { currency } = link
  return {
    uuid: link.id,
    slug: link.slug,
    url: linkUrl(app, link.slug),
    title: link.title,
    description: link.description,
    amount: amountText(link.amountMinor, currency),
    minAmount: amountText(link.minAmountMinor, currency),
    maxAmount: amountText(link.maxAmountMinor, currency),
    currency,
    country: link.country,
    usage: link.usage,
    maxPayments: link.maxPayments,
    paymentsCount: Number(link.paymentsCount),
    amountCollected: formatAmount(money(link.collectedMinor, currency)),
    status: link.status,
    redirectUrl: link.redirectUrl,
    metadata: link.metadata,
    expiresAt: link.expiresAt?.toISOString() ?? null,
    createdAt: link.createdAt.toISOString(),
  }
}

function amountText(minor: bigint | null, currency: Currency): string | null {
  return minor === null ? null : formatAmount(money(minor, currency))
}
