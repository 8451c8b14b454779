// Transfers to the merchant: requested, marked as paid, confirmed in part, in full or above it, rejected, cancelled.

import {
  addPayment,
  type Command,
  drawMinor,
  drawPayment,
  drawPerson,
  isBlocked,
  isFarFromExpiry,
  markUncertain,
  newName,
} from './command-context.ts'
import { type Payment, readMinor, type TransferStatus, toMajor } from './model.ts'
import { assertPredicted, type CommandContext, sendRequest } from './world.ts'

const P2P = '/api/v1/p2p/payments'

async function request(context: CommandContext): Promise<void> {
  const { shop, prng, world } = context
  const minor = drawMinor(prng, 'SSP')
  const customer = drawPerson(context)
  const body = { amount: toMajor(minor, 'SSP'), currency: 'SSP', reference: newName('transfer'), customer }
  const answer = await sendRequest(context, 'POST', P2P, body)
  const expected = isBlocked(shop, customer.email) ? '422 customer_blocked' : '201 processing'
  // Pending, without a transfer: the customer was blocked after the payment was recorded.
  assertPredicted(context, answer, expected, ['201 processing', '201 pending', '422 customer_blocked'])
  if (answer.http !== 201) return
  const isStarted = answer.body.data.transferStatus !== null
  const payment = addPayment(context, answer.body.data, {
    kind: 'checkout',
    currency: 'SSP',
    minor,
    email: customer.email,
    attempts: isStarted ? 1 : 0,
    transfer: isStarted ? { status: 'awaiting_payment', receivedMinor: null } : null,
  })
  // Repeated, a request that is not started would start.
  const at = world.clock.now().getTime()
  if (isStarted) shop.sent.push({ path: P2P, body, key: undefined, uuid: payment.uuid, at })
}

interface TransferAction {
  path: 'mark-paid' | 'confirm' | 'reject' | 'cancel'
  receivedMinor: bigint | null
}

function drawAction({ prng }: CommandContext, { minor }: Payment): TransferAction {
  const path = prng.pick([
    'mark-paid',
    'mark-paid',
    'confirm',
    'confirm',
    'confirm',
    'reject',
    'cancel',
  ] as const)
  if (path !== 'confirm') return { path: path ?? 'cancel', receivedMinor: null }
  const part = BigInt(1 + prng.nextInt(Number(minor)))
  return { path, receivedMinor: prng.pick([minor, minor, part, minor + part]) ?? minor }
}

/** The next status of a transfer; null for a repeated action, undefined for an action that is not allowed now. */
function predict(
  { transfer, minor }: Payment,
  { path, receivedMinor }: TransferAction,
): TransferStatus | null | undefined {
  const { status = 'cancelled', receivedMinor: known = null } = transfer ?? {}
  const isIn = (...statuses: TransferStatus[]) => statuses.includes(status)
  switch (path) {
    case 'mark-paid':
      return isIn('marked_paid') ? null : isIn('awaiting_payment') ? 'marked_paid' : undefined
    case 'reject':
      return isIn('rejected') ? null : isIn('marked_paid', 'underpaid') ? 'rejected' : undefined
    case 'cancel':
      return isIn('cancelled') ? null : isIn('awaiting_payment') ? 'cancelled' : undefined
    case 'confirm': {
      const received = receivedMinor ?? 0n
      if (isIn('confirmed', 'overpaid', 'underpaid') && received === known) return null
      if (isIn('confirmed', 'overpaid', 'rejected', 'cancelled')) return undefined
      return received === minor ? 'confirmed' : received < minor ? 'underpaid' : 'overpaid'
    }
  }
}

/** The payment status for a transfer status; the checkout may have expired before. */
function paymentStatusAfter(payment: Payment, to: TransferStatus): Payment['status'] {
  if (to === 'confirmed' || to === 'overpaid') return 'successful'
  const hasFailed = to === 'rejected' || to === 'cancelled'
  return hasFailed && payment.status === 'processing' ? 'failed' : payment.status
}

const ACTION_RESULTS = ['processing', 'successful', 'failed', 'expired'].map((status) => `200 ${status}`)

async function actOnTransfer(context: CommandContext): Promise<void> {
  const { isSequential } = context
  const isWaiting = ({ transfer }: Payment) =>
    transfer !== null && ['awaiting_payment', 'marked_paid', 'underpaid', 'expired'].includes(transfer.status)
  const isMeant = context.prng.nextBool(0.9) ? isWaiting : ({ transfer }: Payment) => transfer !== null
  const payment = drawPayment(context, (one) => isMeant(one) && isFarFromExpiry(context, one))
  if (!payment?.transfer) return request(context)
  const action = drawAction(context, payment)
  const to = predict(payment, action)
  const status = to ? paymentStatusAfter(payment, to) : payment.status
  if (!isSequential) markUncertain(context, payment)
  const { receivedMinor } = action
  const body = receivedMinor === null ? {} : { receivedAmount: toMajor(receivedMinor, 'SSP') }
  const answer = await sendRequest(context, 'POST', `${P2P}/${payment.uuid}/${action.path}`, body)
  assertPredicted(context, answer, to === undefined ? '409 invalid_state' : `200 ${status}`, [
    ...ACTION_RESULTS,
    '409 invalid_state',
  ])
  if (!isSequential || answer.http !== 200) return
  const { transferStatus, amountReceived, expiresAt } = answer.body.data
  const known = payment.transfer.receivedMinor
  const received = to ? (action.path === 'reject' ? known : receivedMinor) : known
  payment.status = status
  payment.transfer = { status: to ?? payment.transfer.status, receivedMinor: received }
  payment.expiresAt = Date.parse(expiresAt)
  const actual = { status: transferStatus, receivedMinor: amountReceived && readMinor(amountReceived, 'SSP') }
  assertSame(payment, actual)
}

function assertSame(
  { reference, transfer }: Payment,
  actual: { status: string; receivedMinor: bigint | null },
): void {
  const isSame = actual.status === transfer?.status && actual.receivedMinor === transfer.receivedMinor
  if (isSame) return
  const summary = `${transfer?.status} with ${transfer?.receivedMinor}`
  throw new Error(
    `transfer ${reference} was to be ${summary}, and is ${actual.status} with ${actual.receivedMinor}`,
  )
}

export const P2P_COMMANDS: readonly Command[] = [
  { name: 'request-transfer', weight: 4, run: request },
  { name: 'act-on-transfer', weight: 8, run: actOnTransfer },
]
