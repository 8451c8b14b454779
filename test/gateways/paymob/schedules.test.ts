// Random schedules of what only Paymob has: several tries on one page, the callback with the card at any time, and several
// refunds of one payment whose responses are lost. The calls are made as the service makes them.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { Outcome, RefundOutcome, RefundRequest, StatusQuery } from '../../../src/gateways/gateway.ts'
import { createPrng, type Prng } from '../../faults/simulation/prng.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import type { CheckoutEnding } from '../conformance.ts'
import type { Fault } from '../fake-server.ts'
import { makeAttempt, payNew, startCard, startPaymob } from './rig.ts'

const SCHEDULES = sized({ quick: 15, rest: 1_000, long: 1_000 })

type Rig = Awaited<ReturnType<typeof startPaymob>>

// Those that take no time.
const FAULTS: readonly Fault[] = [
  ...(['cut_off', 'cut_off_after_acting', 'http_500', 'http_500_after_acting'] as const),
  ...(['html_403', 'html_503', 'garbage', 'truncated', 'http_409', 'http_429'] as const),
]

async function withFault<Answer>({ provider }: Rig, prng: Prng, act: () => Promise<Answer>): Promise<Answer> {
  if (prng.nextBool(0.5)) provider.server.injectFault(prng.pick(FAULTS), { times: 1, after: prng.nextInt(2) })
  const answer = await act()
  provider.server.clearFaults()
  return answer
}

async function forEachSeed(run: (prng: Prng) => Promise<void>): Promise<void> {
  const firstSeed = Math.floor(Math.random() * 1e9)
  for (let seed = firstSeed; seed < firstSeed + SCHEDULES; seed += 1)
    await run(createPrng(seed)).catch((cause) => {
      throw new Error(`with the seed ${seed}`, { cause })
    })
}

describe('tries on one page of Paymob', () => {
  it(
    'a payment at Paymob ends as its last try, and its card is saved whenever the callback comes',
    HAS_LARGER_FORM,
    async (t) => {
      const rig = await startPaymob(t)
      // With a token: without one nothing is asked, which is tested elsewhere.
      assert.equal(await rig.gateway.probe?.(), 'works')
      await forEachSeed((prng) => runTries(rig, prng))
    },
  )
})

const TRIES: readonly CheckoutEnding[] = [
  { kind: 'declines', how: '51' },
  { kind: 'declines', how: 'AUTHENTICATION_FAILED' },
  { kind: 'waits' },
]

async function runTries(rig: Rig, prng: Prng): Promise<void> {
  const { provider, gateway } = rig
  const attempt = makeAttempt()
  const { gatewayReference } = await startCard(gateway, attempt)
  // A response may have been lost: then the reference is not known.
  const reference = prng.nextBool(0.7) ? gatewayReference : null
  let query: StatusQuery = attempt
  const poll = () => withFault(rig, prng, () => gateway.verify(query, reference))
  const receiveCard = async () => {
    query = { ...attempt, report: await readCardReport(rig, attempt.key) }
  }
  for (let tries = prng.nextInt(4); tries > 0; tries -= 1) {
    await provider.finish(attempt.key, prng.pick(TRIES))
    assertNotPaid(await poll())
  }
  if (prng.nextBool(0.3)) return assertNotPaid(await gateway.verify(query, reference))
  const isEarly = prng.nextBool(0.3)
  if (isEarly) await receiveCard()
  await provider.finish(attempt.key, { kind: 'pays' })
  for (let polls = prng.nextInt(3); polls > 0; polls -= 1) assertPaidOrUnknown(await poll())
  if (!isEarly) await receiveCard()
  const end = await gateway.verify(query, reference)
  assert.ok(end.kind === 'succeeded' && end.savedMethod, inspect(end))
  assert.deepEqual([end.paid, end.key], [attempt.amount, attempt.key])
}

async function readCardReport({ provider, receive }: Rig, key: string): Promise<string> {
  const webhook = await provider.savedMethodWebhook?.(key)
  assert.ok(webhook)
  const reading = receive(webhook)
  assert.ok(reading.kind === 'payment' && reading.key === key && reading.report, inspect(reading))
  return reading.report
}

const assertNotPaid = (outcome: Outcome) => assert.notEqual(outcome.kind, 'succeeded', inspect(outcome))

function assertPaidOrUnknown(outcome: Outcome): void {
  assert.ok(outcome.kind === 'succeeded' || outcome.kind === 'unknown', inspect(outcome))
}

describe('refunds at Paymob with lost responses', () => {
  it(
    'refunds of one payment at Paymob, also of the same amount, are executed once at most and end as they do there',
    HAS_LARGER_FORM,
    async (t) => {
      const rig = await startPaymob(t)
      await forEachSeed((prng) => runRefunds(rig, prng))
    },
  )
})

/** One after another, as the service sends them. */
async function runRefunds(rig: Rig, prng: Prng): Promise<void> {
  const { attempt, paid } = await payNew(rig)
  let returned = 0n
  for (let count = 1 + prng.nextInt(4); count > 0; count -= 1) {
    rig.provider.setRefundBehavior?.(prng.nextBool(0.8) ? 'succeeds' : 'fails')
    const request: RefundRequest = {
      key: randomUUID(),
      attemptKey: attempt.key,
      attemptReference: paid.gatewayReference,
      amount: money(prng.nextBool(0.7) ? 1_000n : 2_500n, 'EGP'),
      isFull: false,
      ...(returned > 0n && { refundedBefore: money(returned, 'EGP') }),
    }
    const end = await runRefund(rig, prng, request)
    if (end.kind === 'succeeded') returned += request.amount.minor
    else if (end.kind === 'unknown') assert.equal(end.reason, 'not_found', inspect(end))
    const given = [...((await rig.provider.refunds?.(attempt.key)) ?? [])].reduce((sum, one) => sum + one, 0n)
    assert.equal(given, returned, inspect(end))
  }
}

/** It is sent again only if nothing was sent; otherwise it is only checked. */
async function runRefund(rig: Rig, prng: Prng, request: RefundRequest): Promise<RefundOutcome> {
  const { refund, verifyRefund } = rig.gateway
  assert.ok(refund && verifyRefund)
  let outcome = await withFault(rig, prng, () => refund(request))
  for (let more = prng.nextInt(3); more > 0 && isNotSent(outcome); more -= 1)
    outcome = await withFault(rig, prng, () => refund(request))
  if (outcome.kind !== 'unknown') return outcome
  for (let polls = prng.nextInt(2); polls > 0; polls -= 1) {
    const polled = await withFault(rig, prng, () => verifyRefund(request, null))
    if (polled.kind !== 'unknown') return polled
  }
  return verifyRefund(request, null)
}

const isNotSent = (outcome: RefundOutcome) => outcome.kind === 'unknown' && outcome.reason === 'not_sent'
