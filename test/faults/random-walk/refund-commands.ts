// Refunds in full, in parts or too large, and chargebacks by banks.

import assert from 'node:assert/strict'
import { debit } from './balances.ts'
import { assertMatchesModel, type Command, drawPayment, markUncertain, newName } from './command-context.ts'
import { expectedOf } from './instruments.ts'
import {
  isCollected,
  leftMinor,
  modelBalanceOf,
  type Payment,
  type Refund,
  readMinor,
  refundedMinor,
  type Status,
  toMajor,
} from './model.ts'
import { assertPredicted, type CommandContext, sendRequest } from './world.ts'

const REFUNDS = '/api/v1/refunds'

const REFUND_RESULTS = {
  gives: '201 successful',
  declines: '201 failed',
  'gives without answer': '201 pending',
} as const

function predict(payment: Payment, minor: bigint | null, isNamed: boolean): string {
  if (minor !== null && minor < payment.minor && !isNamed) return '400 idempotency_required'
  if (!isRefundable(payment)) return '409 invalid_state'
  if (payment.transfer) return '422 refund_not_supported'
  const left = leftMinor(payment)
  if ((minor ?? left) > left || left === 0n) return '422 refund_exceeds_amount'
  return REFUND_RESULTS[expectedOf(payment.instrument).refund]
}

const isRefundable = ({ status }: Payment) => status === 'successful' || status === 'partially_refunded'

const REFUNDED = [
  '201 successful',
  '201 failed',
  '201 pending',
  '400 idempotency_required',
  '409 invalid_state',
  '422 refund_exceeds_amount',
  '422 refund_not_supported',
]

/** Null is the whole remaining amount. */
function drawAmount({ prng }: CommandContext, payment: Payment): bigint | null {
  const left = leftMinor(payment)
  const kind = prng.nextInt(10)
  if (kind < 3 || payment.minor < 2n) return null
  if (kind === 3) return payment.minor + 1n
  if (kind === 4) return left > 0n ? left : 1n
  return 1n + BigInt(prng.nextInt(Number(kind < 8 ? payment.minor / 2n : payment.minor)))
}

const isPredictableRefund = ({ isSequential }: CommandContext, payment: Payment) =>
  !isSequential ||
  payment.instrument === null ||
  expectedOf(payment.instrument).refund !== 'gives without answer'

async function refund(context: CommandContext): Promise<void> {
  const isMeant = context.prng.nextBool(0.93) ? isRefundable : () => true
  const payment = drawPayment(context, (one) => isMeant(one) && isPredictableRefund(context, one))
  if (payment) await refundOf(context, payment)
}

const CONCURRENT_REFUNDS = 5

/** Many concurrent refunds of one payment, whose sum may exceed it. */
async function refundConcurrently(context: CommandContext): Promise<void> {
  const payment = drawPayment(context, isRefundable)
  if (!payment) return
  context.world.operations += CONCURRENT_REFUNDS - 1
  const contexts = Array.from({ length: CONCURRENT_REFUNDS }, () => ({
    ...context,
    prng: context.prng.fork(),
  }))
  await Promise.all(contexts.map((one) => refundOf(one, payment)))
}

function namePayment({ prng }: CommandContext, { reference, uuid }: Payment): object {
  const names = [{ reference }, { uuid }, { paymentReference: reference }, { paymentUuid: uuid }]
  return prng.pick<object>(names) ?? { uuid }
}

async function refundOf(context: CommandContext, payment: Payment): Promise<void> {
  const { shop, prng, isSequential } = context
  const minor = drawAmount(context, payment)
  const refundReference = prng.nextBool(0.6) ? newName('refund') : undefined
  const body = {
    ...namePayment(context, payment),
    ...(refundReference !== undefined && { refundReference }),
    ...(minor !== null && { amount: toMajor(minor, payment.currency) }),
  }
  const key = prng.nextBool(0.4) ? newName('key') : undefined
  // Without a key and a reference each request is another refund.
  const isNamed = key !== undefined || refundReference !== undefined
  const copies = prng.nextBool(isSequential ? 0.1 : 0.25) && isNamed ? 3 : 1
  const expected = predict(payment, minor, isNamed)
  if (!isSequential) markUncertain(context, payment)
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  const answers = await Promise.all(
    Array.from({ length: copies }, () => sendRequest(context, 'POST', REFUNDS, body, headers)),
  )
  // A concurrent request with the same key may see the refund before the gateway has responded.
  const early = copies > 1 && expected.startsWith('201') ? '201 pending' : expected
  for (const answer of answers)
    assertPredicted(context, answer, answer.body.data?.status === 'pending' ? early : expected, REFUNDED)
  const made = answers.filter(({ http }) => http === 201).map(({ body: { data } }) => data)
  assert.ok(new Set(made.map(({ uuid }) => uuid)).size <= 1, 'one key or reference is one refund')
  const [first] = made
  if (!first) return
  const ended = made.find(({ status }) => status !== 'pending') ?? first
  const asked = readMinor(first.amount, payment.currency)
  const given: Refund = { uuid: first.uuid, payment, minor: asked, status: ended.status }
  if (minor !== null) assert.equal(given.minor, minor, 'a refund is as large as was asked for')
  if (minor === null && isSequential) assert.equal(given.minor, leftMinor(payment), 'all that is left')
  shop.sent.push({ path: REFUNDS, body, key, uuid: given.uuid, at: context.world.clock.now().getTime() })
  payment.refunds.push(given)
  shop.refunds.push(given)
  if (given.status === 'pending') markUncertain(context, payment)
  else if (isSequential && given.status === 'successful') applyRefund(context, given)
}

