// The response schema of a payment link.

import { Type } from 'typebox'
import type { Currency } from '../core/currency.ts'
import { formatAmount, money } from '../core/money.ts'
import {
  AmountText,
  CurrencyCode,
  CurrencyFilter,
  Enum,
  Metadata,
  Nullable,
  PAGE_QUERY,
  Timestamp,
  Uuid,
} from '../kit/http/schema.ts'
import type { LinksApp } from './app.ts'
import { LINK_STATUSES, LINK_USAGES, type LinkRow } from './link.ts'
import { qrOf, qrsOf } from './qr.ts'

export const LinkRecord = Type.Object({
  uuid: Uuid,
  slug: Type.String(),
  url: Type.String({ description: 'The URL at which payers pay. Send it, print it, or show its QR code.' }),
  qr: Type.String({ description: 'The address as an SVG picture. Events leave it out.' }),
  title: Type.String(),
  description: Nullable(Type.String()),
  amount: Nullable(Type.String({ pattern: '^\\d+\\.\\d{2}$', description: 'Null when the payer chooses.' })),
  minAmount: Nullable(AmountText),
  maxAmount: Nullable(AmountText),
  currency: CurrencyCode,
  country: Nullable(Type.String()),
  usage: Enum(LINK_USAGES),
  maxPayments: Nullable(Type.Integer()),
  paymentsCount: Type.Integer({
    description:
      'Payments that have succeeded. A refund does not take one back; money that came late may bring it above maxPayments.',
  }),
  amountCollected: Type.String({
    pattern: '^\\d+\\.\\d{2}$',
    description: 'The total that was collected. Refunds are shown in the payments.',
  }),
  status: Enum(LINK_STATUSES, {
    description:
      'completed: as many payments as it may have; inactive: you switched it off; expired: its time has passed.',
  }),
  redirectUrl: Nullable(Type.String()),
  metadata: Metadata,
  expiresAt: Nullable(Timestamp),
  createdAt: Timestamp,
})

export const LinksQuery = Type.Object({
  ...PAGE_QUERY,
  status: Type.Optional(Enum(LINK_STATUSES)),
  currency: Type.Optional(CurrencyFilter),
  usage: Type.Optional(Enum(LINK_USAGES)),
  search: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100, description: 'Part of a title or slug.' }),
  ),
})

type UrlApp = Pick<LinksApp, 'settings'>

function linkUrl(app: UrlApp, slug: string): string {
  return `${app.settings.publicUrl()}/l/${slug}`
}

export function toLink(app: UrlApp, link: LinkRow) {
  const stored = toStoredLink(app, link)
  return withQr(stored, qrOf(stored.url))
}

/** The records of a page. */
export async function toLinks(app: UrlApp, links: readonly LinkRow[]) {
  const stored = links.map((link) => toStoredLink(app, link))
  const codes = await qrsOf(stored.map(({ url }) => url))
  return stored.map((link, index) => withQr(link, codes[index] ?? ''))
}

function withQr({ uuid, slug, url, ...rest }: ReturnType<typeof toStoredLink>, qr: string) {
  return { uuid, slug, url, qr, ...rest }
}

/** For events, without the QR code: it can be made from the address and would be most of the event. */
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
