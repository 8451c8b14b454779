// Giving money back, all or in parts or too much of it; and banks that take it back.

import assert from 'node:assert/strict'
import { expectedOf } from './instruments.ts'
import {
  isCollected,
  leftMinor,
  type Payment,
  purseOf,
  type Refund,
  readMinor,
  refundedMinor,
  type Status,
  toMajor,
} from './model.ts'
import { takeOut } from './purse.ts'
import { type Command, drawPayment, newName, requireAsBelieved, touch } from './turns.ts'
import { ask, judge, type Turn } from './world.ts'

const REFUNDS = '/api/v1/refunds'

const GIVEN = {
  gives: '201 successful',
  declines: '201 failed',
  'gives unheard': '201 pending',
} as const

function foresee(payment: Payment, minor: bigint | null): string {
  if (!isRefundable(payment)) return '409 invalid_state'
  if (payment.transfer) return '422 refund_not_supported'
  const left = leftMinor(payment)
  if ((minor ?? left) > left || left === 0n) return '422 refund_exceeds_amount'
  return GIVEN[expectedOf(payment.instrument).refund]
}

const isRefundable = ({ status }: Payment) => status === 'successful' || status === 'partially_refunded'

const REFUNDED = [
  '201 successful',
  '201 failed',
  '201 pending',
  '409 invalid_state',
  '422 refund_exceeds_amount',
  '422 refund_not_supported',
]

/** Null is all that is left. */
function drawAmount({ chance }: Turn, payment: Payment): bigint | null {
  const left = leftMinor(payment)
  const kind = chance.below(10)
  if (kind < 3 || payment.minor < 2n) return null
  if (kind === 3) return payment.minor + 1n
  if (kind === 4) return left > 0n ? left : 1n
  return 1n + BigInt(chance.below(Number(kind < 8 ? payment.minor / 2n : payment.minor)))
}

const canTell = ({ isCalm }: Turn, payment: Payment) =>
  !isCalm || payment.instrument === null || expectedOf(payment.instrument).refund !== 'gives unheard'

async function refund(turn: Turn): Promise<void> {
  const isMeant = turn.chance.happens(0.93) ? isRefundable : () => true
  const payment = drawPayment(turn, (one) => isMeant(one) && canTell(turn, one))
  if (payment) await refundOf(turn, payment)
}

const FLOOD = 5

/** Many refunds of one payment at once, which together may be more than it. */
async function flood(turn: Turn): Promise<void> {
  const payment = drawPayment(turn, isRefundable)
  if (!payment) return
  turn.world.operations += FLOOD - 1
  const turns = Array.from({ length: FLOOD }, () => ({ ...turn, chance: turn.chance.branch() }))
  await Promise.all(turns.map((one) => refundOf(one, payment)))
}

async function refundOf(turn: Turn, payment: Payment): Promise<void> {
  const { shop, chance, isCalm } = turn
  const minor = drawAmount(turn, payment)
  const body = {
    ...(chance.happens(0.5) ? { reference: payment.reference } : { uuid: payment.uuid }),
    ...(minor !== null && { amount: toMajor(minor, payment.currency) }),
  }
  const key = chance.happens(0.4) ? newName('key') : undefined
  // Without a key each request is another refund.
  const copies = chance.happens(isCalm ? 0.1 : 0.25) && key !== undefined ? 3 : 1
  const told = foresee(payment, minor)
  if (!isCalm) touch(turn, payment)
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  const answers = await Promise.all(
    Array.from({ length: copies }, () => ask(turn, 'POST', REFUNDS, body, headers)),
  )
  // Who asks with the same key at the same moment may see it before the gateway has answered.
  const early = copies > 1 && told.startsWith('201') ? '201 pending' : told
  for (const answer of answers)
    judge(turn, answer, answer.body.data?.status === 'pending' ? early : told, REFUNDED)
  const made = answers.filter(({ http }) => http === 201).map(({ body: { data } }) => data)
  assert.ok(new Set(made.map(({ uuid }) => uuid)).size <= 1, 'one key is one refund')
  const [first] = made
  if (!first) return
  const ended = made.find(({ status }) => status !== 'pending') ?? first
  const asked = readMinor(first.amount, payment.currency)
  const given: Refund = { uuid: first.uuid, payment, minor: asked, status: ended.status }
  if (minor !== null) assert.equal(given.minor, minor, 'a refund is as large as was asked for')
  if (minor === null && isCalm) assert.equal(given.minor, leftMinor(payment), 'all that is left')
  shop.sent.push({ path: REFUNDS, body, key, uuid: given.uuid, at: turn.world.clock.now().getTime() })
  payment.refunds.push(given)
  shop.refunds.push(given)
  if (given.status === 'pending') touch(turn, payment)
  else if (isCalm && given.status === 'successful') giveBack(turn, given)
}

