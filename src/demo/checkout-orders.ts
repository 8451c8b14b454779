// Orders that are paid on the checkout page, by a payer who may be declined, try again, cancel or leave. Every step is an
// action of its own, so a checkout that was begun a minute ago is still open at the end of the history.

import { initiatePayment } from '../checkout/initiate.ts'
import { cancelCheckout } from '../checkout/payer-actions.ts'
import { startAttempt } from '../checkout/start-attempt.ts'
import { type CheckoutView, requireCheckoutPayment } from '../checkout/view.ts'
import { readConsent } from '../consents/consent.ts'
import type { Currency } from '../core/currency.ts'
import { ApiError, type ApiErrorCode } from '../core/errors.ts'
import { serializeMethod } from '../customers/methods.ts'
import type { CheckoutChoice } from '../gateways/gateway.ts'
import { openLink, startLinkPayment } from '../links/pay.ts'
import { verifyAttempt } from '../outcomes/status-check.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { isOpen } from '../payments/states.ts'
import { expireCheckout } from '../resolver/expire.ts'
import { type Aftermath, instrumentOf, planAftermath, startAftermath } from './aftermath.ts'
import type { DemoApp, History, PaidAttempt } from './app.ts'
import { declinesOf } from './declines.ts'
import { type PayerChannel, PRODUCTS } from './markets.ts'
import type { Order } from './orders.ts'
import { isOutage, OUTAGE_END_MS } from './outage.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS

/** What the payer does in the end, and how often they are declined before. */
interface Fate {
  end: 'pays' | 'leaves' | 'cancels'
  declines: number
  channel: PayerChannel
  aftermath: Aftermath
}

const OPEN_MS = 40 * MINUTE_MS

// The payer may try five times; then the payment has failed.
const ALL_ATTEMPTS = 5

function drawFate({ seeded, market, atMs, hasUnknownOutcome }: Order, nowMs: number): Fate {
  const channel = seeded.choose(channelsOf(market.channels))
  if (hasUnknownOutcome) return { end: 'pays', declines: 0, channel, aftermath: 'unknown_answer' }
  // Some of the last payers have only just opened the page.
  if (nowMs - atMs < OPEN_MS && seeded.isTrue(0.5))
    return { end: 'leaves', declines: 0, channel, aftermath: 'nothing' }
  const [end, declines] = seeded.choose<readonly [Fate['end'], number]>([
    [['pays', 0], 770],
    [['pays', 1], 80],
    [['pays', 2], 15],
    [['leaves', 1], 45],
    [['leaves', 2], 15],
    [['leaves', ALL_ATTEMPTS], 6],
    [['leaves', 0], 50],
    [['cancels', 0], 12],
    [['cancels', 1], 10],
  ])
  return { end, declines, channel, aftermath: planAftermath(seeded, channel, nowMs - atMs) }
}

// A boundary: the entries of an object have the names of its type.
const channelsOf = (channels: Order['market']['channels']) =>
  Object.entries(channels) as [PayerChannel, number][]

/** The order number of the shop. */
export const referenceOf = ({ number, market }: Order) => `SH-${market.country}-${10_000 + number}`

export async function beginCheckout(history: History, order: Order): Promise<void> {
  const { app, merchant } = history
  const { firstname, lastname, email, phone, network } = order.person
  const input = {
    reference: referenceOf(order),
    amount: order.amount,
    description: order.seeded.pick(PRODUCTS),
    metadata: {
      orderNumber: String(10_000 + order.number),
      source: order.seeded.pick(['web', 'app', 'whatsapp']),
    },
    customer: {
      firstname,
      lastname,
      email,
      country: order.market.country,
      ...(network !== null && { phone }),
    },
    country: order.market.country,
    redirectUrl: null,
    isRecurring: false,
  }
  const { payment } = await initiatePayment(app, merchant, input, null)
  await proceed(history, order, payment)
}

