// A slot at a link is held before an attempt goes to a gateway, so that a link which may collect ten payments charges no
// eleventh payer. Who comes when all slots are held waits, because the others may still fail; who comes when all are paid
// is told that it is over.

import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db.ts'
import type { Capacity } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { lockLink } from './queries.ts'
import { deleteIdleSlots, findSlotUsage, insertSlot, type SlotUsage } from './slot-queries.ts'

interface Needs {
  db: Db
  clock: Clock
}

/** Takes a slot for the payment, or says why there is none. Taking it again is having it. */
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

/** Whether there would be a slot at this moment, for a page that says so before anybody presses. */
export async function checkSlot(app: Needs, payment: PaymentRow): Promise<Capacity> {
  const { merchantId, linkId, id } = payment
  if (linkId === null) return 'available'
  return capacityOf(await findSlotUsage(app.db, merchantId, linkId, id, app.clock.now()))
}

/** Who has a slot keeps it, also when the link has been switched off or its time has passed meanwhile: they may have paid. */
export function capacityOf(usage: SlotUsage | undefined): Capacity {
  if (!usage) return 'ended'
  const { hasSlot, isClosed, maxPayments, paid, reserved } = usage
  if (hasSlot) return 'available'
  if (isClosed) return 'ended'
  if (maxPayments === null || reserved < maxPayments) return 'available'
  return paid >= maxPayments ? 'ended' : 'busy'
}

// Between the slot and the attempt there is one statement. Who needs longer for it has died.
const IDLE_SLOT_MS = 120_000

export function releaseIdleSlots(app: Needs): Promise<number> {
  return deleteIdleSlots(app.db, addMs(app.clock.now(), -IDLE_SLOT_MS))
}
