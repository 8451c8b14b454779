// Opens checkouts, and acts as their payers.

import assert from 'node:assert/strict'
import { createPayer } from '../../support/payer.ts'
import {
  type ApiRecord,
  addPayment,
  assertMatchesModel,
  CHECKOUT_CURRENCIES,
  type Command,
  creditBalance,
  drawMinor,
  drawPayment,
  drawPerson,
  isBlocked,
  isFarFromExpiry,
  isPredictableLink,
  markUncertain,
  newName,
  recordMethod,
} from './command-context.ts'
import { expectedOf, INSTRUMENT_NAMES } from './instruments.ts'
import { isCollected, isOver, type Payment, type Shop, type Status, slotsOf, toMajor } from './model.ts'
import { assertPredicted, type CommandContext, logRequest, sendRequest } from './world.ts'

const INITIATE = '/api/v1/checkout/initiate-payment'

/** Sends the request once or several times at once: one payment in any case. */
async function initiate(context: CommandContext): Promise<void> {
  const { shop, prng, world } = context
  const currency = prng.pick(CHECKOUT_CURRENCIES) ?? 'KES'
  const minor = drawMinor(prng, currency)
  const customer = drawPerson(context)
  const body = {
    amount: toMajor(minor, currency),
    currency,
    reference: newName('order'),
    customer,
    ...(currency === 'XOF' && { country: 'SN' }),
  }
  const key = prng.nextBool(0.3) ? newName('key') : undefined
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  const copies = prng.nextBool(0.1) ? 3 : 1
  const predicted = isBlocked(shop, customer.email) ? '422 customer_blocked' : '201 pending'
  const answers = await Promise.all(
    Array.from({ length: copies }, () => sendRequest(context, 'POST', INITIATE, body, headers)),
  )
  for (const answer of answers)
    assertPredicted(context, answer, predicted, ['201 pending', '422 customer_blocked'])
  const made = answers.filter(({ http }) => http === 201)
  const [first] = made
  if (!first) return
  assert.equal(new Set(made.map((one) => one.body.data.uuid)).size, 1, 'one reference is one payment')
  const fresh = made.filter((one) => one.headers.get('idempotent-replayed') === null)
  assert.equal(fresh.length, 1, 'exactly one request created it')
  const payment = addPayment(context, first.body.data, {
    kind: 'checkout',
    currency,
    minor,
    email: customer.email,
  })
  shop.sent.push({ path: INITIATE, body, key, uuid: payment.uuid, at: world.clock.now().getTime() })
}

/** A checkout has five attempts; the fifth decline fails it. */
const MAX_ATTEMPTS = 5

interface Prediction {
  expected: string
  change: Partial<Payment>
}

/** The expected result of completing a payment with this instrument. */
function predict(shop: Shop, payment: Payment, instrument: string, now: number): Prediction {
  const { channel } = expectedOf(instrument)
  const { status, openChannel, attempts } = payment
  if (payment.kind === 'charge') return { expected: '404 payment_not_found', change: {} }
  if (status === 'processing' && openChannel === channel) return predictOutcome(instrument, attempts)
  const isLeft = status === 'processing' && openChannel !== null
  if (isLeft && attempts >= MAX_ATTEMPTS)
    return { expected: '409 invalid_state', change: { status: 'failed', openChannel: null } }
  if (!isLeft && status !== 'pending') return { expected: '409 invalid_state', change: {} }
  const change: Partial<Payment> = { status: 'pending', openChannel: null }
  const rejection = rejectionOf(shop, { ...payment, ...change }, now)
  // A payer at a link without free slots is rejected at once.
  if (rejection === LINK_ENDED)
    return { expected: rejection, change: { ...change, status: 'expired', isCancelled: false } }
  if (rejection) return { expected: rejection, change }
  const end = predictOutcome(instrument, attempts + 1)
  return { expected: end.expected, change: { ...change, ...end.change } }
}

const LINK_ENDED = '409 payment_link_ended'

function rejectionOf(shop: Shop, payment: Payment, now: number): string | undefined {
  const { link, customer, expiresAt } = payment
  if (expiresAt !== null && expiresAt <= now) return '409 invalid_state'
  if (customer.isBlocked) return '422 customer_blocked'
  if (!link) return undefined
  if (isOver(link, now)) return LINK_ENDED
  const { paid, reserved } = slotsOf(shop, link)
  // The slot of an open attempt is released before another attempt starts.
  const ownReserved = shop.payments.some((one) => one.uuid === payment.uuid && one.status === 'processing')
  if (link.maxPayments === null || paid + reserved - (ownReserved ? 1 : 0) < link.maxPayments)
    return undefined
  return paid >= link.maxPayments ? LINK_ENDED : '409 payment_link_busy'
}