export async function beginLinkPayment(history: History, order: Order): Promise<void> {
  const slug = history.links.get(order.market.currency)?.slug
  const opened = slug === undefined ? undefined : await openLink(history.app, slug)
  if (opened?.state !== 'active') return beginCheckout(history, order)
  const { link } = opened
  const { firstname, lastname, email } = order.person
  const amount = link.amountMinor === null ? order.amount : { ...order.amount, minor: link.amountMinor }
  const payer = { firstname, lastname, email, amount, formToken: String(order.number) }
  const payment = await startLinkPayment(history.app, link, payer)
  if (payment) await proceed(history, order, payment)
}

async function proceed(history: History, order: Order, payment: PaymentRow): Promise<void> {
  const fate = drawFate(order, history.nowMs)
  const view: CheckoutView = { payment, attempts: [], attempt: undefined, isCancelled: false }
  scheduleExpiry(history, order, fate, payment)
  if (fate.end !== 'leaves' || fate.declines > 0)
    later(history, order.seeded.between(12, 110) * SECOND_MS, () => choose(history, order, fate, view))
}

function later(
  { app, schedule }: History,
  ms: number,
  action: () => Promise<void>,
  { balance = null, kind }: { balance?: Currency | null; kind?: string | undefined } = {},
): void {
  schedule.add(app.clock.now().getTime() + ms, balance, action, kind)
}

/** The payer chooses a way to pay, or cancels. */
async function choose(history: History, order: Order, fate: Fate, view: CheckoutView): Promise<void> {
  const { app } = history
  const { payment } = view
  if (!isOpen(payment.status) || isOver(history, payment)) return
  if (fate.end === 'cancels' && fate.declines === 0) return void (await cancelCheckout(app, view))
  if (fate.end === 'leaves' && fate.declines === 0) return
  const { reference } = payment
  const isDown = isOutage(history) && order.seeded.isTrue(0.75)
  app.provider.answer(reference, { isDown, card: order.person.card })
  const started = await startUnlessFull(app, view, await choiceOf(history, order, fate, payment))
  if (!started) return scheduleExpiry(history, order, { ...fate, end: 'leaves' }, payment)
  const { attempt } = started
  if (!attempt || started.payment.status !== 'processing') {
    app.provider.answer(reference, { card: order.person.card })
    // The gateway was down: the payer tries again, or leaves.
    if (order.seeded.isTrue(0.5)) later(history, 3 * MINUTE_MS, () => choose(history, order, fate, started))
    return
  }
  const [shortest, longest] = WAIT_SECONDS[fate.channel]
  const waitMs = order.seeded.between(shortest, longest) * SECOND_MS
  later(history, waitMs, () => answer(history, order, fate, { payment: started.payment, attempt }), {
    balance: fate.declines === 0 ? order.market.currency : null,
    // Some cards are saved, which takes further steps.
    kind: fate.channel === 'card' ? undefined : fate.channel,
  })
}

/** Undefined if the link of the payment has no free slot: the payer leaves. */
async function startUnlessFull(app: DemoApp, view: CheckoutView, choice: CheckoutChoice) {
  try {
    return await startAttempt(app, view, choice)
  } catch (error) {
    if (error instanceof ApiError && IS_FULL.has(error.code)) return undefined
    throw error
  }
}

const IS_FULL: ReadonlySet<ApiErrorCode> = new Set(['payment_link_busy', 'payment_link_ended'])

const isOver = ({ app }: History, { expiresAt }: PaymentRow) =>
  expiresAt !== null && expiresAt <= app.clock.now()

/** How long payers take for the PIN, the page of the card, or the transfer. */
const WAIT_SECONDS: Readonly<Record<PayerChannel, readonly [number, number]>> = {
  mobile_money: [7, 75],
  card: [25, 150],
  bank_transfer: [90, 1_300],
}

