// A place at a link is held before an attempt goes to a gateway, so that a link which may collect ten payments charges no
// eleventh payer. Who comes when all places are held waits, because the others may still fail; who comes when all are paid
// is told that it is over.

import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db.ts'
import type { Admission } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { dropIdlePlaces, findRoom, insertPlace, type Room } from './place-queries.ts'
import { lockLink } from './queries.ts'

interface Needs {
  db: Db
  clock: Clock
}

/** Takes a place for the payment, or says why there is none. Taking it again is having it. */
export function takePlace(app: Needs, payment: PaymentRow): Promise<Admission> {
  const { merchantId, linkId, id } = payment
  return app.db.transaction(async (tx) => {
    if (linkId === null) return 'admitted'
    await lockLink(tx, merchantId, linkId)
    const now = app.clock.now()
    const admission = admissionOf(await findRoom(tx, merchantId, linkId, id, now))
    if (admission === 'admitted') await insertPlace(tx, merchantId, id, now)
    return admission
  })
}

/** Whether there would be a place at this moment, for a page that says so before anybody presses. */
export async function lookForPlace(app: Needs, payment: PaymentRow): Promise<Admission> {
  const { merchantId, linkId, id } = payment
  if (linkId === null) return 'admitted'
  return admissionOf(await findRoom(app.db, merchantId, linkId, id, app.clock.now()))
}

/** Who has a place keeps it, also when the link has been switched off or its time has passed meanwhile: they may have paid. */
export function admissionOf(room: Room | undefined): Admission {
  if (!room) return 'ended'
  const { isOwn, isOver, maxPayments, paid, taken } = room
  if (isOwn) return 'admitted'
  if (isOver) return 'ended'
  if (maxPayments === null || taken < maxPayments) return 'admitted'
  return paid >= maxPayments ? 'ended' : 'busy'
}

// Between the place and the attempt there is one statement. Who needs longer for it has died.
const IDLE_MS = 120_000

export function dropAbandonedPlaces(app: Needs): Promise<number> {
  return dropIdlePlaces(app.db, addMs(app.clock.now(), -IDLE_MS))
}
