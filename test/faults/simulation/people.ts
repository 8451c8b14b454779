// The people of the simulated world. Merchants ask again until they are answered, several at once, and always for the same
// thing; payers press twice, leave, come back, pay late or on two pages.

import { chargeSavedMethod } from '../../../src/charges/charge.ts'
import type { ChargeInput } from '../../../src/charges/input.ts'
import {
  type CheckoutView,
  cancelCheckout,
  giveUpAttempt,
  refreshCheckout,
  requireCheckout,
  startAttempt,
} from '../../../src/checkout/checkout.ts'
import { initiatePayment } from '../../../src/checkout/initiate.ts'
import type { Merchant } from '../../../src/core/merchant.ts'
import { money } from '../../../src/core/money.ts'
import { verifyPayment } from '../../../src/outcomes/verify.ts'
import type { PaymentRow } from '../../../src/payments/payment.ts'
import { openAccessCode } from '../../../src/payments/views.ts'
import { requestRefund } from '../../../src/refunds/request.ts'
import type { Machine } from './machine.ts'
import type { Oracle } from './oracle.ts'
import type { Provider } from './provider.ts'
import type { Sim } from './sim.ts'
import type { Reply, Switchboard } from './switchboard.ts'

export interface Town {
  sim: Sim
  machines: readonly Machine[]
  providers: readonly Provider[]
  switchboard: Switchboard
  oracle: Oracle
  merchant: Merchant
  /** Customers with a saved method: their e-mail and token. */
  regulars: readonly { email: string; recurringToken: string }[]
}

const AMOUNT_MINOR = 10_000n

const pause = ({ sim }: Town, ms: number) =>
  new Promise<void>((resolve) => sim.scheduler.after(ms, 'pause', resolve))

function anyMachine({ sim, machines }: Town): Machine {
  return sim.chance.pick(machines)
}

// In calm weather the first or second try is answered.
const MOST_CALM_TRIES = 12

/** Asks until somebody answers. Undefined when the answer is no. */
async function insist<Value>(
  town: Town,
  label: string,
  work: (machine: Machine) => Promise<Value>,
): Promise<Value | undefined> {
  const { sim, switchboard } = town
  for (let calmTries = 0; calmTries < MOST_CALM_TRIES; calmTries += sim.isCalm() ? 1 : 0) {
    const reply: Reply<Value> = await switchboard.call(anyMachine(town), label, work)
    if (reply.kind === 'answered') return reply.value
    if (reply.kind === 'refused') return undefined
    await pause(town, sim.chance.between(100, 4_000))
  }
  sim.violate(`${label} is not answered although nothing is wrong any more`)
  return undefined
}

/** How many ask for the same at the same moment. */
const crowd = ({ sim }: Town) => (sim.chance.happens(0.4) ? 2 + sim.chance.below(2) : 1)

export async function chargeAgain(town: Town, number: number): Promise<void> {
  const { sim, oracle, merchant } = town
  const { email, recurringToken } = sim.chance.pick(town.regulars)
  const input = { ...inputOf(number, email), recurringToken }
  const key = sim.chance.happens(0.5) ? `key-${number}` : null
  const ask = async () => {
    const recorded = await insist(town, `charge ${number}`, ({ app }) =>
      chargeSavedMethod(app, merchant, input, key),
    )
    if (recorded) oracle.hear(recorded.payment)
    return recorded?.payment
  }
  if (sim.chance.happens(0.1)) void askForMore(town, input, `other-${number}`)
  const [payment] = await Promise.all(Array.from({ length: crowd(town) }, ask))
  if (payment) await followUp(town, payment)
}