function applyRefund({ shop }: CommandContext, { payment, minor }: Refund): void {
  debit(modelBalanceOf(shop, payment.currency), payment, minor)
  payment.status = refundedMinor(payment) === payment.minor ? 'refunded' : 'partially_refunded'
}

type Outcome = 'open' | 'won' | 'lost'

interface Prediction {
  expected: string
  /** The next status of the payment; null when it does not change. */
  to: Status | null
}

/** A bank opens a dispute about a payment, decides it once, or reverses the payment without one. */
function predictDispute(payment: Payment, outcome: Outcome): Prediction {
  const isPaid = isCollected(payment) && !payment.transfer
  const stays: Prediction = { expected: `200 ${payment.status}`, to: null }
  const refused: Prediction = { expected: '409 invalid_state', to: null }
  if (!isPaid) return refused
  if (payment.dispute === outcome && outcome !== 'open') return stays
  if (payment.dispute === 'lost') return refused
  switch (outcome) {
    case 'open':
      return payment.dispute === 'open' ? stays : { expected: '200 disputed', to: 'disputed' }
    case 'won':
      return payment.dispute === 'open' ? { expected: '200 successful', to: 'successful' } : refused
    case 'lost':
      return { expected: '200 reversed', to: 'reversed' }
  }
}

function applyDispute({ shop }: CommandContext, payment: Payment, to: Status, outcome: Outcome): void {
  const modelBalance = modelBalanceOf(shop, payment.currency)
  const left = leftMinor(payment)
  if (to === 'disputed') {
    debit(modelBalance, payment, left)
    payment.heldMinor = left
  } else if (to === 'successful') {
    modelBalance.available += payment.heldMinor
    payment.heldMinor = 0n
  } else {
    // A refund that was pending when the dispute opened and failed later left less to hold than is lost now.
    debit(modelBalance, payment, left - payment.heldMinor)
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

async function dispute(context: CommandContext): Promise<void> {
  const { prng, isSequential } = context
  const isOpen = ({ status }: Payment) => status === 'disputed'
  const isMeant = prng.nextBool(0.5) ? isOpen : prng.nextBool(0.9) ? isCollected : () => true
  const payment = drawPayment(context, isMeant) ?? drawPayment(context, isCollected)
  if (!payment) return
  const outcome = prng.pick<Outcome>(isOpen(payment) ? ['won', 'won', 'lost', 'open'] : OPENING) ?? 'open'
  const { expected, to } = predictDispute(payment, outcome)
  if (!isSequential) markUncertain(context, payment)
  const isReversal = outcome === 'lost' && prng.nextBool(0.5)
  const path = `/api/v1/sandbox/payments/${payment.reference}/${isReversal ? 'reverse' : 'dispute'}`
  const answer = await sendRequest(context, 'POST', path, isReversal ? {} : { outcome })
  assertPredicted(context, answer, expected, DISPUTED)
  if (!isSequential || answer.http !== 200) return
  if (to) applyDispute(context, payment, to, outcome)
  assertMatchesModel(payment, answer.body.data)
}

const OPENING: readonly Outcome[] = ['open', 'open', 'open', 'won', 'lost']

export const REFUND_COMMANDS: readonly Command[] = [
  { name: 'refund', weight: 14, run: refund },
  { name: 'refund-concurrently', weight: 2, run: refundConcurrently, only: 'concurrent' },
  { name: 'dispute', weight: 6, run: dispute },
]
