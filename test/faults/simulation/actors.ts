// The actors of the simulated world. Merchants retry until they get a response, several at once, always with the same
// request; payers submit twice, leave, come back, pay late or on two pages.

import { chargeSavedMethod } from '../../../src/charges/charge.ts'
import type { ChargeInput } from '../../../src/charges/input.ts'
import { cancelPayment } from '../../../src/checkout/cancel.ts'
import { initiatePayment } from '../../../src/checkout/initiate.ts'
import { cancelAttempt, cancelCheckout, refreshCheckout } from '../../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../../src/checkout/start-attempt.ts'
import { type CheckoutView, requireCheckout } from '../../../src/checkout/view.ts'
import type { Merchant } from '../../../src/core/merchant.ts'
import { money } from '../../../src/core/money.ts'
import { checkStatus } from '../../../src/outcomes/status-check.ts'
import { requirePayment } from '../../../src/payments/find.ts'
import type { PaymentRow } from '../../../src/payments/payment.ts'
import { openAccessCode } from '../../../src/payments/views.ts'
import { requestRefund } from '../../../src/refunds/request.ts'
import type { Dispatcher, Reply } from './dispatcher.ts'
import type { InvariantChecker } from './invariants.ts'
import type { Machine } from './machine.ts'
import type { Provider } from './provider.ts'
import type { Sim } from './sim.ts'

export interface World {
  sim: Sim
  machines: readonly Machine[]
  providers: readonly Provider[]
  dispatcher: Dispatcher
  invariants: InvariantChecker
  merchant: Merchant
  /** Customers with a saved method: their e-mail and token. */
  returningCustomers: readonly { email: string; recurringToken: string }[]
}

const AMOUNT_MINOR = 10_000n

const pause = ({ sim }: World, ms: number) =>
  new Promise<void>((resolve) => sim.scheduler.after(ms, 'pause', resolve))

function anyMachine({ sim, machines }: World): Machine {
  return sim.prng.pick(machines)
}

// Without faults the first or second attempt gets a response.
const MAX_FAULT_FREE_ATTEMPTS = 12

/** Retries until it gets a response. Undefined when the request is rejected. */
async function retryUntilAnswered<Value>(
  world: World,
  label: string,
  work: (machine: Machine) => Promise<Value>,
): Promise<Value | undefined> {
  const { sim, dispatcher } = world
  for (
    let faultFreeAttempts = 0;
    faultFreeAttempts < MAX_FAULT_FREE_ATTEMPTS;
    faultFreeAttempts += sim.isFaultFree() ? 1 : 0
  ) {
    const reply: Reply<Value> = await dispatcher.call(anyMachine(world), label, work)
    if (reply.kind === 'answered') return reply.value
    if (reply.kind === 'refused') return undefined
    await pause(world, sim.prng.between(100, 4_000))
  }
  sim.reportViolation(`${label} gets no response although all faults have ended`)
  return undefined
}

/** The number of equal concurrent requests. */
const concurrentCopies = ({ sim }: World) => (sim.prng.nextBool(0.4) ? 2 + sim.prng.nextInt(2) : 1)

export async function chargeReturningCustomer(world: World, number: number): Promise<void> {
  const { sim, invariants, merchant } = world
  const { email, recurringToken } = sim.prng.pick(world.returningCustomers)
  const input = { ...inputOf(number, email), recurringToken }
  const key = sim.prng.nextBool(0.5) ? `key-${number}` : null
  const ask = async () => {
    const recorded = await retryUntilAnswered(world, `charge ${number}`, ({ app }) =>
      chargeSavedMethod(app, merchant, input, key),
    )
    if (recorded) invariants.observePayment(recorded.payment)
    return recorded?.payment
  }
  if (sim.prng.nextBool(0.1)) void reuseReference(world, input, `other-${number}`)
  const [payment] = await Promise.all(Array.from({ length: concurrentCopies(world) }, ask))
  if (payment) await verifyAndRefund(world, payment)
}

