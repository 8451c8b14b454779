// Charges of saved methods, including revoked ones and those of other merchants.

import {
  addPayment,
  assertMatchesModel,
  CHECKOUT_CURRENCIES,
  type Command,
  creditBalance,
  draw,
  drawMinor,
  markUncertain,
  newName,
} from './command-context.ts'
import { expectedOf } from './instruments.ts'
import { isCollected, type Method, type Payment, toMajor } from './model.ts'
import { assertPredicted, type CommandContext, sendRequest } from './world.ts'

const CHARGE = '/api/v1/charges/recurring'

const RECURRING_RESULTS = {
  approves: '201 successful',
  declines: '201 failed',
  'wants approval': '201 failed',
  'approves without answer': '201 processing',
} as const

function predict({ isRevoked, customer, instrument }: Method, email: string): string {
  if (isRevoked) return '422 recurring_token_inactive'
  if (email !== customer.email) return '422 customer_mismatch'
  if (customer.isBlocked) return '422 customer_blocked'
  return RECURRING_RESULTS[expectedOf(instrument).recurringCharge ?? 'declines']
}

const CHARGED = [
  '201 successful',
  '201 failed',
  // On a busy machine a response may also be lost without a planned fault.
  '201 processing',
  '422 recurring_token_inactive',
  '422 customer_blocked',
]

/** Sequential phases exclude charges with an unknown outcome. */
const isPredictableCharge = (context: CommandContext) => (method: Method) =>
  !context.isSequential || expectedOf(method.instrument).recurringCharge !== 'approves without answer'

async function charge(context: CommandContext): Promise<void> {
  const { shop, prng, world, isSequential } = context
  const method = draw(context, shop.methods, isPredictableCharge(context))
  if (!method) return
  const currency = prng.pick(CHECKOUT_CURRENCIES) ?? 'KES'
  const minor = drawMinor(prng, currency)
  const isOther = prng.nextBool(0.04)
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
  const copies = prng.nextBool(isSequential ? 0 : 0.2) ? 3 : 1
  const expected = predict(method, email)
  const answers = await Promise.all(
    Array.from({ length: copies }, () => sendRequest(context, 'POST', CHARGE, body)),
  )
  for (const answer of answers) assertPredicted(context, answer, expected, CHARGED)
  const made = answers.find(({ http }) => http === 201)
  if (!made) return
  const shown = made.body.data
  const payment = addPayment(context, shown, { kind: 'charge', currency, minor, email })
  payment.instrument = method.instrument
  shop.sent.push({ path: CHARGE, body, key: undefined, uuid: payment.uuid, at: from })
  if (!isSequential) return markUncertain(context, payment)
  if (shown.recovery) await addRecovery(context, payment, shown.recovery)
  assertMatchesModel(payment, shown)
  if (isCollected(payment)) creditBalance(context, payment, from)
}

/** The bank requires the customer, so the response has a checkout. */
export async function addRecovery(
  context: CommandContext,
  charge: Payment,
  { uuid }: { uuid: string },
): Promise<void> {
  if (context.shop.payments.some((one) => one.uuid === uuid)) return
  const answer = await sendRequest(context, 'GET', `/api/v1/checkout/payments/${uuid}`)
  assertPredicted(context, answer, '200 pending')
  const { currency, minor, email } = charge
  addPayment(context, answer.body.data, { kind: 'checkout', currency, minor, email })
}

export const CHARGE_COMMANDS: readonly Command[] = [{ name: 'charge', weight: 14, run: charge }]
