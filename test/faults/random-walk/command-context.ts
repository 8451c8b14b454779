// Shared parts of commands: they draw their subjects, send requests and record the results.

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
  /**
   * Sequential: its outcome could not be predicted otherwise. Concurrent: it is a race by itself. Absent: in any phase.
   */
  only?: 'sequential' | 'concurrent'
  run(context: CommandContext): Promise<void>
}

// The number of recent records that commands choose from: few for collisions, more otherwise.
const WINDOW = { sequential: 40, concurrent: 6 }
const MAX_DRAWS = 30

/** A record that matches, newer ones more often; undefined when none was found in a few draws. */
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

/** In sequential phases only payments whose state the model knows completely. */
export function drawPayment(
  context: CommandContext,
  fits: (payment: Payment) => boolean,
): Payment | undefined {
  const { shop, isSequential } = context
  return draw(context, shop.payments, (one) => !(isSequential && shop.uncertain.has(one)) && fits(one))
}

// A dozen customers for each shop: enough to be distinct, few enough to be used again.
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

/** A name that was not used before. */
export function newName(kind: string): string {
  names += 1
  return `${kind}-${names}`
}

/** Far enough from its expiry that the model can predict the response. */
export function isFarFromExpiry(
  { world }: CommandContext,
  { expiresAt }: { expiresAt: number | null },
): boolean {
  if (expiresAt === null) return true
  const left = expiresAt - world.clock.now().getTime()
  return left > 60_000 || left < -30_000
}

/** In sequential phases only a link whose slots the model knows completely. */
export function isPredictableLink(context: CommandContext, link: Link): boolean {
  return isFarFromExpiry(context, link) && !(context.isSequential && context.shop.contested.has(link))
}

export function findCustomer(shop: Shop, email: string): Customer | undefined {
  return [...shop.customers.values()].find((one) => one.email === email)
}

export function isBlocked(shop: Shop, email: string): boolean {
  return findCustomer(shop, email)?.isBlocked ?? false
}

/** The customer in a response, who is new when the e-mail is unknown. */
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

/** A new payment, from a response. */
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
    isCancelled: false,
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

/** A payment was paid since `from`: credits the wallet, and saves the method of a card. */
export function creditBalance(context: CommandContext, payment: Payment, from: number): void {
  const { minor, currency } = payment
  const net = minor - feeOf(minor, currency)
  addPending(modelBalanceOf(context.shop, currency), payment, net, from, context.world.clock.now().getTime())
}

/** After concurrent requests the state is read when they are over. */
export function markUncertain({ shop }: CommandContext, payment: Payment): void {
  shop.uncertain.add(payment)
  modelBalanceOf(shop, payment.currency).isExact = false
}

/** Asserts that the record agrees with the model. */
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

/** The saved method of a payment by card: the existing one, or a new one. */
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
  if (isSequential) assert.equal(known, kept, 'the same card is one method, and a revoked one stays revoked')
  if (!known) shop.methods.push({ uuid, token, customer, instrument, email, isRevoked: false })
}