function predictOutcome(instrument: string, attempts: number): Prediction {
  const common = { attempts, openChannel: null, isCancelled: false }
  const become = (status: Status, more: Partial<Payment> = {}) => ({
    expected: `200 ${status}`,
    change: { ...common, status, ...more },
  })
  switch (expectedOf(instrument).checkout) {
    case 'pays':
    case 'pays late':
      return become('successful', { instrument })
    case 'pays less':
      return become('processing', { isMismatched: true })
    case 'declines':
      return become(attempts >= MAX_ATTEMPTS ? 'failed' : 'pending')
  }
}

const COMPLETED = [
  '200 successful',
  '200 pending',
  '200 processing',
  '200 failed',
  '200 abandoned',
  '200 expired',
  '200 partially_refunded',
  '200 refunded',
  '200 disputed',
  '200 reversed',
  '409 invalid_state',
  '409 payment_link_busy',
  LINK_ENDED,
  '422 customer_blocked',
  // A prompt of a concurrent request may still be on the phone.
  '429 rate_limited',
]

/** Payments in SSP go directly to the merchant. */
const isCompletable = (context: CommandContext) => (payment: Payment) =>
  payment.currency !== 'SSP' &&
  isFarFromExpiry(context, payment) &&
  (!payment.link || isPredictableLink(context, payment.link))

async function complete(context: CommandContext): Promise<void> {
  const { prng } = context
  const isOpen = (payment: Payment) =>
    isCompletable(context)(payment) && (payment.status === 'pending' || payment.openChannel !== null)
  // Usually a payment that can be completed; sometimes another.
  const payment = drawPayment(context, prng.nextBool(0.9) ? isOpen : isCompletable(context))
  if (!payment) return initiate(context)
  const isPaying = prng.nextBool(0.6)
  const instrument = isPaying
    ? prng.pick(INSTRUMENT_NAMES.filter((name) => expectedOf(name).checkout === 'pays'))
    : prng.pick(INSTRUMENT_NAMES)
  if (instrument) await completeWith(context, payment, instrument)
}

const CONCURRENT_COMPLETIONS = 4

/** Completes the same checkout in several ways at once. */
async function completeConcurrently(context: CommandContext): Promise<void> {
  const isOpen = (payment: Payment) => isCompletable(context)(payment) && payment.status === 'pending'
  const payment = drawPayment(context, isOpen)
  if (!payment) return initiate(context)
  context.world.operations += CONCURRENT_COMPLETIONS - 1
  const contexts = Array.from({ length: CONCURRENT_COMPLETIONS }, () => ({
    ...context,
    prng: context.prng.fork(),
  }))
  await Promise.all(contexts.map((one) => completeWith(one, payment, one.prng.pick(INSTRUMENT_NAMES) ?? '')))
}

export async function completeWith(
  context: CommandContext,
  payment: Payment,
  instrument: string,
): Promise<void> {
  const { shop, world, isSequential } = context
  const from = world.clock.now().getTime()
  const { expected, change } = predict(shop, payment, instrument, from)
  if (!isSequential) markUncertain(context, payment)
  const path = `/api/v1/sandbox/payments/${payment.reference}/complete`
  const answer = await sendRequest(context, 'POST', path, { instrument })
  assertPredicted(context, answer, expected, COMPLETED)
  if (!isSequential) return
  const wasCollected = isCollected(payment)
  const isElsewhere = payment.openChannel !== expectedOf(instrument).channel
  const hasSwitched = payment.openChannel !== null && isElsewhere
  Object.assign(payment, change)
  const isDeclined = answer.http === 200 && payment.status === 'pending'
  if (payment.link && (hasSwitched || isDeclined)) shop.contested.add(payment.link)
  if (answer.http !== 200) return
  applyRecord(context, payment, answer.body.data)
  if (isCollected(payment) && !wasCollected) creditBalance(context, payment, from)
}

