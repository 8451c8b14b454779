// Every statement over payment links, except those about their slots. The second value of each that answers a link is the
// time by which its status is told: the status is written down here and nowhere else.

import type { Currency } from '../core/currency.ts'
import { type Db, sql, type Tx } from '../kit/db.ts'

export type LinkStatus = 'active' | 'inactive' | 'expired' | 'completed'
export type LinkUsage = 'single' | 'multi'

export interface LinkRow {
  merchantId: string
  id: string
  slug: string
  title: string
  description: string | null
  /** Null when the payer chooses. */
  amountMinor: bigint | null
  minAmountMinor: bigint | null
  maxAmountMinor: bigint | null
  currency: Currency
  country: string | null
  usage: LinkUsage
  maxPayments: number | null
  /** Every payment that has succeeded, also those whose event is still to be written. */
  paymentsCount: bigint
  collectedMinor: bigint
  /** Those that have succeeded and those that are at a gateway. */
  slotsReserved: bigint
  status: LinkStatus
  redirectUrl: string | null
  metadata: Record<string, unknown>
  expiresAt: Date | null
  expiredAt: Date | null
  completedAt: Date | null
  version: number
  createdAt: Date
}

export const LINK_STATUS = `
  case
    when l.payments_count + n.paid >= l.max_payments then 'completed'
    when l.deactivated_at is not null then 'inactive'
    when l.expires_at <= $2::timestamptz then 'expired'
    else 'active'
  end`

export const LINK_COLUMNS = `
  l.merchant_id as "merchantId", l.id, l.slug, l.title, l.description, l.amount_minor as "amountMinor",
  l.min_amount_minor as "minAmountMinor", l.max_amount_minor as "maxAmountMinor", l.currency, l.country, l.usage,
  l.max_payments as "maxPayments", l.payments_count + n.paid as "paymentsCount",
  l.collected_minor + n.paid_minor as "collectedMinor", l.payments_count + n.slots as "slotsReserved",
  ${LINK_STATUS} as status, l.redirect_url as "redirectUrl", l.metadata, l.expires_at as "expiresAt",
  l.expired_at as "expiredAt", l.completed_at as "completedAt", l.version, l.created_at as "createdAt"`

const withSlots = (table: string) => `
  ${table} l
  cross join lateral (
    select
      count(*) as slots,
      count(h.paid_at) as paid,
      coalesce(sum(h.paid_minor), 0)::bigint as paid_minor
    from payment_link_slots h
    where h.merchant_id = l.merchant_id and h.link_id = l.id
  ) n`

/** A link with what is paid or being paid and was not counted yet. */
export const LINKS = withSlots('payment_links')

/** The same for lists that search. */
export const SEARCHED_LINKS = withSlots('searched_links')

const selectLink = sql<LinkRow>`
select ${LINK_COLUMNS}
from ${LINKS}
where l.merchant_id = $1 and l.id = $3`

export async function findLink(
  db: Tx,
  merchantId: string,
  now: Date,
  id: string,
): Promise<LinkRow | undefined> {
  const [row] = await db.query(selectLink, [merchantId, now, id])
  return row
}

const selectCountedLink = sql<LinkRow>`
select ${LINK_COLUMNS}
from payment_links l
cross join (select 0::bigint as slots, 0::bigint as paid, 0::bigint as paid_minor) n
where l.merchant_id = $1 and l.id = $3`

/** The same without the payments that were not counted yet, as the events so far have told it. */
export async function findCountedLink(
  tx: Tx,
  merchantId: string,
  now: Date,
  id: string,
): Promise<LinkRow | undefined> {
  const [row] = await tx.query(selectCountedLink, [merchantId, now, id])
  return row
}

// The slug stands for merchant and link together, so no merchant is asked for here.
const selectLinkBySlug = sql<LinkRow>`
select ${LINK_COLUMNS}
from ${LINKS}
where l.slug = $1`

export async function findLinkBySlug(db: Db, slug: string, now: Date): Promise<LinkRow | undefined> {
  const [row] = await db.query(selectLinkBySlug, [slug, now])
  return row
}

/** What a merchant decides about a link. */
export interface LinkTerms {
  title: string
  description: string | null
  minAmountMinor: bigint | null
  maxAmountMinor: bigint | null
  maxPayments: number | null
  redirectUrl: string | null
  metadata: Record<string, unknown>
  expiresAt: Date | null
}

export interface NewLink extends LinkTerms {
  merchantId: string
  id: string
  slug: string
  amountMinor: bigint | null
  currency: Currency
  country: string | null
  usage: LinkUsage
  createdAt: Date
}

