// The events of links: paid, completed, expired. Each event is written in the transaction that counts the payment or the
// expiry, so it is emitted once, in order, with the state of that moment.

import { formatAmount, money } from '../core/money.ts'
import { type EventInput, recordEvents } from '../events/service.ts'
import type { Tx } from '../kit/db/db.ts'
import type { LinksApp } from './app.ts'
import type { LinkRow } from './link.ts'
import { claimDueLink, countPayment, findCountedLink, findLink, recordEmittedEvents } from './queries.ts'
import { toStoredLink } from './schema.ts'
import { claimPaidSlot, type PaidSlot } from './slot-queries.ts'

/** Counts one successful payment at its link. Returns 1, or 0 if there was none. */
export function countOnePayment(app: LinksApp): Promise<number> {
  return app.db.transaction(async (tx) => {
    const slot = await claimPaidSlot(tx)
    if (!slot) return 0
    await countPayment(tx, slot.merchantId, slot.linkId, slot.paidMinor)
    await emitLinkEvents(app, tx, slot.merchantId, slot.linkId, slot)
    return 1
  })
}

/** Emits the event of one expired link. Returns 1, or 0 if no expiry was due. */
export function expireOneLink(app: LinksApp): Promise<number> {
  return app.db.transaction(async (tx) => {
    const due = await claimDueLink(tx, app.clock.now())
    if (!due) return 0
    // A payment that is not counted yet may have completed the link before its expiry.
    const link = await findLink(tx, due.merchantId, app.clock.now(), due.id)
    if (link?.status === 'expired') await emitLinkEvents(app, tx, due.merchantId, due.id)
    return 1
  })
}

/**
 * Emits the new events of a link that this transaction has locked: the counted payment, and the completed or expired state if
 * it was not reported yet. If a change by the merchant ended such a state, its mark is cleared.
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
  if (!link) throw new Error(`link ${linkId} does not exist`)
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
