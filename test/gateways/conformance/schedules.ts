// Random schedules of a checkout: lost responses at every request, submissions under the same key, callbacks before the
// answer, twice or never, and polls that fail. Whatever the order, the outcome is what happened at the provider.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, Outcome, StartedCheckout, StatusQuery } from '../../../src/gateways/gateway.ts'
import { createPrng, type Prng } from '../../faults/simulation/prng.ts'
import { sized } from '../../support/scale.ts'
import type { Fault } from '../fake-server.ts'
import { prepareCharge } from './charge.ts'
import { assertNotFinal, withFailureContext } from './faults.ts'
import { assertNames } from './reading.ts'
import { type Rig, startRig } from './rig.ts'
import { type CheckoutEnding, type Subject, sizedFormOf } from './subject.ts'

const SCHEDULES = sized({ quick: 15, rest: 1_000, long: 1_000 })

// Those that take no time.
const FAULTS: readonly Fault[] = [
  ...(['cut_off', 'cut_off_after_acting', 'http_500', 'http_500_after_acting'] as const),
  ...(['html_503', 'garbage', 'http_409', 'http_429'] as const),
]

const ACTING: readonly Fault[] = ['cut_off_after_acting', 'http_500_after_acting', 'garbage']

export function testSchedules(subject: Subject): void {
  it(
    'a checkout ends as at the provider, in any order of lost responses, callbacks and polls',
    sizedFormOf(subject),
    async (t) => {
      const rig = await startRig(t, subject)
      const firstSeed = Math.floor(Math.random() * 1e9)
      for (let seed = firstSeed; seed < firstSeed + SCHEDULES; seed += 1)
        await withFailureContext(`with the seed ${seed}`, () => runSchedule(rig, subject, createPrng(seed)))
    },
  )
}

/** Charges in two steps: the provider records the charge, and executes it when we call. */
export function testChargeSchedules(subject: Subject): void {
  it(
    'a charge is executed at most once, in any order of lost responses and polls',
    sizedFormOf(subject),
    async (t) => {
      const { rig, credential } = await prepareCharge(t, subject, 'approves')
      const firstSeed = Math.floor(Math.random() * 1e9)
      for (let seed = firstSeed; seed < firstSeed + SCHEDULES; seed += 1)
        await withFailureContext(`with the seed ${seed}`, () =>
          runChargeSchedule(rig, credential, createPrng(seed)),
        )
    },
  )
}

async function runChargeSchedule(rig: Rig, credential: string, prng: Prng): Promise<void> {
  const attempt = rig.makeAttempt('charge')
  const fault = prng.nextBool(0.5) ? prng.pick(FAULTS) : undefined
  const begun = await withFault(rig, fault, async () => rig.gateway.chargeSaved?.(attempt, credential))
  assert.ok(begun)
  const reference = referenceIn(begun)
  if (fault === undefined) assert.ok(reference, inspect(begun))
  if (reference !== null)
    return completeOnce(rig, attempt, { reference, hint: null, report: undefined }, prng, credential)
  assertNotFinal(begun)
  // Its completing call needs the reference, so nothing was executed.
  assertNotFinal(await rig.gateway.verify(attempt, null))
  assert.equal(await rig.provider.executions(attempt.key), 0)
}

/** What the service has stored about the attempt. */
interface Stored {
  reference: string | null
  hint: string | null
  report: string | undefined
}

async function runSchedule(rig: Rig, subject: Subject, prng: Prng): Promise<void> {
  const attempt = rig.makeAttempt()
  const stored: Stored = { reference: null, hint: null, report: undefined }
  const ending = pickEnding(subject, prng)
  const canResubmit = rig.gateway.behavior.keyRetentionHours > 0
  let hasActed = false
  for (let more = 1 + (canResubmit ? prng.nextInt(3) : 0); more > 0; more -= 1) {
    const fault = prng.nextBool(0.7) ? prng.pick(FAULTS) : undefined
    await submit(rig, attempt, stored, fault)
    hasActed ||= fault === undefined || ACTING.includes(fault)
  }
  // A fault may have hit a request before the submission itself: then the fake does not know the checkout either.
  if (!(hasActed && (await tryFinish(rig, attempt, ending)))) {
    if (!canResubmit) return
    await submit(rig, attempt, stored, undefined)
    assert.ok(await tryFinish(rig, attempt, ending), 'the provider has accepted the checkout')
  }
  for (let callbacks = prng.nextInt(3); callbacks > 0; callbacks -= 1)
    await receive(rig, subject, attempt, stored)
  for (let polls = prng.nextInt(3); polls > 0; polls -= 1)
    assertConsistent(await poll(rig, attempt, stored, prng.pick(FAULTS)), ending)
  if (isTwoSteps(rig) && ending.kind === 'pays') return completeOnce(rig, attempt, stored, prng)
  await assertEnd(rig, attempt, stored, ending)
}

function pickEnding({ declines }: Subject, prng: Prng): CheckoutEnding {
  const { how } = prng.pick(declines.filter(({ on }) => on === 'checkout'))
  const endings: CheckoutEnding[] = [{ kind: 'pays' }, { kind: 'declines', how }, { kind: 'waits' }]
  return prng.nextBool(0.5) ? { kind: 'pays' } : prng.pick(endings)
}

