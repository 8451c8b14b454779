// Opening checkouts, and everything that payers do there.

import assert from 'node:assert/strict'
import { createPayer } from '../../support/payer.ts'
import { expectedOf, INSTRUMENT_NAMES } from './instruments.ts'
import { isCollected, isOver, type Payment, placesOf, type Shop, type Status, toMajor } from './model.ts'
import {
  addPayment,
  CHECKOUT_CURRENCIES,
  type Command,
  collect,
  drawMinor,
  drawPayment,
  drawPerson,
  isBlocked,
  isSteady,
  isSteadyLink,
  newName,
  rememberMethod,
  requireAsBelieved,
  type Shown,
  touch,
} from './turns.ts'
import { ask, judge, note, type Turn } from './world.ts'

const INITIATE = '/api/v1/checkout/initiate-payment'

/** Once, or several times at the same moment: one payment all the same. */
async function initiate(turn: Turn): Promise<void> {
  const { shop, chance, world } = turn
  const currency = chance.pick(CHECKOUT_CURRENCIES) ?? 'KES'
  const minor = drawMinor(chance, currency)
  const customer = drawPerson(turn)
  const body = {
    amount: toMajor(minor, currency),
    currency,
    reference: newName('order'),
    customer,
    ...(currency === 'XOF' && { country: 'SN' }),
  }
  const key = chance.happens(0.3) ? newName('key') : undefined
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  const copies = chance.happens(0.1) ? 3 : 1
  const predicted = isBlocked(shop, customer.email) ? '422 customer_blocked' : '201 pending'
  const answers = await Promise.all(
    Array.from({ length: copies }, () => ask(turn, 'POST', INITIATE, body, headers)),
  )
  for (const answer of answers) judge(turn, answer, predicted, ['201 pending', '422 customer_blocked'])
  const made = answers.filter(({ http }) => http === 201)
  const [first] = made
  if (!first) return
  assert.equal(new Set(made.map((one) => one.body.data.uuid)).size, 1, 'one reference is one payment')
  const fresh = made.filter((one) => one.headers.get('idempotent-replayed') === null)
  assert.equal(fresh.length, 1, 'one of them made it')
  const payment = addPayment(turn, first.body.data, {
    kind: 'checkout',
    currency,
    minor,
    email: customer.email,
  })
  shop.sent.push({ path: INITIATE, body, key, uuid: payment.uuid, at: world.clock.now().getTime() })
}

/** One checkout takes five attempts; the fifth decline is the last. */
const MOST_ATTEMPTS = 5

interface Foresight {
  told: string
  change: Partial<Payment>
}

/** What playing the payer with this instrument comes to. */
function foresee(shop: Shop, payment: Payment, instrument: string, now: number): Foresight {
  const { channel } = expectedOf(instrument)
  const { status, openChannel, attempts } = payment
  if (payment.kind === 'charge') return { told: '404 payment_not_found', change: {} }
  if (status === 'processing' && openChannel === channel) return foreseeEnd(instrument, attempts)
  const isLeft = status === 'processing' && openChannel !== null
  if (isLeft && attempts >= MOST_ATTEMPTS)
    return { told: '409 invalid_state', change: { status: 'failed', openChannel: null } }
  if (!isLeft && status !== 'pending') return { told: '409 invalid_state', change: {} }
  const change: Partial<Payment> = { status: 'pending', openChannel: null }
  const refusal = refusalOf(shop, { ...payment, ...change }, now)
  // Who comes when all have paid is not kept waiting.
  if (refusal === LINK_ENDED) return { told: refusal, change: { ...change, status: 'expired' } }
  if (refusal) return { told: refusal, change }
  const end = foreseeEnd(instrument, attempts + 1)
  return { told: end.told, change: { ...change, ...end.change } }
}

const LINK_ENDED = '409 payment_link_ended'