/** The same reference with another body: one of the two is rejected. */
async function reuseReference(world: World, input: ChargeInput, key: string): Promise<void> {
  const { invariants, merchant } = world
  const more = { ...input, amount: money(AMOUNT_MINOR + 1n, 'KES') }
  const recorded = await retryUntilAnswered(world, 'another charge', ({ app }) =>
    chargeSavedMethod(app, merchant, more, key),
  )
  if (recorded) invariants.observePayment(recorded.payment)
}

function inputOf(number: number, email: string) {
  return {
    reference: `ref-${number}`,
    amount: money(AMOUNT_MINOR, 'KES'),
    description: null,
    metadata: {},
    customer: { email, firstname: 'Amina', lastname: 'Odhiambo', country: null },
  }
}

/** The merchant reads the payment, and may refund it. */
async function verifyAndRefund(world: World, payment: PaymentRow): Promise<void> {
  const { sim, invariants, merchant } = world
  const { id: uuid, reference } = payment
  const name = sim.prng.nextBool(0.5) ? { uuid } : { reference }
  let current = payment
  for (let looks = sim.prng.nextInt(3); looks > 0 && current.status !== 'successful'; looks -= 1) {
    await pause(world, sim.prng.between(500, 15_000))
    const verify = async ({ app }: Machine) =>
      checkStatus(app, await requirePayment(app, merchant, name), 'verify')
    const seen = await retryUntilAnswered(world, 'verify', verify)
    if (seen) invariants.observePayment(seen)
    current = seen ?? current
  }
  if (current.status !== 'successful' || !sim.prng.nextBool(0.5)) return
  const refunds = 1 + sim.prng.nextInt(3)
  await Promise.all(Array.from({ length: refunds }, (_, n) => requestConcurrentRefund(world, payment, n)))
}

async function requestConcurrentRefund(world: World, payment: PaymentRow, number: number): Promise<void> {
  const { sim, invariants, merchant } = world
  const amount = sim.prng.pick([null, 30, 50, 70])
  const name = `refund-${payment.id}-${number}`
  // A retry is known by the merchant's reference, by the key, or by both. No random number is drawn for it, so that seeds
  // keep their meaning.
  const refundReference = number === 1 ? null : name
  const key = number === 0 ? undefined : name
  const input = { refundReference, payment: { uuid: payment.id }, amount, reason: null, metadata: {} }
  const ask = async () => {
    const once = await retryUntilAnswered(world, 'refund', ({ app }) =>
      requestRefund(app, merchant, input, key),
    )
    if (once) invariants.observeRefund(name, once.record)
  }
  await Promise.all(Array.from({ length: concurrentCopies(world) }, ask))
}

export async function runCheckout(world: World, number: number): Promise<void> {
  const { sim, invariants, merchant } = world
  const email = sim.prng.nextBool(0.5) ? `payer-${number}@example.com` : 'amina@example.com'
  const openForMs = sim.prng.nextBool(0.5) ? sim.prng.between(30_000, 90_000) : undefined
  const input = {
    ...inputOf(number, email),
    ...{ country: 'KE', redirectUrl: null, isRecurring: sim.prng.nextBool(0.5) },
    ...(openForMs !== undefined && { openForMs: Math.floor(openForMs) }),
  }
  const key = sim.prng.nextBool(0.5) ? `key-${number}` : null
  const ask = async () => {
    const opened = await retryUntilAnswered(world, `checkout ${number}`, async ({ app }) => {
      const { payment } = await initiatePayment(app, merchant, input, key)
      return { payment, accessCode: openAccessCode(app, payment) }
    })
    if (opened) invariants.observePayment(opened.payment)
    return opened
  }
  const [opened] = await Promise.all(Array.from({ length: concurrentCopies(world) }, ask))
  if (!opened?.accessCode) return
  await payAtCheckout(world, opened.accessCode)
  if (number === 4) await cancelByMerchant(world, opened.payment)
  await verifyAndRefund(world, opened.payment)
}