async function choiceOf(
  { app }: History,
  { person, seeded }: Order,
  { channel }: Fate,
  payment: PaymentRow,
): Promise<CheckoutChoice> {
  if (channel === 'mobile_money')
    return { channel, phone: person.phone, ...(person.network && { network: person.network }) }
  if (channel === 'bank_transfer') return { channel }
  const isTicked = seeded.isTrue(0.55)
  const asked = { seen: 'checkbox', isTicked, language: 'en', source: 'checkout' } as const
  return { channel, consent: await readConsent(app, payment, asked) }
}

/** The payer or the bank answers, and the provider tells us. */
async function answer(history: History, order: Order, fate: Fate, current: PaidAttempt): Promise<void> {
  const { app } = history
  const { attempt, payment } = current
  const { card } = order.person
  const { gatewayKey } = attempt
  if (fate.declines > 0) {
    const declines = declinesOf(fate.channel, order.person.network)
    const decline = order.seeded.choose(declines.map((one) => [one, one.weight] as const))
    app.provider.answer(payment.reference, { decline, card })
    await app.provider.declineAttempt(gatewayKey, decline)
  } else {
    await app.provider.gateway.simulatePayer(gatewayKey, instrumentOf(fate.aftermath, fate.channel))
    if (isOutage(history) && order.seeded.isTrue(0.7)) return learnAfterOutage(history, order, fate, current)
  }
  const verified = await verifyAttempt(app, current, order.seeded.isTrue(0.7) ? 'webhook' : 'return')
  await conclude(history, order, fate, verified)
}

/** The provider has the outcome and does not answer: the payment stays processing until it does. */
async function learnAfterOutage(
  history: History,
  order: Order,
  fate: Fate,
  current: PaidAttempt,
): Promise<void> {
  const { app, schedule, nowMs } = history
  app.provider.answer(current.payment.reference, { isDown: true })
  await verifyAttempt(app, current, 'return')
  const endMs = nowMs - OUTAGE_END_MS + order.seeded.between(5, 400) * SECOND_MS
  schedule.add(endMs, order.market.currency, async () => {
    app.provider.answer(current.payment.reference, { card: order.person.card })
    const view = await requireCheckoutPayment(app, history.merchant, current.payment.reference)
    const attempt = view.attempt
    if (attempt)
      await conclude(
        history,
        order,
        fate,
        await verifyAttempt(app, { payment: view.payment, attempt }, 'resolver'),
      )
  })
}

async function conclude(history: History, order: Order, fate: Fate, current: PaidAttempt): Promise<void> {
  const { app } = history
  const { payment, attempt, method } = current
  if (payment.status === 'successful') {
    if (payment.linkId !== null) history.uncountedAtMs = app.clock.now().getTime()
    if (method) keepCard(history, order, serializeMethod(app, method).recurringToken)
  }
  if (fate.declines > 0 && payment.status === 'pending') {
    const next = { ...fate, declines: fate.declines - 1 }
    later(history, order.seeded.between(65, 170) * SECOND_MS, async () =>
      choose(history, order, next, await requireCheckoutPayment(app, history.merchant, payment.reference)),
    )
    return
  }
  await startAftermath(history, order, fate.aftermath, { payment, attempt })
}

function keepCard({ cards }: History, { market, person }: Order, recurringToken: string | null): void {
  const known = cards.get(market.currency) ?? []
  cards.set(market.currency, known)
  if (
    recurringToken !== null &&
    !known.some((card) => card.person === person || card.recurringToken === recurringToken)
  )
    known.push({ person, recurringToken })
}

/** Checkouts that end unpaid expire. The time may have been extended, while the payer was acting. */
function scheduleExpiry(history: History, order: Order, fate: Fate, payment: PaymentRow): void {
  if (payment.expiresAt === null || (fate.end === 'pays' && fate.declines === 0)) return
  const { app, schedule } = history
  schedule.add(payment.expiresAt.getTime() + 2 * SECOND_MS, null, async () => {
    const { payment: current } = await requireCheckoutPayment(app, history.merchant, payment.reference)
    if (!isOpen(current.status)) return
    if (isOver(history, current)) await expireCheckout(app, current)
    else scheduleExpiry(history, order, fate, current)
  })
}