/** Takes values that only the response has: when it was paid, and which method was saved. */
function applyRecord(context: CommandContext, payment: Payment, shown: ApiRecord): void {
  payment.expiresAt = shown.expiresAt ? Date.parse(shown.expiresAt) : null
  assert.equal(shown.statusReason === 'customer_cancelled' && shown.status === 'pending', payment.isCancelled)
  assertMatchesModel(payment, shown)
  const canBeSaved = payment.instrument !== null && expectedOf(payment.instrument).recurringCharge !== null
  if (isCollected(payment) && canBeSaved) recordMethod(context, payment, shown.paymentMethod)
}

async function verify(context: CommandContext): Promise<void> {
  const payment = drawPayment(context, (one) => isFarFromExpiry(context, one))
  if (!payment) return initiate(context)
  const path = `/api/v1/checkout/verify-payment?reference=${payment.reference}`
  const answer = await sendRequest(context, 'GET', path)
  assertPredicted(
    context,
    answer,
    `200 ${payment.status}`,
    COMPLETED.filter((expected) => expected.startsWith('200')),
  )
  if (context.isSequential) assertMatchesModel(payment, answer.body.data)
}

/** The payer opens the card page, and leaves it. */
async function openCardPage(context: CommandContext): Promise<void> {
  const { shop, world, isSequential } = context
  const isFresh = (one: Payment) =>
    isCompletable(context)(one) && one.status === 'pending' && one.kind === 'checkout'
  const payment = drawPayment(context, isFresh)
  if (!payment?.checkoutUrl) return initiate(context)
  const rejection = rejectionOf(shop, payment, world.clock.now().getTime())
  if (!isSequential) markUncertain(context, payment)
  const payer = createPayer()
  const opened = await payer.open(payment.checkoutUrl)
  assert.ok(opened.http < 500, opened.html)
  const page = opened.html.includes('/resume"') ? await payer.submit(opened, '/resume') : opened
  const isOffered = page.html.includes('/attempts"')
  const next = isOffered ? await payer.choose(page, 'card') : page
  logRequest(
    context,
    `${payment.reference} leaves ${isOffered ? 'for the card page' : 'at once'}: ${next.http}`,
  )
  assert.ok(next.http < 500, next.html)
  if (!isSequential) return
  payment.isCancelled = false
  if (!rejection)
    Object.assign(payment, { status: 'processing', attempts: payment.attempts + 1, openChannel: 'card' })
  await assertRead(context, payment)
}

/** The payer cancels, with or without an open attempt. */
async function abandon(context: CommandContext): Promise<void> {
  const { shop, isSequential } = context
  const isOpen = (one: Payment) =>
    isCompletable(context)(one) && (one.status === 'pending' || one.openChannel !== null)
  const payment = drawPayment(context, isOpen)
  if (!payment?.checkoutUrl) return initiate(context)
  if (!isSequential) markUncertain(context, payment)
  const payer = createPayer()
  const page = await payer.open(payment.checkoutUrl)
  assert.ok(page.http < 500, page.html)
  const isOffered = page.html.includes('/cancel"')
  const next = isOffered ? await payer.postForm(page, '/cancel') : page
  logRequest(context, `${payment.reference} ${isOffered ? 'cancels' : 'cannot cancel'}: ${next.http}`)
  assert.ok(next.http < 500, next.html)
  if (!isSequential) return
  const hadAttempt = payment.openChannel !== null
  const hasUsedAll = hadAttempt && payment.attempts >= MAX_ATTEMPTS
  // A payer who has cancelled can still pay.
  if (isOffered) {
    const status = hasUsedAll ? 'failed' : 'pending'
    Object.assign(payment, { status, openChannel: null, isCancelled: !hasUsedAll })
    if (payment.link && hadAttempt) shop.contested.add(payment.link)
  }
  await assertRead(context, payment)
}

async function assertRead(context: CommandContext, payment: Payment): Promise<void> {
  const answer = await sendRequest(context, 'GET', `/api/v1/checkout/payments/${payment.uuid}`)
  assertPredicted(context, answer, `200 ${payment.status}`)
  applyRecord(context, payment, answer.body.data)
}

export const CHECKOUT_COMMANDS: readonly Command[] = [
  { name: 'initiate', weight: 20, run: initiate },
  { name: 'complete', weight: 24, run: complete },
  { name: 'complete-concurrently', weight: 2, run: completeConcurrently, only: 'concurrent' },
  { name: 'verify', weight: 5, run: verify },
  { name: 'open-card-page', weight: 2, run: openCardPage },
  { name: 'abandon', weight: 1, run: abandon },
]
