// Random schedules of what only bKash has: executions that end with any code, with and without the money being taken, and
// several refunds of one payment whose responses are lost. The calls are made as the service makes them.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { Gateway, Outcome, RefundOutcome, RefundRequest } from '../../../src/gateways/gateway.ts'
import { createPrng, type Prng } from '../../faults/simulation/prng.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import type { Fault } from '../fake-server.ts'
import { startBkash } from './rig.ts'

const SCHEDULES = sized({ quick: 20, rest: 1_000, long: 1_000 })

type Rig = Awaited<ReturnType<typeof startBkash>>

// Those that take no time.
const FAULTS: readonly Fault[] = [
  ...(['cut_off', 'cut_off_after_acting', 'http_500', 'http_500_after_acting'] as const),
  ...(['html_403', 'html_503', 'garbage', 'truncated', 'http_409', 'http_429'] as const),
]

const CODES = ['2003', '2014', '2023', '2029', '2037', '2045', '2056', '2060', '2062', '2117', '503', '9999']

async function withFault<Answer>(
  { provider }: Rig,
  prng: Prng,
  act: () => Promise<Answer>,
  on?: RegExp,
): Promise<Answer> {
  if (prng.nextBool(0.5)) provider.server.injectFault(prng.pick(FAULTS), { times: 1, on })
  const answer = await act()
  provider.server.clearFaults()
  return answer
}

function forEachSeed(run: (prng: Prng) => Promise<void>): Promise<void> {
  const firstSeed = Math.floor(Math.random() * 1e9)
  const next = async (seed: number): Promise<void> => {
    if (seed === firstSeed + SCHEDULES) return
    await run(createPrng(seed)).catch((cause) => {
      throw new Error(`with the seed ${seed}`, { cause })
    })
    return next(seed + 1)
  }
  return next(firstSeed)
}

const provesNothingExecuted = (outcome: Outcome) =>
  (outcome.kind === 'unknown' && outcome.reason === 'not_sent') ||
  (outcome.kind === 'declined' && outcome.refused === true) ||
  (outcome.kind === 'pending' && outcome.canComplete === true)

describe('executions at bKash with lost responses', () => {
  it(
    'a payment at bKash is executed once at most, and ends as it does there, whatever its execution answers',
    HAS_LARGER_FORM,
    async (t) => {
      const rig = await startBkash(t)
      await forEachSeed((prng) => runExecution(rig, prng))
    },
  )
})

async function runExecution(rig: Rig, prng: Prng): Promise<void> {
  const { provider, gateway } = rig
  const { attempt, reference } = await rig.startNew()
  const isConfirmed = prng.nextBool(0.9)
  if (isConfirmed) await provider.confirm?.(attempt.key)
  if (prng.nextBool(0.4)) provider.failExecution(attempt.key, prng.pick(CODES))
  else if (prng.nextBool(0.5)) provider.confuseExecution(attempt.key, prng.pick(CODES))
  const outcomes: Outcome[] = []
  let calls = 0
  for (let rounds = 1 + prng.nextInt(5); rounds > 0; rounds -= 1) {
    const status = await withFault(rig, prng, () => gateway.verify(attempt, reference))
    outcomes.push(status)
    if (calls > 0 || status.kind !== 'pending' || !status.canComplete) continue
    const executed = await withFault(rig, prng, () => executeOf(gateway)(attempt, reference))
    outcomes.push(executed)
    if (provesNothingExecuted(executed)) assert.equal(provider.executions(attempt.key), 0, inspect(executed))
    else calls += 1
  }
  const executions = Number(await provider.executions(attempt.key))
  assert.ok(executions <= 1 && executions <= calls)
  for (const outcome of outcomes) {
    if (outcome.kind === 'succeeded') assert.equal(executions, 1, inspect(outcome))
    if (outcome.kind === 'declined') assert.equal(executions, 0, inspect(outcome))
  }
  const end = await gateway.verify(attempt, reference)
  assert.equal(end.kind, executions === 1 ? 'succeeded' : 'pending', inspect(end))
}

function executeOf({ complete }: Gateway): NonNullable<Gateway['complete']> {
  assert.ok(complete)
  return complete
}

describe('refunds at bKash with lost responses', () => {
  it(
    'refunds of one payment at bKash, also of the same amount, are executed once at most and end as they do there',
    HAS_LARGER_FORM,
    async (t) => {
      const rig = await startBkash(t)
      await forEachSeed((prng) => runRefunds(rig, prng))
    },
  )
})

/** One after another, as the service sends them where refunds have no key. */
async function runRefunds(rig: Rig, prng: Prng): Promise<void> {
  const { provider, gateway } = rig
  const { attempt, reference } = await rig.startNew()
  await provider.finish(attempt.key, { kind: 'pays' })
  const paid = await gateway.verify(attempt, reference)
  assert.ok(paid.kind === 'succeeded' && paid.receiptNumber)
  const known: string[] = []
  let succeeded = 0n
  for (let count = 1 + prng.nextInt(4); count > 0; count -= 1) {
    provider.setRefundBehavior?.(prng.nextBool(0.8) ? 'succeeds' : 'fails')
    const request: RefundRequest = {
      key: randomUUID(),
      attemptKey: attempt.key,
      attemptReference: reference,
      amount: money(prng.nextBool(0.7) ? 1_000n : 2_500n, 'BDT'),
      isFull: false,
      receiptNumber: paid.receiptNumber,
      otherReferences: [...known],
    }
    const end = await runRefund(rig, prng, request)
    if (end.kind === 'succeeded') {
      known.push(end.gatewayReference)
      succeeded += request.amount.minor
    } else if (end.kind === 'unknown') assert.equal(end.reason, 'not_found', inspect(end))
    const given = [...((await provider.refunds?.(attempt.key)) ?? [])].reduce((sum, one) => sum + one, 0n)
    assert.equal(given, succeeded, inspect(end))
  }
}

/** The end of a refund, by status checks of which the last one succeeds. */
async function runRefund(rig: Rig, prng: Prng, request: RefundRequest): Promise<RefundOutcome> {
  const { refund, verifyRefund } = rig.gateway
  assert.ok(refund && verifyRefund)
  const isOver = ({ kind }: RefundOutcome) => kind === 'succeeded' || kind === 'failed'
  const made = await withFault(rig, prng, () => refund(request))
  if (isOver(made)) return made
  for (let polls = prng.nextInt(3); polls > 0; polls -= 1) {
    const checked = await withFault(rig, prng, () => verifyRefund(request, null))
    if (isOver(checked)) return checked
  }
  return verifyRefund(request, null)
}