/** The same reference for something else: one of the two is refused. */
async function askForMore(town: Town, input: ChargeInput, key: string): Promise<void> {
  const { oracle, merchant } = town
  const more = { ...input, amount: money(AMOUNT_MINOR + 1n, 'KES') }
  const recorded = await insist(town, 'another charge', ({ app }) =>
    chargeSavedMethod(app, merchant, more, key),
  )
  if (recorded) oracle.hear(recorded.payment)
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

/** The merchant looks what became of it, and may want to give the money back. */
async function followUp(town: Town, payment: PaymentRow): Promise<void> {
  const { sim, oracle, merchant } = town
  const { id: uuid, reference } = payment
  const name = sim.chance.happens(0.5) ? { uuid } : { reference }
  let current = payment
  for (let looks = sim.chance.below(3); looks > 0 && current.status !== 'successful'; looks -= 1) {
    await pause(town, sim.chance.between(500, 15_000))
    const seen = await insist(town, 'verify', ({ app }) => verifyPayment(app, merchant, name))
    if (seen) oracle.hear(seen)
    current = seen ?? current
  }
  if (current.status !== 'successful' || !sim.chance.happens(0.5)) return
  const refunds = 1 + sim.chance.below(3)
  await Promise.all(Array.from({ length: refunds }, (_, n) => giveBack(town, payment, n)))
}

async function giveBack(town: Town, payment: PaymentRow, number: number): Promise<void> {
  const { sim, oracle, merchant } = town
  const amount = sim.chance.pick([null, 30, 50, 70])
  const input = { payment: { uuid: payment.id }, amount, reason: null, metadata: {} }
  const key = `refund-${payment.id}-${number}`
  const ask = async () => {
    const once = await insist(town, 'refund', ({ app }) => requestRefund(app, merchant, input, key))
    if (once) oracle.hearRefund(key, once.record)
  }
  await Promise.all(Array.from({ length: crowd(town) }, ask))
}

export async function sellByCheckout(town: Town, number: number): Promise<void> {
  const { sim, oracle, merchant } = town
  const email = sim.chance.happens(0.5) ? `payer-${number}@example.com` : 'amina@example.com'
  const openForMs = sim.chance.happens(0.5) ? sim.chance.between(30_000, 90_000) : undefined
  const input = {
    ...inputOf(number, email),
    ...{ country: 'KE', redirectUrl: null, isRecurring: sim.chance.happens(0.5) },
    ...(openForMs !== undefined && { openForMs: Math.floor(openForMs) }),
  }
  const key = sim.chance.happens(0.5) ? `key-${number}` : null
  const ask = async () => {
    const opened = await insist(town, `checkout ${number}`, async ({ app }) => {
      const { payment } = await initiatePayment(app, merchant, input, key)
      return { payment, accessCode: openAccessCode(app, payment) }
    })
    if (opened) oracle.hear(opened.payment)
    return opened
  }
  const [opened] = await Promise.all(Array.from({ length: crowd(town) }, ask))
  if (!opened?.accessCode) return
  await payAtCheckout(town, opened.accessCode)
  await followUp(town, opened.payment)
}

async function payAtCheckout(town: Town, accessCode: string): Promise<void> {
  const { sim } = town
  for (let ways = 1 + sim.chance.below(3); ways > 0; ways -= 1) {
    await pause(town, sim.chance.between(200, 4_000))
    const view = await press(town, accessCode)
    if (view?.payment.status !== 'processing') return
    const key = view.attempt?.gatewayKey
    const page = town.providers.find(({ name }) => name === view.attempt?.gateway)
    const isSent = view.attempt?.nextStep?.kind === 'redirect'
    if (key === undefined || !page) return
    const leaves = isSent ? await actOnPage(town, page, key) : true
    await comeBack(town, accessCode, leaves)
  }
}

/** One press of the payer, or two from two windows. */
async function press(town: Town, accessCode: string): Promise<CheckoutView | undefined> {
  const { sim, switchboard } = town
  const channel = sim.chance.happens(0.8) ? 'card' : 'bank_transfer'
  const once = async () => {
    const reply = await switchboard.call(anyMachine(town), 'press', async ({ app }) => {
      const view = await requireCheckout(app, accessCode)
      return startAttempt(app, view, { channel })
    })
    return reply.kind === 'answered' ? reply.value : undefined
  }
  const presses = sim.chance.happens(0.2) ? 2 : 1
  const [first, second] = await Promise.all(Array.from({ length: presses }, once))
  return first ?? second
}

/** What the payer does on the provider's page; true when they leave it open and go. */
async function actOnPage(town: Town, page: Provider, key: string): Promise<boolean> {
  const { sim } = town
  const { chance, scheduler } = sim
  await pause(town, chance.between(300, 12_000))
  const mood = chance.fraction()
  if (mood < 0.5) return !page.pay(key)
  if (mood < 0.7) {
    page.decline(key)
    if (chance.happens(0.5))
      scheduler.after(chance.between(500, 60_000), 'payer tries again', () => page.pay(key))
    return false
  }
  // The page stays open in some window, and is paid there later, or never.
  const laterMs = chance.happens(0.3) ? chance.between(60_000, 500_000) : chance.between(1_000, 30_000)
  if (chance.happens(0.8)) scheduler.after(laterMs, 'payer pays late', () => page.pay(key))
  return true
}

async function comeBack(town: Town, accessCode: string, isUnpaid: boolean): Promise<void> {
  const { sim, switchboard } = town
  const mood = sim.chance.fraction()
  if (mood < 0.2) return
  const work = async ({ app }: Machine) => {
    const view = await requireCheckout(app, accessCode)
    if (isUnpaid && mood < 0.6) return giveUpAttempt(app, view)
    if (isUnpaid && mood < 0.7) return cancelCheckout(app, view)
    return refreshCheckout(app, view, 'return')
  }
  const reply = await switchboard.call(anyMachine(town), 'comes back', work)
  if (reply.kind === 'answered') town.oracle.hear(reply.value.payment)
}