const insertLinkStatement = sql<unknown>`
insert into payment_links (
  merchant_id, id, slug, title, description, amount_minor, min_amount_minor, max_amount_minor, currency, country, usage,
  max_payments, redirect_url, metadata, expires_at, due_at, search_text, created_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb, $15, $15, $16, $17)`

export async function insertLink(tx: Tx, link: NewLink): Promise<void> {
  await tx.query(insertLinkStatement, [
    link.merchantId,
    link.id,
    link.slug,
    link.title,
    link.description,
    link.amountMinor,
    link.minAmountMinor,
    link.maxAmountMinor,
    link.currency,
    link.country,
    link.usage,
    link.maxPayments,
    link.redirectUrl,
    JSON.stringify(link.metadata),
    link.expiresAt,
    searchTextOf(link),
    link.createdAt,
  ])
}

/** The line break keeps a search from matching across the two. */
function searchTextOf({ title, slug }: { title: string; slug: string }): string {
  return `${title}\n${slug}`.normalize('NFC').toLowerCase()
}

const lockLinkStatement = sql<{ id: string }>`
select id
from payment_links
where merchant_id = $1 and id = $2
for no key update`

/** Until the transaction ends nobody else counts, changes or takes a slot at this link. */
export async function lockLink(tx: Tx, merchantId: string, id: string): Promise<void> {
  await tx.query(lockLinkStatement, [merchantId, id])
}

// Whether it is complete or expired is told by an event each time it becomes so, so the marks go when it is not any more.
const updateLinkStatement = sql<unknown>`
update payment_links
set
  title = $3,
  description = $4,
  min_amount_minor = $5,
  max_amount_minor = $6,
  max_payments = $7,
  redirect_url = $8,
  metadata = $9::jsonb,
  expires_at = $10,
  expired_at = $11,
  due_at = case when $11::timestamptz is null then $10::timestamptz end,
  search_text = $12
where merchant_id = $1 and id = $2`

export async function updateLink(
  tx: Tx,
  link: Pick<LinkRow, 'merchantId' | 'id' | 'slug'>,
  terms: LinkTerms & Pick<LinkRow, 'expiredAt'>,
): Promise<void> {
  await tx.query(updateLinkStatement, [
    link.merchantId,
    link.id,
    terms.title,
    terms.description,
    terms.minAmountMinor,
    terms.maxAmountMinor,
    terms.maxPayments,
    terms.redirectUrl,
    JSON.stringify(terms.metadata),
    terms.expiresAt,
    terms.expiredAt,
    searchTextOf({ title: terms.title, slug: link.slug }),
  ])
}

const deactivateLinkStatement = sql<unknown>`
update payment_links
set deactivated_at = coalesce(deactivated_at, $3)
where merchant_id = $1 and id = $2`

export async function markDeactivated(tx: Tx, merchantId: string, id: string, at: Date): Promise<void> {
  await tx.query(deactivateLinkStatement, [merchantId, id, at])
}

const countPaymentStatement = sql<unknown>`
update payment_links
set payments_count = payments_count + 1, collected_minor = collected_minor + $3
where merchant_id = $1 and id = $2`

export async function countPayment(tx: Tx, merchantId: string, id: string, paidMinor: bigint): Promise<void> {
  await tx.query(countPaymentStatement, [merchantId, id, paidMinor])
}

const recordEmittedEventsStatement = sql<unknown>`
update payment_links
set version = version + $3, completed_at = $4, expired_at = $5
where merchant_id = $1 and id = $2`

/** Remembers what was told: how many events more there are, and which ends of the link they were about. */
export async function recordEmittedEvents(
  tx: Tx,
  { merchantId, id }: Pick<LinkRow, 'merchantId' | 'id'>,
  events: number,
  { completedAt, expiredAt }: Pick<LinkRow, 'completedAt' | 'expiredAt'>,
): Promise<void> {
  await tx.query(recordEmittedEventsStatement, [merchantId, id, events, completedAt, expiredAt])
}

// In a CTE of its own, as every locking select with a limit: otherwise more links may be claimed than are told of.
const claimDueLinkStatement = sql<{ merchantId: string; id: string }>`
with due as (
  select merchant_id, id
  from payment_links
  where due_at <= $1
  order by due_at
  limit 1
  for no key update skip locked
)
update payment_links l
set due_at = null
from due d
where l.merchant_id = d.merchant_id and l.id = d.id
returning l.merchant_id as "merchantId", l.id`

/** A link whose time has passed; it stays claimed until the transaction ends. */
export async function claimDueLink(
  tx: Tx,
  now: Date,
): Promise<{ merchantId: string; id: string } | undefined> {
  const [row] = await tx.query(claimDueLinkStatement, [now])
  return row
}
