// What commands have in common: they draw whom and what they are about, and write down what became of it.

import assert from 'node:assert/strict'
import { addPending } from './balances.ts'
import {
  type Customer,
  DECIMALS,
  feeOf,
  isCollected,
  type Link,
  type Method,
  type ModelCurrency,
  modelBalanceOf,
  type Payment,
  readMinor,
  refundedMinor,
  type Shop,
} from './model.ts'
import type { Prng } from './prng.ts'
import type { CommandContext } from './world.ts'

export interface Command {
  name: string
  weight: number
  /** Calm: its outcome could not be actual apart otherwise. Storm: it is one by itself. Absent: at any time. */
  only?: 'sequential' | 'concurrent'
  run(context: CommandContext): Promise<void>
}

// What several commands meet at, and what is still fresh: few when things are to collide, more otherwise.
const WINDOW = { sequential: 40, concurrent: 6 }
const MAX_DRAWS = 30

/** One of them that fits, the newest more often; undefined when none was found soon enough. */
export function draw<Value>(
  { prng, isSequential }: Pick<CommandContext, 'prng' | 'isSequential'>,
  values: readonly Value[],
  fits: (value: Value) => boolean = () => true,
): Value | undefined {
  const window = isSequential ? WINDOW.sequential : WINDOW.concurrent
  for (let draws = 0; draws < MAX_DRAWS && values.length > 0; draws += 1) {
    const isFresh = prng.nextBool(0.75)
    const index = isFresh
      ? Math.max(0, values.length - 1 - prng.nextInt(window + draws))
      : prng.nextInt(values.length)
    const value = values[index]
    if (value !== undefined && fits(value)) return value
  }
  return undefined
}

/** In sequential times only such payments of which the model knows everything. */
export function drawPayment(
  context: CommandContext,
  fits: (payment: Payment) => boolean,
): Payment | undefined {
  const { shop, isSequential } = context
  return draw(context, shop.payments, (one) => !(isSequential && shop.uncertain.has(one)) && fits(one))
}

// A dozen people for each shop: enough to be actual apart, few enough that they come back.
const CUSTOMERS_PER_SHOP = 12

export function drawPerson({ prng, shop }: CommandContext) {
  const number = prng.nextInt(CUSTOMERS_PER_SHOP)
  return { email: `payer${number}@${shop.name}.example`, firstname: 'Amina', lastname: `Payer ${number}` }
}

export const CHECKOUT_CURRENCIES: readonly ModelCurrency[] = ['KES', 'NGN', 'XOF']

export function drawMinor(prng: Prng, currency: ModelCurrency): bigint {
  const most = prng.nextBool(0.1) ? 10_000_000 : 50_000
  return BigInt(20 + prng.nextInt(most)) * (DECIMALS[currency] === 0 ? 1n : BigInt(1 + prng.nextInt(3)))
}

let names = 0

/** A name that nobody has used before. */
export function newName(kind: string): string {
  names += 1
  return `${kind}-${names}`
}

/** Far enough from the end of its time for the model to know on which side of it a request will fall. */
export function isFarFromExpiry(
  { world }: CommandContext,
  { expiresAt }: { expiresAt: number | null },
): boolean {
  if (expiresAt === null) return true
  const left = expiresAt - world.clock.now().getTime()
  return left > 60_000 || left < -30_000
}

/** In sequential times only a link of which the model knows all places. */
export function isPredictableLink(context: CommandContext, link: Link): boolean {
  return isFarFromExpiry(context, link) && !(context.isSequential && context.shop.contested.has(link))
}

export function findCustomer(shop: Shop, email: string): Customer | undefined {
  return [...shop.customers.values()].find((one) => one.email === email)
}

export function isBlocked(shop: Shop, email: string): boolean {
  return findCustomer(shop, email)?.isBlocked ?? false
}

/** The customer that an answer names, who is new when nobody has this e-mail. */
export function findOrAddCustomer(
  { shop, isSequential }: CommandContext,
  { uuid, email }: { uuid: string; email: string },
): Customer {
  const known = shop.customers.get(uuid)
  if (isSequential) assert.equal(known, findCustomer(shop, email), 'a customer is known by the e-mail')
  const customer = known ?? { uuid, email, isBlocked: false }
  shop.customers.set(uuid, customer)
  return customer
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
export type ApiRecord = any

/** A payment that has just been made, as an answer shows it. */
export function addPayment(
  context: CommandContext,
  shown: ApiRecord,
  facts: Pick<Payment, 'kind' | 'currency' | 'minor' | 'email'> & Partial<Payment>,
): Payment {
  const payment: Payment = {
    uuid: shown.uuid,
    reference: shown.reference,
    status: shown.status,
    customer: findOrAddCustomer(context, { uuid: shown.customer.uuid, email: facts.email }),
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
  context.shop.payments.push(payment)
  return payment
}

/** A payment has been paid since `from`: the wallet has it, and who paid with a card can be charged again. */
export function creditBalance(context: CommandContext, payment: Payment, from: number): void {
  const { minor, currency } = payment
  const net = minor - feeOf(minor, currency)
  addPending(modelBalanceOf(context.shop, currency), payment, net, from, context.world.clock.now().getTime())
}

/** Things happened at once: what became of it is read when they are over. */
export function markUncertain({ shop }: CommandContext, payment: Payment): void {
  shop.uncertain.add(payment)
  modelBalanceOf(shop, payment.currency).isExact = false
}

/** The record says what the model believes. */
export function assertMatchesModel(payment: Payment, shown: ApiRecord): void {
  const { currency } = payment
  const paid = isCollected(payment) ? payment.minor : 0n
  const fee = isCollected(payment) && !payment.transfer ? feeOf(payment.minor, currency) : 0n
  const read = (text: string | null) => readMinor(text, currency)
  const actual = {
    uuid: shown.uuid,
    status: shown.status,
    amount: read(shown.sourceAmount),
    paid: read(shown.amountPaid),
    fee: read(shown.fee),
    net: read(shown.netAmount),
    refunded: read(shown.refundedAmount),
  }
  const expected = {
    uuid: payment.uuid,
    status: payment.status,
    amount: payment.minor,
    paid,
    fee,
    net: paid - fee,
    refunded: refundedMinor(payment),
  }
  assert.deepEqual(actual, expected, `payment ${payment.reference}`)
}

/** The saved method of a payment that was paid with a card: the one that is there already, or a new one. */
export function recordMethod(
  { shop, isSequential }: CommandContext,
  payment: Payment,
  shown: ApiRecord,
): void {
  const { uuid, recurringToken: token } = shown ?? {}
  assert.ok(uuid && token, `${payment.reference} was paid with a card that can be saved`)
  const instrument = payment.instrument ?? ''
  const { customer, email } = payment
  const isSame = (one: Method) =>
    one.customer === customer && one.instrument === instrument && one.email === email && !one.isRevoked
  const kept = shop.methods.find(isSame)
  const known = shop.methods.find((one) => one.uuid === uuid)
  if (isSequential)
    assert.equal(known, kept, 'the same card is one method, and a revoked one never comes back')
  if (!known) shop.methods.push({ uuid, token, customer, instrument, email, isRevoked: false })
}