/** Rejected if the payer has paid, or may have paid. */
async function cancelByMerchant(world: World, { id }: PaymentRow): Promise<void> {
  const { invariants, merchant } = world
  const cancelled = await retryUntilAnswered(world, 'cancel', ({ app }) =>
    cancelPayment(app, merchant, id, undefined),
  )
  if (cancelled) invariants.observePayment(cancelled.record)
}

async function payAtCheckout(world: World, accessCode: string): Promise<void> {
  const { sim } = world
  for (let ways = 1 + sim.prng.nextInt(3); ways > 0; ways -= 1) {
    await pause(world, sim.prng.between(200, 4_000))
    const view = await pressPay(world, accessCode)
    if (view?.payment.status !== 'processing') return
    const key = view.attempt?.gatewayKey
    const page = world.providers.find(({ name }) => name === view.attempt?.gateway)
    const isSent = view.attempt?.nextStep?.kind === 'redirect'
    if (key === undefined || !page) return
    const isAbandoned = isSent ? await actOnProviderPage(world, page, key) : true
    await returnToCheckout(world, accessCode, isAbandoned)
    if (page.completes && sim.prng.nextBool(0.5)) await switchMethod(world, accessCode)
  }
}

/** One submission of the payer, or two from two windows. */
async function pressPay(world: World, accessCode: string): Promise<CheckoutView | undefined> {
  const { sim, dispatcher } = world
  const channel = sim.prng.nextBool(0.8) ? 'card' : 'bank_transfer'
  const once = async () => {
    const reply = await dispatcher.call(anyMachine(world), 'press', async ({ app }) => {
      const view = await requireCheckout(app, accessCode)
      return startAttempt(app, view, { channel })
    })
    return reply.kind === 'answered' ? reply.value : undefined
  }
  const presses = sim.prng.nextBool(0.2) ? 2 : 1
  const [first, second] = await Promise.all(Array.from({ length: presses }, once))
  return first ?? second
}

/** The payer's action on the provider's page; true when they leave the page open. */
async function actOnProviderPage(world: World, page: Provider, key: string): Promise<boolean> {
  const { sim } = world
  const { prng, scheduler } = sim
  await pause(world, prng.between(300, 12_000))
  const roll = prng.fraction()
  if (roll < 0.5) return !page.pay(key)
  if (roll < 0.7) {
    page.decline(key)
    if (prng.nextBool(0.5))
      scheduler.after(prng.between(500, 60_000), 'payer tries again', () => page.pay(key))
    return false
  }
  // The page stays open in some window, and is paid there later, or never.
  const laterMs = prng.nextBool(0.3) ? prng.between(60_000, 500_000) : prng.between(1_000, 30_000)
  if (prng.nextBool(0.8)) scheduler.after(laterMs, 'payer pays late', () => page.pay(key))
  return true
}

/** The payer has confirmed, sees no result, and wants to pay in another way. */
async function switchMethod(world: World, accessCode: string): Promise<void> {
  const { sim, dispatcher, invariants } = world
  await pause(world, sim.prng.between(5_000, 30_000))
  const reply = await dispatcher.call(anyMachine(world), 'switches', async ({ app }) =>
    cancelAttempt(app, await requireCheckout(app, accessCode)),
  )
  if (reply.kind === 'answered') invariants.observePayment(reply.value.payment)
}

async function returnToCheckout(world: World, accessCode: string, isUnpaid: boolean): Promise<void> {
  const { sim, dispatcher } = world
  const roll = sim.prng.fraction()
  if (roll < 0.2) return
  const work = async ({ app }: Machine) => {
    const view = await requireCheckout(app, accessCode)
    if (isUnpaid && roll < 0.6) return cancelAttempt(app, view)
    if (isUnpaid && roll < 0.7) return cancelCheckout(app, view)
    return refreshCheckout(app, view, 'return')
  }
  const reply = await dispatcher.call(anyMachine(world), 'comes back', work)
  if (reply.kind === 'answered') world.invariants.observePayment(reply.value.payment)
}
