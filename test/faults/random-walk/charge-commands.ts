// Charging saved methods again, those that were revoked and those of others among them.

import { expectedOf } from './instruments.ts'
import { isCollected, type Method, type Payment, toMajor } from './model.ts'
import {
  addPayment,
  CHECKOUT_CURRENCIES,
  type Command,
  collect,
  draw,
  drawMinor,
  newName,
  requireAsBelieved,
  touch,
} from './turns.ts'
import { ask, judge, type Turn } from './world.ts'

const CHARGE = '/api/v1/charges/recurring'

const AGAIN = {
  approves: '201 successful',
  declines: '201 failed',
  'wants approval': '201 failed',
  'approves unheard': '201 processing',
} as const

function foresee({ isRevoked, customer, instrument }: Method, email: string): string {
  if (isRevoked) return '422 recurring_token_inactive'
  if (email !== customer.email) return '422 customer_mismatch'
  if (customer.isBlocked) return '422 customer_blocked'
  return AGAIN[expectedOf(instrument).again ?? 'declines']
}

const CHARGED = [
  '201 successful',
  '201 failed',
  // An answer may also be lost where nobody planned it, on a machine that is busy.
  '201 processing',
  '422 recurring_token_inactive',
  '422 customer_blocked',
]

/** What nobody has heard the end of is not for calm times. */
const isFit = (turn: Turn) => (method: Method) =>
  !turn.isCalm || expectedOf(method.instrument).again !== 'approves unheard'

async function charge(turn: Turn): Promise<void> {
  const { shop, chance, world, isCalm } = turn
  const method = draw(turn, shop.methods, isFit(turn))
  if (!method) return
  const currency = chance.pick(CHECKOUT_CURRENCIES) ?? 'KES'
  const minor = drawMinor(chance, currency)
  const isOther = chance.happens(0.04)
  const email = isOther ? `other@${shop.name}.example` : method.customer.email
  const body = {
    amount: toMajor(minor, currency),
    currency,
    reference: newName('charge'),
    recurringToken: method.token,
    description: 'Again',
    metadata: {},
    customer: { email, firstname: 'Amina', lastname: 'Again' },
  }
  const from = world.clock.now().getTime()
  const copies = chance.happens(isCalm ? 0 : 0.2) ? 3 : 1
  const told = foresee(method, email)
  const answers = await Promise.all(Array.from({ length: copies }, () => ask(turn, 'POST', CHARGE, body)))
  for (const answer of answers) judge(turn, answer, told, CHARGED)
  const made = answers.find(({ http }) => http === 201)
  if (!made) return
  const shown = made.body.data
  const payment = addPayment(turn, shown, { kind: 'charge', currency, minor, email })
  payment.instrument = method.instrument
  shop.sent.push({ path: CHARGE, body, key: undefined, uuid: payment.uuid, at: from })
  if (!isCalm) return touch(turn, payment)
  if (shown.recovery) await addRecovery(turn, payment, shown.recovery)
  requireAsBelieved(payment, shown)
  if (isCollected(payment)) collect(turn, payment, from)
}

/** The bank wants the customer present, so there is a checkout to send them to. */
export async function addRecovery(turn: Turn, charge: Payment, { uuid }: { uuid: string }): Promise<void> {
  if (turn.shop.payments.some((one) => one.uuid === uuid)) return
  const answer = await ask(turn, 'GET', `/api/v1/checkout/payments/${uuid}`)
  judge(turn, answer, '200 pending')
  const { currency, minor, email } = charge
  addPayment(turn, answer.body.data, { kind: 'checkout', currency, minor, email })
}

export const CHARGE_COMMANDS: readonly Command[] = [{ name: 'charge', weight: 14, run: charge }]
