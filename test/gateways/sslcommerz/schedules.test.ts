// Random schedules of what only SSLCommerz has: pages on which a payer tries several times, and refunds of one payment whose
// responses are lost. The calls are made as the service makes them.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { money } from '../../../src/core/money.ts'
import type { Outcome, RefundOutcome, RefundRequest } from '../../../src/gateways/gateway.ts'
import { createPrng, type Prng } from '../../faults/simulation/prng.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import type { Fault } from '../fake-server.ts'
import { startSslcommerz } from './rig.ts'

const SCHEDULES = sized({ quick: 20, rest: 1_000, long: 1_000 })

type Rig = Awaited<ReturnType<typeof startSslcommerz>>

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

describe('pages of SSLCommerz with several tries', () => {
  it(
    'a payment at SSLCommerz is paid if one of its tries was, and declined only if all were, with lost responses',
    HAS_LARGER_FORM,
    async (t) => {
      const rig = await startSslcommerz(t)
      await forEachSeed((prng) => runTries(rig, prng))
    },
  )
})

const TRIES = ['FAILED', 'CANCELLED', 'UNATTEMPTED', 'EXPIRED', 'PENDING'] as const

async function runTries(rig: Rig, prng: Prng): Promise<void> {
  const { provider, gateway } = rig
  const { attempt, reference } = await rig.startNew()
  const tries: string[] = []
  const known = prng.nextBool(0.8) ? reference : null
  const outcomes: Outcome[] = []
  for (let count = prng.nextInt(4); count > 0; count -= 1) {
    tries.push(prng.pick(TRIES))
    provider.addTry(attempt.key, tries.at(-1) ?? '')
    outcomes.push(await withFault(rig, prng, () => gateway.verify(attempt, known)))
    assert.notEqual(outcomes.at(-1)?.kind, 'succeeded')
  }
  const isPaid = prng.nextBool(0.5)
  if (isPaid) provider.addTry(attempt.key, 'VALID')
  const during = await withFault(rig, prng, () => gateway.verify(attempt, known))
  if (isPaid) assert.ok(during.kind === 'succeeded' || during.kind === 'unknown', inspect(during))
  const end = await gateway.verify(attempt, known)
  assert.equal(end.kind, expectedEnd(isPaid, tries, known), inspect(end))
  assert.equal(await provider.executions(attempt.key), isPaid ? 1 : 0)
}

function expectedEnd(isPaid: boolean, tries: readonly string[], known: string | null): Outcome['kind'] {
  if (isPaid) return 'succeeded'
  if (tries.length === 0) return known === null ? 'unknown' : 'pending'
  return tries.includes('PENDING') ? 'pending' : 'declined'
}

describe('refunds at SSLCommerz with lost responses', () => {
  it(
    'refunds of one payment at SSLCommerz are executed once at most, and end only as they do there',
    HAS_LARGER_FORM,
    async (t) => {
      const rig = await startSslcommerz(t)
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
  assert.ok(paid.kind === 'succeeded' && paid.receiptNumber, inspect(paid))
  const known: string[] = []
  for (let count = 1 + prng.nextInt(3); count > 0; count -= 1) {
    const behavior = prng.pick(['succeeds', 'waits', 'fails'] as const)
    provider.setRefundBehavior?.(behavior)
    const before = ((await provider.refunds?.(attempt.key)) ?? []).length
    const request: RefundRequest = {
      key: randomUUID(),
      attemptKey: attempt.key,
      attemptReference: paid.gatewayReference,
      amount: money(prng.nextBool(0.7) ? 1_000n : 2_500n, 'BDT'),
      isFull: false,
      receiptNumber: paid.receiptNumber,
      otherReferences: [...known],
    }
    const end = await runRefund(rig, prng, request)
    const executed = ((await provider.refunds?.(attempt.key)) ?? []).length - before
    assert.ok(executed <= 1, inspect(end))
    if (end.kind === 'succeeded') assert.deepEqual([behavior, executed], ['succeeds', 1])
    if (end.kind === 'failed') assert.equal(executed, 0, inspect(end))
    if ('gatewayReference' in end && end.gatewayReference) known.push(end.gatewayReference)
    // A person decides about a refund whose response was lost.
    if (end.kind === 'unknown') assert.equal(end.reason, 'not_found', inspect(end))
  }
}

/** As the service does: it is sent again only if it had no effect. The last of the status checks has no fault. */
async function runRefund(rig: Rig, prng: Prng, request: RefundRequest): Promise<RefundOutcome> {
  const { refund, verifyRefund } = rig.gateway
  assert.ok(refund && verifyRefund)
  let made: RefundOutcome
  do made = await withFault(rig, prng, () => refund(request))
  while (made.kind === 'unknown' && made.reason === 'not_sent')
  if (made.kind === 'failed') return made
  const reference = 'gatewayReference' in made ? made.gatewayReference : null
  for (let polls = prng.nextInt(3); polls > 0; polls -= 1)
    await withFault(rig, prng, () => verifyRefund(request, reference))
  return verifyRefund(request, reference)
}
