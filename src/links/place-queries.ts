// Every statement over the places of links, except those of the trigger that lets a place follow its payment.

import { type Db, sql, type Tx } from '../kit/db.ts'

/** What decides whether one payment more may be let through. */
export interface Room {
  maxPayments: number | null
  /** The merchant has switched the link off, or its time has passed. */
  isOver: boolean
  /** Payments that have succeeded. */
  paid: bigint
  /** Those, and the ones that are at a gateway. */
  taken: bigint
  /** Whether the payment in question has its place already. */
  isOwn: boolean
}

const selectRoom = sql<Room>`
select
  l.max_payments as "maxPayments",
  l.deactivated_at is not null or coalesce(l.expires_at <= $4, false) as "isOver",
  l.payments_count + count(h.paid_at) as paid,
  l.payments_count + count(h.payment_id) as taken,
  coalesce(bool_or(h.payment_id = $3), false) as "isOwn"
from payment_links l
left join payment_link_places h on h.merchant_id = l.merchant_id and h.link_id = l.id
where l.merchant_id = $1 and l.id = $2
group by l.merchant_id, l.id`

/** Exact when the link was locked by an earlier statement of the same transaction. */
export async function findRoom(
  db: Tx,
  merchantId: string,
  linkId: string,
  paymentId: string,
  now: Date,
): Promise<Room | undefined> {
  const [room] = await db.query(selectRoom, [merchantId, linkId, paymentId, now])
  return room
}

// Only an open payment gets one: whoever ends it waits for us, and then gives the place back. A place that was taken before
// is renewed: whoever takes it again is about to use it, and it must not be dropped as idle meanwhile.
const insertPlaceStatement = sql<unknown>`
insert into payment_link_places as h (merchant_id, payment_id, link_id, taken_at, reference)
select merchant_id, id, link_id, $3, reference
from payments
where merchant_id = $1 and id = $2 and status = 'pending'
for no key update
on conflict (merchant_id, payment_id) do update
set taken_at = excluded.taken_at
where h.paid_at is null`

export async function insertPlace(tx: Tx, merchantId: string, paymentId: string, at: Date): Promise<void> {
  await tx.query(insertPlaceStatement, [merchantId, paymentId, at])
}

export interface PaidPlace {
  merchantId: string
  linkId: string
  paymentId: string
  reference: string
  paidMinor: bigint
  paidAt: Date
}

// The locking select stands in a CTE of its own: joined as it is, the planner may run it once per row, and then it takes more
// places than the one that is counted.
const takePaidPlaceStatement = sql<PaidPlace>`
with oldest as (
  select merchant_id, payment_id
  from payment_link_places
  where paid_at is not null
  order by paid_at
  limit 1
  for update skip locked
)
delete from payment_link_places h
using oldest o
where h.merchant_id = o.merchant_id and h.payment_id = o.payment_id
returning
  h.merchant_id as "merchantId", h.link_id as "linkId", h.payment_id as "paymentId", h.reference,
  h.paid_minor as "paidMinor", h.paid_at as "paidAt"`

/** A paid place that nobody else is counting, for the link to count it in the same transaction. */
export async function takePaidPlace(tx: Tx): Promise<PaidPlace | undefined> {
  const [place] = await tx.query(takePaidPlaceStatement)
  return place
}

// A payment that is at a gateway keeps its place however long that takes, and so does one that was declined on a page which
// can still be paid. Asked once more at the end: a place may be taken again while we look.
const dropIdlePlacesStatement = sql<{ paymentId: string }>`
with idle as (
  select h.merchant_id, h.payment_id
  from payment_link_places h
  join payments p on p.merchant_id = h.merchant_id and p.id = h.payment_id
  where h.paid_at is null
    and h.taken_at < $1
    and p.status = 'pending'
    and not exists (
      select 1
      from attempts a
      where a.merchant_id = p.merchant_id
        and a.payment_id = p.id
        and (a.status <> 'declined' or a.due_at is not null)
    )
  order by h.taken_at
  limit 100
  for no key update of p skip locked
)
delete from payment_link_places h
using idle
where h.merchant_id = idle.merchant_id
  and h.payment_id = idle.payment_id
  and h.paid_at is null
  and h.taken_at < $1
returning h.payment_id as "paymentId"`

/** Gives places back that were taken before this time and never used. */
export async function dropIdlePlaces(db: Db, takenBefore: Date): Promise<number> {
  return (await db.query(dropIdlePlacesStatement, [takenBefore])).length
}