async function withFault<Answer>(
  rig: Rig,
  fault: Fault | undefined,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const { server } = rig.provider
  if (fault) server.injectFault(fault, { times: 1 })
  const answer = await call()
  server.clearFaults()
  return answer
}

async function submit(rig: Rig, attempt: Attempt, stored: Stored, fault: Fault | undefined): Promise<void> {
  const answer = await withFault(rig, fault, () => rig.start(attempt))
  // A refusal would end the attempt at this gateway; here the caller tries again.
  const isRefused = answer.kind === 'declined' && answer.refused === true
  if (!isRefused) assertNotFinal(answer)
  stored.reference = referenceIn(answer) ?? stored.reference
}

const referenceIn = (answer: StartedCheckout | Outcome): string | null =>
  'gatewayReference' in answer ? answer.gatewayReference : null

/** Some gateways complete charges only: their payers do not confirm. */
const isTwoSteps = ({ gateway, provider }: Rig) =>
  gateway.complete !== undefined && provider.confirm !== undefined

/** A payer who pays at a provider in two steps only confirms. */
async function tryFinish(rig: Rig, { key }: Attempt, ending: CheckoutEnding): Promise<boolean> {
  const { confirm } = rig.provider
  try {
    if (isTwoSteps(rig) && confirm && ending.kind === 'pays') await confirm(key)
    else await rig.provider.finish(key, ending)
    return true
  } catch {
    return false
  }
}

/** As the service does: the completing call is made again only if its outcome proves that nothing was executed. */
async function completeOnce(
  rig: Rig,
  attempt: Attempt,
  stored: Stored,
  prng: Prng,
  credential?: string,
): Promise<void> {
  const anyFault = () => (prng.nextBool(0.6) ? prng.pick(FAULTS) : undefined)
  let isMarked = false
  for (let rounds = 1 + prng.nextInt(5); rounds > 0; rounds -= 1) {
    const outcome = await poll(rig, attempt, stored, anyFault())
    if (isMarked || outcome.kind !== 'pending' || !outcome.canComplete) continue
    const reference = outcome.gatewayReference ?? stored.reference ?? ''
    const completed = await withFault(rig, anyFault(), async () =>
      rig.gateway.complete?.(attempt, reference, credential),
    )
    assert.ok(completed)
    isMarked = !isUnexecuted(completed)
    if (!isMarked) assert.equal(await rig.provider.executions(attempt.key), 0, inspect(completed))
    if (isMarked && completed.kind !== 'succeeded') assertNotFinal(completed)
  }
  const executions = await rig.provider.executions(attempt.key)
  const end = await poll(rig, attempt, stored)
  const unpaid = isFindable(rig, stored) ? 'pending' : 'unknown'
  assert.deepEqual([executions <= 1, end.kind], [true, executions === 1 ? 'succeeded' : unpaid])
}

function isUnexecuted(outcome: Outcome): boolean {
  if (outcome.kind === 'declined') return outcome.refused === true
  if (outcome.kind === 'pending') return outcome.canComplete === true
  return outcome.kind === 'unknown' && outcome.reason === 'not_sent'
}

async function receive(rig: Rig, subject: Subject, attempt: Attempt, stored: Stored): Promise<void> {
  const reading = rig.receive(await rig.provider.webhook(attempt.key))
  if (reading.kind === 'ignored' || (subject.withoutWebhooks && reading.kind === 'forged')) return
  assertNames(reading, attempt, stored.reference ?? undefined)
  if (reading.kind !== 'payment' || reading.key === undefined) return
  stored.hint ??= reading.referenceHint ?? null
  stored.report ??= reading.report
}

function poll(rig: Rig, attempt: Attempt, stored: Stored, fault?: Fault): Promise<Outcome> {
  const { reference, hint, report } = stored
  const query: StatusQuery = report === undefined ? attempt : { ...attempt, report }
  return withFault(rig, fault, () => rig.gateway.verify(query, reference ?? hint))
}

function assertConsistent(outcome: Outcome, ending: CheckoutEnding): void {
  if (outcome.kind === 'succeeded') assert.equal(ending.kind, 'pays', inspect(outcome))
  if (outcome.kind !== 'declined') return
  assert.equal(ending.kind, 'declines', inspect(outcome))
  assert.equal(outcome.refused, undefined, 'a status check refuses nothing')
}

const END: Record<CheckoutEnding['kind'], Outcome['kind']> = {
  pays: 'succeeded',
  declines: 'declined',
  waits: 'pending',
}

async function assertEnd(rig: Rig, attempt: Attempt, stored: Stored, ending: CheckoutEnding): Promise<void> {
  const outcome = await poll(rig, attempt, stored)
  assertConsistent(outcome, ending)
  if (isFindable(rig, stored)) assert.equal(outcome.kind, END[ending.kind], inspect(outcome))
  if (outcome.kind === 'succeeded') assert.deepEqual(outcome.paid, attempt.amount)
  assert.equal(await rig.provider.executions(attempt.key), ending.kind === 'pays' ? 1 : 0)
}

/** Without the provider's id some providers find nothing. */
function isFindable({ gateway }: Rig, { reference, hint }: Stored): boolean {
  return gateway.behavior.lookupByReference || (reference ?? hint) !== null
}
