// The statements over the slots of links. A trigger on payments also updates and deletes slots.

import { type Db, sql, type Tx } from '../kit/db/db.ts'

/** The input of the capacity check. */
export interface SlotUsage {
  maxPayments: number | null
  /** The link was deactivated, or it has expired. */
  isClosed: boolean
  /** Successful payments. */
  paid: bigint
  /** Successful payments and payments at a gateway. */
  reserved: bigint
  /** Whether this payment already has a slot. */
  hasSlot: boolean
}

const selectSlotUsage = sql<SlotUsage>`
select
  l.max_payments as "maxPayments",
  l.deactivated_at is not null or coalesce(l.expires_at <= $4, false) as "isClosed",
  l.payments_count + count(h.paid_at) as paid,
  l.payments_count + count(h.payment_id) as reserved,
  coalesce(bool_or(h.payment_id = $3), false) as "hasSlot"
from payment_links l
left join payment_link_slots h on h.merchant_id = l.merchant_id and h.link_id = l.id
where l.merchant_id = $1 and l.id = $2
group by l.merchant_id, l.id, l.max_payments, l.deactivated_at, l.expires_at, l.payments_count`

/** Exact if an earlier statement of the same transaction locked the link. */
export async function findSlotUsage(
  db: Tx,
  merchantId: string,
  linkId: string,
  paymentId: string,
  now: Date,
): Promise<SlotUsage | undefined> {
  const [usage] = await db.query(selectSlotUsage, [merchantId, linkId, paymentId, now])
  return usage
}

// Only a pending payment gets a slot. The row lock makes a transaction that ends the payment wait; it then releases the slot.
// A slot that exists is renewed, so that it is not released as idle before its use.
const insertSlotStatement = sql<unknown>`
with payment as (
  select merchant_id, id, link_id, reference
  from payments
  where merchant_id = $1 and id = $2 and status = 'pending'
  for no key update
)
insert into payment_link_slots as h (merchant_id, payment_id, link_id, reserved_at, reference)
select merchant_id, id, link_id, $3, reference
from payment
on conflict (merchant_id, payment_id) do update
set reserved_at = excluded.reserved_at
where h.paid_at is null`

export async function insertSlot(tx: Tx, merchantId: string, paymentId: string, at: Date): Promise<void> {
  await tx.query(insertSlotStatement, [merchantId, paymentId, at])
}

export interface PaidSlot {
  merchantId: string
  linkId: string
  paymentId: string
  reference: string
  paidMinor: bigint
  paidAt: Date
}

// A locking select with a limit stands in a CTE: joined directly, the planner may run it per row and claim several slots.
const claimPaidSlotStatement = sql<PaidSlot>`
with oldest as (
  select merchant_id, payment_id
  from payment_link_slots
  where paid_at is not null
  order by paid_at
  limit 1
  for update skip locked
)
delete from payment_link_slots h
using oldest o
where h.merchant_id = o.merchant_id and h.payment_id = o.payment_id
returning
  h.merchant_id as "merchantId", h.link_id as "linkId", h.payment_id as "paymentId", h.reference,
  h.paid_minor as "paidMinor", h.paid_at as "paidAt"`

/** Claims one paid slot that no other process is counting; the caller counts it in the same transaction. */
export async function claimPaidSlot(tx: Tx): Promise<PaidSlot | undefined> {
  const [slot] = await tx.query(claimPaidSlotStatement)
  return slot
}

// A payment at a gateway keeps its slot, and so does a declined one that can still be retried. The delete repeats the
// conditions, because a slot may be renewed concurrently.
const deleteIdleSlotsStatement = sql<{ paymentId: string }>`
with idle as (
  select h.merchant_id, h.payment_id
  from payment_link_slots h
  join payments p on p.merchant_id = h.merchant_id and p.id = h.payment_id
  where h.paid_at is null
    and h.reserved_at < $1
    and p.status = 'pending'
    and not exists (
      select 1
      from attempts a
      where a.merchant_id = p.merchant_id
        and a.payment_id = p.id
        and (a.status <> 'declined' or a.due_at is not null)
    )
  order by h.reserved_at
  limit 100
  for no key update of p skip locked
)
delete from payment_link_slots h
using idle
where h.merchant_id = idle.merchant_id
  and h.payment_id = idle.payment_id
  and h.paid_at is null
  and h.reserved_at < $1
returning h.payment_id as "paymentId"`

/** Releases slots that were reserved before this time and never used. */
export async function deleteIdleSlots(db: Db, reservedBefore: Date): Promise<number> {
  return (await db.query(deleteIdleSlotsStatement, [reservedBefore])).length
}