function giveBack({ shop }: Turn, { payment, minor }: Refund): void {
  takeOut(purseOf(shop, payment.currency), payment, minor)
  payment.status = refundedMinor(payment) === payment.minor ? 'refunded' : 'partially_refunded'
}

type Outcome = 'open' | 'won' | 'lost'

interface Verdict {
  told: string
  /** Where the payment goes; null when everything stays. */
  to: Status | null
}

/** A bank opens a dispute about what was paid, decides it once, or takes money back without one. */
function foreseeDispute(payment: Payment, outcome: Outcome): Verdict {
  const isPaid = isCollected(payment) && !payment.transfer
  const stays: Verdict = { told: `200 ${payment.status}`, to: null }
  const refused: Verdict = { told: '409 invalid_state', to: null }
  if (!isPaid) return refused
  if (payment.dispute === outcome && outcome !== 'open') return stays
  if (payment.dispute === 'lost') return refused
  switch (outcome) {
    case 'open':
      return payment.dispute === 'open' ? stays : { told: '200 disputed', to: 'disputed' }
    case 'won':
      return payment.dispute === 'open' ? { told: '200 successful', to: 'successful' } : refused
    case 'lost':
      return { told: '200 reversed', to: 'reversed' }
  }
}

function applyDispute({ shop }: Turn, payment: Payment, to: Status, outcome: Outcome): void {
  const purse = purseOf(shop, payment.currency)
  const left = leftMinor(payment)
  if (to === 'disputed') {
    takeOut(purse, payment, left)
    payment.heldMinor = left
  } else if (to === 'successful') {
    purse.available += payment.heldMinor
    payment.heldMinor = 0n
  } else {
    // A refund that was under way when the dispute was opened, and failed since, left less to hold than is lost now.
    takeOut(purse, payment, left - payment.heldMinor)
    payment.heldMinor = 0n
    payment.lostMinor = left
  }
  payment.status = to
  payment.dispute = outcome
}

const DISPUTED: readonly string[] = [
  '200 successful',
  '200 partially_refunded',
  '200 refunded',
  '200 disputed',
  '200 reversed',
  '409 invalid_state',
]

async function dispute(turn: Turn): Promise<void> {
  const { chance, isCalm } = turn
  const isOpen = ({ status }: Payment) => status === 'disputed'
  const isMeant = chance.happens(0.5) ? isOpen : chance.happens(0.9) ? isCollected : () => true
  const payment = drawPayment(turn, isMeant) ?? drawPayment(turn, isCollected)
  if (!payment) return
  const outcome = chance.pick<Outcome>(isOpen(payment) ? ['won', 'won', 'lost', 'open'] : OPENING) ?? 'open'
  const { told, to } = foreseeDispute(payment, outcome)
  if (!isCalm) touch(turn, payment)
  const isReversal = outcome === 'lost' && chance.happens(0.5)
  const path = `/api/v1/sandbox/payments/${payment.reference}/${isReversal ? 'reverse' : 'dispute'}`
  const answer = await ask(turn, 'POST', path, isReversal ? {} : { outcome })
  judge(turn, answer, told, DISPUTED)
  if (!isCalm || answer.http !== 200) return
  if (to) applyDispute(turn, payment, to, outcome)
  requireAsBelieved(payment, answer.body.data)
}

const OPENING: readonly Outcome[] = ['open', 'open', 'open', 'won', 'lost']

export const REFUND_COMMANDS: readonly Command[] = [
  { name: 'refund', weight: 14, run: refund },
  { name: 'flood', weight: 2, run: flood, only: 'storm' },
  { name: 'dispute', weight: 6, run: dispute },
]
