// Transfers to the merchant: asked for, said to be sent, confirmed in part, in full or beyond it, rejected, called off.

import { type Payment, readMinor, type TransferStatus, toMajor } from './model.ts'
import {
  addPayment,
  type Command,
  drawMinor,
  drawPayment,
  drawPerson,
  isBlocked,
  isSteady,
  newName,
  touch,
} from './turns.ts'
import { ask, judge, type Turn } from './world.ts'

const P2P = '/api/v1/p2p/payments'

async function request(turn: Turn): Promise<void> {
  const { shop, chance, world } = turn
  const minor = drawMinor(chance, 'SSP')
  const customer = drawPerson(turn)
  const body = { amount: toMajor(minor, 'SSP'), currency: 'SSP', reference: newName('transfer'), customer }
  const answer = await ask(turn, 'POST', P2P, body)
  const told = isBlocked(shop, customer.email) ? '422 customer_blocked' : '201 processing'
  judge(turn, answer, told, ['201 processing', '422 customer_blocked'])
  if (answer.http !== 201) return
  const payment = addPayment(turn, answer.body.data, {
    kind: 'checkout',
    currency: 'SSP',
    minor,
    email: customer.email,
    attempts: 1,
    transfer: { status: 'awaiting_payment', receivedMinor: null },
  })
  shop.sent.push({ path: P2P, body, key: undefined, uuid: payment.uuid, at: world.clock.now().getTime() })
}

interface Word {
  path: 'mark-paid' | 'confirm' | 'reject' | 'cancel'
  receivedMinor: bigint | null
}

function drawWord({ chance }: Turn, { minor }: Payment): Word {
  const path = chance.pick([
    'mark-paid',
    'mark-paid',
    'confirm',
    'confirm',
    'confirm',
    'reject',
    'cancel',
  ] as const)
  if (path !== 'confirm') return { path: path ?? 'cancel', receivedMinor: null }
  const part = BigInt(1 + chance.below(Number(minor)))
  return { path, receivedMinor: chance.pick([minor, minor, part, minor + part]) ?? minor }
}

/** Where a word leads a transfer; null when the same was said before, undefined when it cannot be said now. */
function foresee(
  { transfer, minor }: Payment,
  { path, receivedMinor }: Word,
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

/** What a transfer that has come there is to its payment; time may have ended the checkout before. */
function followed(payment: Payment, to: TransferStatus): Payment['status'] {
  if (to === 'confirmed' || to === 'overpaid') return 'successful'
  const hasFailed = to === 'rejected' || to === 'cancelled'
  return hasFailed && payment.status === 'processing' ? 'failed' : payment.status
}

const SAID = ['processing', 'successful', 'failed', 'expired'].map((status) => `200 ${status}`)

async function say(turn: Turn): Promise<void> {
  const { isCalm } = turn
  const isWaiting = ({ transfer }: Payment) =>
    transfer !== null && ['awaiting_payment', 'marked_paid', 'underpaid', 'expired'].includes(transfer.status)
  const isMeant = turn.chance.happens(0.9) ? isWaiting : ({ transfer }: Payment) => transfer !== null
  const payment = drawPayment(turn, (one) => isMeant(one) && isSteady(turn, one))
  if (!payment?.transfer) return request(turn)
  const word = drawWord(turn, payment)
  const to = foresee(payment, word)
  const status = to ? followed(payment, to) : payment.status
  if (!isCalm) touch(turn, payment)
  const { receivedMinor } = word
  const body = receivedMinor === null ? {} : { receivedAmount: toMajor(receivedMinor, 'SSP') }
  const answer = await ask(turn, 'POST', `${P2P}/${payment.uuid}/${word.path}`, body)
  judge(turn, answer, to === undefined ? '409 invalid_state' : `200 ${status}`, [
    ...SAID,
    '409 invalid_state',
  ])
  if (!isCalm || answer.http !== 200) return
  const { transferStatus, amountReceived, expiresAt } = answer.body.data
  const known = payment.transfer.receivedMinor
  const received = to ? (word.path === 'reject' ? known : receivedMinor) : known
  payment.status = status
  payment.transfer = { status: to ?? payment.transfer.status, receivedMinor: received }
  payment.expiresAt = Date.parse(expiresAt)
  const told = { status: transferStatus, receivedMinor: amountReceived && readMinor(amountReceived, 'SSP') }
  requireSame(payment, told)
}

function requireSame(
  { reference, transfer }: Payment,
  told: { status: string; receivedMinor: bigint | null },
): void {
  const isSame = told.status === transfer?.status && told.receivedMinor === transfer.receivedMinor
  if (isSame) return
  const words = `${transfer?.status} with ${transfer?.receivedMinor}`
  throw new Error(
    `transfer ${reference} was to be ${words}, and is ${told.status} with ${told.receivedMinor}`,
  )
}

export const P2P_COMMANDS: readonly Command[] = [
  { name: 'request-transfer', weight: 4, run: request },
  { name: 'speak-of-transfer', weight: 8, run: say },
]
