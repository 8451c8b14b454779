// What links tell: each payment, that all of them have come, that the time has passed. Every event is written in the
// transaction that counts what it is about, so it comes once, in order, and says what was so at that moment.

import { formatAmount, money } from '../core/money.ts'
import { type EventInput, recordEvents } from '../events/service.ts'
import type { Tx } from '../kit/db.ts'
import type { LinksApp } from './app.ts'
import type { LinkRow } from './link.ts'
import { claimDueLink, countPayment, findCountedLink, findLink, recordEmittedEvents } from './queries.ts'
import { toStoredLink } from './schema.ts'
import { claimPaidSlot, type PaidSlot } from './slot-queries.ts'

/** Counts one payment that has succeeded. Answers how many there were: one or none. */
export function countOnePayment(app: LinksApp): Promise<number> {
  return app.db.transaction(async (tx) => {
    const slot = await claimPaidSlot(tx)
    if (!slot) return 0
    await countPayment(tx, slot.merchantId, slot.linkId, slot.paidMinor)
    await emitLinkEvents(app, tx, slot.merchantId, slot.linkId, slot)
    return 1
  })
}

/** Tells of one link whose time has passed. Answers how many there were: one or none. */
export function expireOneLink(app: LinksApp): Promise<number> {
  return app.db.transaction(async (tx) => {
    const due = await claimDueLink(tx, app.clock.now())
    if (!due) return 0
    // Money that is here and not counted yet may have completed it in time.
    const link = await findLink(tx, due.merchantId, app.clock.now(), due.id)
    if (link?.status === 'expired') await emitLinkEvents(app, tx, due.merchantId, due.id)
    return 1
  })
}

/**
 * Writes what is new about a link that this transaction has locked: the payment that was counted, and each end that it has
 * come to and nobody was told of. An end that is over, because the merchant moved it, is forgotten.
 */
export async function emitLinkEvents(
  app: LinksApp,
  tx: Tx,
  merchantId: string,
  linkId: string,
  paid?: PaidSlot,
): Promise<void> {
  const now = app.clock.now()
  const link = await findCountedLink(tx, merchantId, now, linkId)
  if (!link) throw new Error(`link ${linkId} has vanished`)
  const isComplete = link.status === 'completed'
  const isExpired = link.status === 'expired'
  const types: EventInput['type'][] = []
  if (paid) types.push('payment_link.paid')
  if (isComplete && link.completedAt === null) types.push('payment_link.completed')
  if (isExpired && link.expiredAt === null) types.push('payment_link.expired')
  const events = types.map(
    (type, index): EventInput => ({
      merchantId,
      type,
      resource: { type: 'payment_link', uuid: linkId, version: link.version + index + 1 },
      data: {
        ...toStoredLink(app, link),
        ...(type === 'payment_link.paid' && paid ? { payment: toPaymentSummary(link, paid) } : {}),
      },
    }),
  )
  const endedAt = {
    completedAt: isComplete ? (link.completedAt ?? now) : null,
    expiredAt: isExpired ? (link.expiredAt ?? now) : link.expiredAt,
  }
  await recordEmittedEvents(tx, link, events.length, endedAt)
  await recordEvents(app, tx, app.settings.mode, events)
}

function toPaymentSummary({ currency }: LinkRow, { paymentId, reference, paidMinor, paidAt }: PaidSlot) {
  const amountPaid = formatAmount(money(paidMinor, currency))
  return { uuid: paymentId, reference, amountPaid, paidAt: paidAt.toISOString() }
}
