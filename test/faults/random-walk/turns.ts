// What commands have in common: they draw whom and what they are about, and write down what became of it.

import assert from 'node:assert/strict'
import type { Chance } from './chance.ts'
import {
  type Customer,
  DECIMALS,
  feeOf,
  isCollected,
  type Link,
  type Method,
  type ModelCurrency,
  type Payment,
  purseOf,
  readMinor,
  refundedMinor,
  type Shop,
} from './model.ts'
import { putIn } from './purse.ts'
import type { Turn } from './world.ts'

export interface Command {
  name: string
  weight: number
  /** Calm: its outcome could not be told apart otherwise. Storm: it is one by itself. Absent: at any time. */
  only?: 'calm' | 'storm'
  run(turn: Turn): Promise<void>
}

// What several commands meet at, and what is still fresh: few when things are to collide, more otherwise.
const WINDOW = { calm: 40, storm: 6 }
const TRIES = 30

/** One of them that fits, the newest more often; undefined when none was found soon enough. */
export function draw<Value>(
  { chance, isCalm }: Pick<Turn, 'chance' | 'isCalm'>,
  values: readonly Value[],
  fits: (value: Value) => boolean = () => true,
): Value | undefined {
  const window = isCalm ? WINDOW.calm : WINDOW.storm
  for (let tries = 0; tries < TRIES && values.length > 0; tries += 1) {
    const isFresh = chance.happens(0.75)
    const index = isFresh
      ? Math.max(0, values.length - 1 - chance.below(window + tries))
      : chance.below(values.length)
    const value = values[index]
    if (value !== undefined && fits(value)) return value
  }
  return undefined
}

/** In calm times only such payments of which the model knows everything. */
export function drawPayment(turn: Turn, fits: (payment: Payment) => boolean): Payment | undefined {
  const { shop, isCalm } = turn
  return draw(turn, shop.payments, (one) => !(isCalm && shop.touched.has(one)) && fits(one))
}

// A dozen people for each shop: enough to be told apart, few enough that they come back.
const PEOPLE = 12

export function drawPerson({ chance, shop }: Turn) {
  const number = chance.below(PEOPLE)
  return { email: `payer${number}@${shop.name}.example`, firstname: 'Amina', lastname: `Payer ${number}` }
}

export const CHECKOUT_CURRENCIES: readonly ModelCurrency[] = ['KES', 'NGN', 'XOF']

export function drawMinor(chance: Chance, currency: ModelCurrency): bigint {
  const most = chance.happens(0.1) ? 10_000_000 : 50_000
  return BigInt(20 + chance.below(most)) * (DECIMALS[currency] === 0 ? 1n : BigInt(1 + chance.below(3)))
}

let names = 0

/** A name that nobody has used before. */
export function newName(kind: string): string {
  names += 1
  return `${kind}-${names}`
}

/** Far enough from the end of its time for the model to know on which side of it a request will fall. */
export function isSteady({ world }: Turn, { expiresAt }: { expiresAt: number | null }): boolean {
  if (expiresAt === null) return true
  const left = expiresAt - world.clock.now().getTime()
  return left > 60_000 || left < -30_000
}

/** In calm times only a link of which the model knows all places. */
export function isSteadyLink(turn: Turn, link: Link): boolean {
  return isSteady(turn, link) && !(turn.isCalm && turn.shop.contested.has(link))
}

export function findCustomer(shop: Shop, email: string): Customer | undefined {
  return [...shop.customers.values()].find((one) => one.email === email)
}

export function isBlocked(shop: Shop, email: string): boolean {
  return findCustomer(shop, email)?.isBlocked ?? false
}

/** The customer that an answer names, who is new when nobody has this e-mail. */
export function meet({ shop, isCalm }: Turn, { uuid, email }: { uuid: string; email: string }): Customer {
  const known = shop.customers.get(uuid)
  if (isCalm) assert.equal(known, findCustomer(shop, email), 'a customer is known by the e-mail')
  const customer = known ?? { uuid, email, isBlocked: false }
  shop.customers.set(uuid, customer)
  return customer
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
export type Shown = any

/** A payment that has just been made, as an answer shows it. */
export function addPayment(
  turn: Turn,
  shown: Shown,
  facts: Pick<Payment, 'kind' | 'currency' | 'minor' | 'email'> & Partial<Payment>,
): Payment {
  const payment: Payment = {
    uuid: shown.uuid,
    reference: shown.reference,
    status: shown.status,
    customer: meet(turn, { uuid: shown.customer.uuid, email: facts.email }),
    link: null,
    checkoutUrl: shown.checkoutUrl ?? null,
    expiresAt: shown.expiresAt ? Date.parse(shown.expiresAt) : null,
    attempts: 0,
    openChannel: null,
    isMismatched: false,
    instrument: null,
    refunds: [],
    dispute: null,
    heldMinor: 0n,
    lostMinor: 0n,
    transfer: null,
    ...facts,
  }
  turn.shop.payments.push(payment)
  return payment
}

/** A payment has been paid since `from`: the wallet has it, and who paid with a card can be charged again. */
export function collect(turn: Turn, payment: Payment, from: number): void {
  const { minor, currency } = payment
  const net = minor - feeOf(minor, currency)
  putIn(purseOf(turn.shop, currency), payment, net, from, turn.world.clock.now().getTime())
}

/** Things happened at once: what became of it is read when they are over. */
export function touch({ shop }: Turn, payment: Payment): void {
  shop.touched.add(payment)
  purseOf(shop, payment.currency).isExact = false
}

/** The record says what the model believes. */
export function requireAsBelieved(payment: Payment, shown: Shown): void {
  const { currency } = payment
  const paid = isCollected(payment) ? payment.minor : 0n
  const fee = isCollected(payment) && !payment.transfer ? feeOf(payment.minor, currency) : 0n
  const read = (text: string | null) => readMinor(text, currency)
  const told = {
    uuid: shown.uuid,
    status: shown.status,
    amount: read(shown.sourceAmount),
    paid: read(shown.amountPaid),
    fee: read(shown.fee),
    net: read(shown.netAmount),
    refunded: read(shown.refundedAmount),
  }
  const believed = {
    uuid: payment.uuid,
    status: payment.status,
    amount: payment.minor,
    paid,
    fee,
    net: paid - fee,
    refunded: refundedMinor(payment),
  }
  assert.deepEqual(told, believed, `payment ${payment.reference}`)
}

/** The saved method of a payment that was paid with a card: the one that is there already, or a new one. */
export function rememberMethod({ shop, isCalm }: Turn, payment: Payment, shown: Shown): void {
  const { uuid, recurringToken: token } = shown ?? {}
  assert.ok(uuid && token, `${payment.reference} was paid with a card that can be saved`)
  const instrument = payment.instrument ?? ''
  const { customer, email } = payment
  const isSame = (one: Method) =>
    one.customer === customer && one.instrument === instrument && one.email === email && !one.isRevoked
  const kept = shop.methods.find(isSame)
  const known = shop.methods.find((one) => one.uuid === uuid)
  if (isCalm) assert.equal(known, kept, 'the same card is one method, and a revoked one never comes back')
  if (!known) shop.methods.push({ uuid, token, customer, instrument, email, isRevoked: false })
}
