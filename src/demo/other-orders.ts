// Orders without the checkout page: charges of saved cards, and transfers to the merchant's own account.

import { chargeSavedMethod } from '../charges/charge.ts'
import { requireCheckoutPayment } from '../checkout/view.ts'
import { formatAmount, money } from '../core/money.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import { requestTransfer } from '../p2p/request-transfer.ts'
import { confirmTransfer, markSent, rejectTransfer } from '../p2p/transfers.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { expireCheckout } from '../resolver/expire.ts'
import { planAftermath, startAftermath } from './aftermath.ts'
import type { History } from './app.ts'
import { beginCheckout, referenceOf } from './checkout-orders.ts'
import { CHARGE_DECLINES } from './declines.ts'
import { PRODUCTS, SUBSCRIPTION } from './markets.ts'
import type { Order } from './orders.ts'
import { isOutage, OUTAGE_END_MS } from './outage.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

export const chargeReferenceOf = ({ number, market }: Order) => `SUB-${market.country}-${10_000 + number}`

/** Charges the card that was charged longest ago. Before the first card was saved, the customer checks out. */
export async function chargeCard(history: History, order: Order): Promise<void> {
  const { app, merchant, schedule, nowMs } = history
  const { market, seeded, amount } = order
  const cards = history.cards.get(market.currency)
  const card = cards?.shift()
  if (!cards || !card) return beginCheckout(history, order)
  cards.push(card)
  const reference = chargeReferenceOf(order)
  const isDeclined = seeded.isTrue(0.13)
  const decline = isDeclined
    ? seeded.choose(CHARGE_DECLINES.map((one) => [one, one.weight] as const))
    : undefined
  const isDown = isOutage(history) && !isDeclined
  app.provider.answer(reference, { decline, isDown })
  const { firstname, lastname, email } = card.person
  const customer = { firstname, lastname, email, country: market.country }
  const input = {
    reference,
    amount,
    description: SUBSCRIPTION,
    metadata: {},
    customer,
    recurringToken: card.recurringToken,
  }
  const { payment, attempt } = await chargeSavedMethod(app, merchant, input, null)
  if (!attempt) throw new Error(`the charge ${reference} has no attempt`)
  const aftermath = planAftermath(seeded, 'card', nowMs - order.atMs)
  if (!isDown) return startAftermath(history, order, aftermath, { payment, attempt })
  // The response was lost; the provider knows the outcome when it answers again.
  schedule.add(nowMs - OUTAGE_END_MS + seeded.between(5, 300) * SECOND_MS, market.currency, async () => {
    app.provider.answer(reference, {})
    const verified = await verifyAttempt(app, { payment, attempt }, 'resolver')
    await startAftermath(history, order, aftermath, verified)
  })
}

/** The payer sends the money to the merchant's account, and the merchant looks whether it has arrived. */
export async function beginTransfer(history: History, order: Order): Promise<void> {
  const { app, merchant, schedule } = history
  const { market, seeded, amount } = order
  const { firstname, lastname, email } = order.person
  const body = {
    amount: major(amount.minor, order),
    currency: market.currency,
    country: market.country,
    reference: referenceOf(order),
    description: seeded.pick(PRODUCTS),
    customer: { firstname, lastname, email },
    expiresInMinutes: 1_440,
  }
  const { payment } = await requestTransfer(app, merchant, body, null)
  const fate = seeded.choose([
    ['confirmed', 76],
    ['in_two_parts', 6],
    ['rejected', 6],
    ['never_sent', 12],
  ])
  if (fate === 'never_sent')
    return schedule.add((payment.expiresAt ?? app.clock.now()).getTime() + SECOND_MS, null, () =>
      expire(history, payment),
    )
  const after = (fromMs: number, toMs: number, step: () => Promise<unknown>) =>
    schedule.add(
      app.clock.now().getTime() + seeded.between(fromMs, toMs),
      null,
      async () => void (await step()),
    )
  const action = { id: payment.id, key: undefined }
  const confirm = (minor: bigint) => () => confirmTransfer(app, merchant, action, major(minor, order))
  after(3 * MINUTE_MS, 40 * MINUTE_MS, async () => {
    await markSent(app, await requireCheckoutPayment(app, merchant, payment.reference))
    if (fate === 'rejected')
      return after(6 * HOUR_MS, 40 * HOUR_MS, () =>
        rejectTransfer(app, merchant, action, 'No such transfer on the account'),
      )
    if (fate === 'confirmed') return after(10 * MINUTE_MS, 26 * HOUR_MS, confirm(amount.minor))
    after(HOUR_MS, 8 * HOUR_MS, async () => {
      await confirm(partOf(amount.minor))()
      after(2 * HOUR_MS, 30 * HOUR_MS, confirm(amount.minor))
    })
  })
}

const partOf = (minor: bigint) => (minor * 6n) / 10n

const major = (minor: bigint, { market }: Order) => Number(formatAmount(money(minor, market.currency)))

/** Nothing was sent in time. */
async function expire({ app, merchant }: History, payment: PaymentRow): Promise<void> {
  await expireCheckout(app, (await requireCheckoutPayment(app, merchant, payment.reference)).payment)
}