function refusalOf(shop: Shop, payment: Payment, now: number): string | undefined {
  const { link, customer, expiresAt } = payment
  if (expiresAt !== null && expiresAt <= now) return '409 invalid_state'
  if (customer.isBlocked) return '422 customer_blocked'
  if (!link) return undefined
  if (isOver(link, now)) return LINK_ENDED
  const { paid, held } = placesOf(shop, link)
  // The place of an attempt that is left open is given back before another is begun.
  const ownHeld = shop.payments.some((one) => one.uuid === payment.uuid && one.status === 'processing')
  if (link.maxPayments === null || paid + held - (ownHeld ? 1 : 0) < link.maxPayments) return undefined
  return paid >= link.maxPayments ? LINK_ENDED : '409 payment_link_busy'
}

function foreseeEnd(instrument: string, attempts: number): Foresight {
  const common = { attempts, openChannel: null }
  const become = (status: Status, more: Partial<Payment> = {}) => ({
    told: `200 ${status}`,
    change: { ...common, status, ...more },
  })
  switch (expectedOf(instrument).checkout) {
    case 'pays':
    case 'pays late':
      return become('successful', { instrument })
    case 'pays less':
      return become('processing', { isMismatched: true })
    case 'declines':
      return become(attempts >= MOST_ATTEMPTS ? 'failed' : 'pending')
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
]

const isPlayable = (turn: Turn) => (payment: Payment) =>
  payment.transfer === null && isSteady(turn, payment) && (!payment.link || isSteadyLink(turn, payment.link))

async function complete(turn: Turn): Promise<void> {
  const { chance } = turn
  const isOpen = (payment: Payment) =>
    isPlayable(turn)(payment) && (payment.status === 'pending' || payment.openChannel !== null)
  // Mostly what can be paid; now and then what cannot.
  const payment = drawPayment(turn, chance.happens(0.9) ? isOpen : isPlayable(turn))
  if (!payment) return initiate(turn)
  const isPaying = chance.happens(0.6)
  const instrument = isPaying
    ? chance.pick(INSTRUMENT_NAMES.filter((name) => expectedOf(name).checkout === 'pays'))
    : chance.pick(INSTRUMENT_NAMES)
  if (instrument) await play(turn, payment, instrument)
}

const RUSH = 4

/** The same checkout is paid in several ways at once. */
async function rush(turn: Turn): Promise<void> {
  const isOpen = (payment: Payment) => isPlayable(turn)(payment) && payment.status === 'pending'
  const payment = drawPayment(turn, isOpen)
  if (!payment) return initiate(turn)
  turn.world.operations += RUSH - 1
  const turns = Array.from({ length: RUSH }, () => ({ ...turn, chance: turn.chance.branch() }))
  await Promise.all(turns.map((one) => play(one, payment, one.chance.pick(INSTRUMENT_NAMES) ?? '')))
}

export async function play(turn: Turn, payment: Payment, instrument: string): Promise<void> {
  const { shop, world, isCalm } = turn
  const from = world.clock.now().getTime()
  const { told, change } = foresee(shop, payment, instrument, from)
  if (!isCalm) touch(turn, payment)
  const path = `/api/v1/sandbox/payments/${payment.reference}/complete`
  const answer = await ask(turn, 'POST', path, { instrument })
  judge(turn, answer, told, COMPLETED)
  if (!isCalm) return
  const wasCollected = isCollected(payment)
  const isElsewhere = payment.openChannel !== expectedOf(instrument).channel
  if (payment.link && payment.openChannel !== null && isElsewhere) shop.contested.add(payment.link)
  Object.assign(payment, change)
  if (answer.http !== 200) return
  noteShown(turn, payment, answer.body.data)
  if (isCollected(payment) && !wasCollected) collect(turn, payment, from)
}

/** What only an answer can tell: when it is over, and what was saved. */
function noteShown(turn: Turn, payment: Payment, shown: Shown): void {
  payment.expiresAt = shown.expiresAt ? Date.parse(shown.expiresAt) : null
  requireAsBelieved(payment, shown)
  const canBeSaved = payment.instrument !== null && expectedOf(payment.instrument).again !== null
  if (isCollected(payment) && canBeSaved) rememberMethod(turn, payment, shown.paymentMethod)
}

async function verify(turn: Turn): Promise<void> {
  const payment = drawPayment(turn, (one) => isSteady(turn, one))
  if (!payment) return initiate(turn)
  const path = `/api/v1/checkout/verify-payment?reference=${payment.reference}`
  const answer = await ask(turn, 'GET', path)
  judge(
    turn,
    answer,
    `200 ${payment.status}`,
    COMPLETED.filter((told) => told.startsWith('200')),
  )
  if (turn.isCalm) requireAsBelieved(payment, answer.body.data)
}

/** The payer goes to the card's page, and away. */
async function leave(turn: Turn): Promise<void> {
  const { shop, world, isCalm } = turn
  const isFresh = (one: Payment) =>
    isPlayable(turn)(one) && one.status === 'pending' && one.kind === 'checkout'
  const payment = drawPayment(turn, isFresh)
  if (!payment?.checkoutUrl) return initiate(turn)
  const refusal = refusalOf(shop, payment, world.clock.now().getTime())
  if (!isCalm) touch(turn, payment)
  const payer = createPayer()
  const page = await payer.open(payment.checkoutUrl)
  assert.ok(page.http < 500, page.html)
  const isOffered = page.html.includes('/attempts"')
  const next = isOffered ? await payer.choose(page, 'card') : page
  note(turn, `${payment.reference} leaves ${isOffered ? 'for the card page' : 'at once'}: ${next.http}`)
  assert.ok(next.http < 500, next.html)
  if (!isCalm) return
  if (!refusal)
    Object.assign(payment, { status: 'processing', attempts: payment.attempts + 1, openChannel: 'card' })
  await requireRead(turn, payment)
}

/** The payer cancels, whether or not an attempt is open. */
async function abandon(turn: Turn): Promise<void> {
  const { isCalm } = turn
  const isOpen = (one: Payment) =>
    isPlayable(turn)(one) && (one.status === 'pending' || one.openChannel !== null)
  const payment = drawPayment(turn, isOpen)
  if (!payment?.checkoutUrl) return initiate(turn)
  if (!isCalm) touch(turn, payment)
  const payer = createPayer()
  const page = await payer.open(payment.checkoutUrl)
  assert.ok(page.http < 500, page.html)
  const isOffered = page.html.includes('/cancel"')
  const next = isOffered ? await payer.postForm(page, '/cancel') : page
  note(turn, `${payment.reference} ${isOffered ? 'cancels' : 'cannot cancel'}: ${next.http}`)
  assert.ok(next.http < 500, next.html)
  if (!isCalm) return
  const hasUsedAll = payment.openChannel !== null && payment.attempts >= MOST_ATTEMPTS
  if (isOffered) Object.assign(payment, { status: hasUsedAll ? 'failed' : 'abandoned', openChannel: null })
  await requireRead(turn, payment)
}

async function requireRead(turn: Turn, payment: Payment): Promise<void> {
  const answer = await ask(turn, 'GET', `/api/v1/checkout/payments/${payment.uuid}`)
  judge(turn, answer, `200 ${payment.status}`)
  noteShown(turn, payment, answer.body.data)
}

export const CHECKOUT_COMMANDS: readonly Command[] = [
  { name: 'initiate', weight: 20, run: initiate },
  { name: 'complete', weight: 24, run: complete },
  { name: 'rush', weight: 2, run: rush, only: 'storm' },
  { name: 'verify', weight: 5, run: verify },
  { name: 'leave', weight: 2, run: leave },
  { name: 'abandon', weight: 1, run: abandon },
]
