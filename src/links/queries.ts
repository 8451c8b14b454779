// The statements over payment links, except those over their slots. The second value of each statement that returns a link
// is the current time: the status of a link is computed here and nowhere else.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import { LINK, LINK_IDENTITY, LINK_TERMS, type LinkRow, type LinkTerms, type NewLink } from './link.ts'

export const LINK_STATUS = `
  case
    when l.payments_count + n.paid >= l.max_payments then 'completed'
    when l.deactivated_at is not null then 'inactive'
    when l.expires_at <= $2::timestamptz then 'expired'
    else 'active'
  end`

export const LINK_COLUMNS = `
  ${LINK.select('l')}, l.payments_count + n.paid as "paymentsCount", l.collected_minor + n.paid_minor as "collectedMinor",
  l.payments_count + n.slots as "slotsReserved", ${LINK_STATUS} as status`

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

/** Links with their slots: payments that are at a gateway, or successful and not counted yet. */
export const LINKS = withSlots('payment_links')

/** The same over the view that has the search columns. */
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
  return firstRow(db, selectLink, [merchantId, now, id])
}

const selectCountedLink = sql<LinkRow>`
select ${LINK_COLUMNS}
from payment_links l
cross join (select 0::bigint as slots, 0::bigint as paid, 0::bigint as paid_minor) n
where l.merchant_id = $1 and l.id = $3`

/** The link without the payments that are not counted yet: the state after the last emitted event. */
export async function findCountedLink(
  tx: Tx,
  merchantId: string,
  now: Date,
  id: string,
): Promise<LinkRow | undefined> {
  return firstRow(tx, selectCountedLink, [merchantId, now, id])
}

// The slug is unique over all merchants, so this statement names no merchant.
const selectLinkBySlug = sql<LinkRow>`
select ${LINK_COLUMNS}
from ${LINKS}
where l.slug = $1`

export async function findLinkBySlug(db: Db, slug: string, now: Date): Promise<LinkRow | undefined> {
  return firstRow(db, selectLinkBySlug, [slug, now])
}

const selectMerchantBySlug = sql<{ merchantId: string }>`
select merchant_id as "merchantId"
from payment_links
where slug = $1`

/** Whose link it is, before its merchant is known. */
export async function findMerchantBySlug(db: Db, slug: string): Promise<string | undefined> {
  return (await firstRow(db, selectMerchantBySlug, [slug]))?.merchantId
}

const NEW_LINK = [...LINK_IDENTITY, ...LINK_TERMS] as const

const insertLinkStatement = sql<unknown>`
insert into payment_links (search_text, due_at, ${LINK.list(NEW_LINK)})
values ($1, $2, ${LINK.placeholders(NEW_LINK, 3)})`

export async function insertLink(tx: Tx, link: NewLink): Promise<void> {
  await tx.query(insertLinkStatement, [searchTextOf(link), link.expiresAt, ...LINK.values(link, NEW_LINK)])
}

/** The line break prevents a match that spans title and slug. */
function searchTextOf({ title, slug }: { title: string; slug: string }): string {
  return `${title}\n${slug}`.normalize('NFC').toLowerCase()
}

const lockLinkStatement = sql<{ id: string }>`
select id
from payment_links
where merchant_id = $1 and id = $2
for no key update`

/** Until the transaction ends, no other transaction counts, changes or reserves a slot at this link. */
export async function lockLink(tx: Tx, merchantId: string, id: string): Promise<void> {
  await tx.query(lockLinkStatement, [merchantId, id])
}

// A change can end the completed or expired state. Clearing the mark lets the next end emit its event again.
const updateLinkStatement = sql<unknown>`
update payment_links
set
  search_text = $3,
  expired_at = $4,
  due_at = case when $4::timestamptz is null then $5::timestamptz end,
  (${LINK.list(LINK_TERMS)}) = row (${LINK.placeholders(LINK_TERMS, 6)})
where merchant_id = $1 and id = $2`

export async function updateLink(
  tx: Tx,
  { merchantId, id, slug }: Pick<LinkRow, 'merchantId' | 'id' | 'slug'>,
  terms: LinkTerms & Pick<LinkRow, 'expiredAt'>,
): Promise<void> {
  const searchText = searchTextOf({ title: terms.title, slug })
  const values = [searchText, terms.expiredAt, terms.expiresAt, ...LINK.values(terms, LINK_TERMS)]
  await tx.query(updateLinkStatement, [merchantId, id, ...values])
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

/** Saves how many events were emitted, and which ends of the link they reported. */
export async function recordEmittedEvents(
  tx: Tx,
  { merchantId, id }: Pick<LinkRow, 'merchantId' | 'id'>,
  events: number,
  { completedAt, expiredAt }: Pick<LinkRow, 'completedAt' | 'expiredAt'>,
): Promise<void> {
  await tx.query(recordEmittedEventsStatement, [merchantId, id, events, completedAt, expiredAt])
}

// A locking select with a limit stands in a CTE: joined directly, the planner may run it per row and claim several links.
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

/** Claims one link whose expiry is due; the row stays locked until the transaction ends. */
export async function claimDueLink(
  tx: Tx,
  now: Date,
): Promise<{ merchantId: string; id: string } | undefined> {
  return firstRow(tx, claimDueLinkStatement, [now])
}
