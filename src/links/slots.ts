// The capacity of a link. A payment reserves a slot before its attempt is submitted, so that a link for ten payments charges
// no eleventh payer. If all slots are reserved, the link is busy, because a payment may still fail; if all are paid, it ended.

import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import type { Capacity } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { lockLink } from './queries.ts'
import { deleteIdleSlots, findSlotUsage, insertSlot, type SlotUsage } from './slot-queries.ts'

interface Needs {
  db: Db
  clock: Clock
}

/** Reserves a slot for the payment under the lock of the link, or returns why there is none. Idempotent. */
export function reserveSlot(app: Needs, payment: PaymentRow): Promise<Capacity> {
  const { merchantId, linkId, id } = payment
  return app.db.transaction(async (tx) => {
    if (linkId === null) return 'available'
    await lockLink(tx, merchantId, linkId)
    const now = app.clock.now()
    const capacity = capacityOf(await findSlotUsage(tx, merchantId, linkId, id, now))
    if (capacity === 'available') await insertSlot(tx, merchantId, id, now)
    return capacity
  })
}

/** Checks the capacity without a reservation, so that a page can show it before the payer submits. */
export async function checkSlot(app: Needs, payment: PaymentRow): Promise<Capacity> {
  const { merchantId, linkId, id } = payment
  if (linkId === null) return 'available'
  return capacityOf(await findSlotUsage(app.db, merchantId, linkId, id, app.clock.now()))
}

/** A payment with a slot keeps it after the link is deactivated or expires, because the payer may have paid. */
export function capacityOf(usage: SlotUsage | undefined): Capacity {
  if (!usage) return 'ended'
  const { hasSlot, isClosed, maxPayments, paid, reserved } = usage
  if (hasSlot) return 'available'
  if (isClosed) return 'ended'
  if (maxPayments === null || reserved < maxPayments) return 'available'
  return paid >= maxPayments ? 'ended' : 'busy'
}

// One statement separates the reservation from the attempt. After this time the process must have died.
const IDLE_SLOT_MS = 120_000

export function releaseIdleSlots(app: Needs): Promise<number> {
  return deleteIdleSlots(app.db, addMs(app.clock.now(), -IDLE_SLOT_MS))
}
