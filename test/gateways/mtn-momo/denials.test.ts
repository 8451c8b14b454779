// Random schedules of what only MTN MoMo has: HTTP 500 with a code, for requests that were accepted and for others,
// pre-approvals that are refused, completing calls, and charges. As the service does, a request is repeated only if a status
// check does not find it. Whatever the order: one execution at most, and the outcome is what happened at MTN.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, Outcome, StartedCheckout, StatusQuery } from '../../../src/gateways/gateway.ts'
import { createPrng, type Prng } from '../../faults/simulation/prng.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import { withFailureContext } from '../conformance/faults.ts'
import type { ChargeBehavior } from '../conformance.ts'
import type { Fault } from '../fake-server.ts'
import { CREDENTIALS } from './fake.ts'
import { CHOICE, CONSENT, makeAttempt, startMomo } from './rig.ts'

const SCHEDULES = sized({ quick: 12, rest: 1_000, long: 1_000 })

const FAULTS: readonly Fault[] = [
  ...(['cut_off', 'cut_off_after_acting', 'http_500', 'http_500_after_acting'] as const),
  ...(['html_503', 'garbage', 'http_409', 'http_429'] as const),
]
const CODES = [
  ...['NOT_ALLOWED', 'NOT_ALLOWED_TARGET_ENVIRONMENT', 'INVALID_CALLBACK_URL_HOST', 'INVALID_CURRENCY'],
  ...['PAYER_NOT_FOUND', 'INTERNAL_PROCESSING_ERROR', 'SERVICE_UNAVAILABLE'],
]

type Momo = Awaited<ReturnType<typeof startMomo>>

/** The call with one or more of the troubles. */
async function troubled<Answer>(
  { provider }: Momo,
  prng: Prng,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const { server } = provider
  if (prng.nextBool(0.5)) server.injectFault(prng.pick(FAULTS), { times: 1, after: prng.nextInt(3) })
  if (prng.nextBool(0.4)) provider.failNext(prng.pick(CODES), prng.nextBool(0.5))
  if (prng.nextBool(0.3))
    provider.denyPreapprovals({ http: prng.pick([400, 403, 404, 500]), body: { code: prng.pick(CODES) } })
  const answer = await call()
  server.clearFaults()
  provider.clearDenials()
  return answer
}

const isNotFound = (outcome: Outcome) => outcome.kind === 'unknown' && outcome.reason === 'not_found'

/** What the outcome claims is true. */
function assertTrue({ provider }: Momo, { key }: Attempt, outcome: StartedCheckout | Outcome): void {
  const executions = provider.executions(key)
  assert.ok(executions === 0 || executions === 1, `${executions} executions`)
  if (outcome.kind === 'succeeded') assert.equal(executions, 1)
  if (outcome.kind === 'declined') assert.equal(executions, 0, inspect(outcome))
  // A pre-approval may be left, but without a request it moves no money.
  if (outcome.kind === 'declined' && outcome.refused) assert.ok(!provider.isRequested(key), inspect(outcome))
}

const isFinal = ({ kind }: StartedCheckout | Outcome) => kind === 'succeeded' || kind === 'declined'

async function runCheckout(momo: Momo, prng: Prng): Promise<void> {
  const { gateway, provider } = momo
  // Mostly a new number; some have a pre-approval from an earlier schedule.
  const phone = `+23324${String(prng.nextInt(1_000)).padStart(7, '0')}`
  const consent = prng.nextBool(0.6) ? CONSENT : null
  const attempt = { ...makeAttempt(), phone, ...(consent && { savesMethod: true as const }) }
  const choice = { ...CHOICE, phone, consent }
  for (let rounds = 3; rounds > 0; rounds -= 1) {
    const answer = await troubled(momo, prng, () =>
      gateway.startCheckout(attempt, choice, 'https://pay.example.com'),
    )
    assertTrue(momo, attempt, answer)
    if (isFinal(answer)) return
    if (!isNotFound(await troubled(momo, prng, () => gateway.verify(attempt, null)))) break
  }
  if (!provider.knows(attempt.key)) return
  const pays = prng.nextBool(0.7)
  if (pays) await provider.approve(attempt.key)
  const completed = await followUp(momo, attempt, prng)
  const end = await gateway.verify(attempt, null)
  assertTrue(momo, attempt, end)
  // Its pre-approval was removed, unless the request for that was lost too. A declined payment is not completed.
  if (completed?.kind === 'declined')
    return assert.ok(['declined', 'pending'].includes(end.kind), inspect(end))
  const isWaiting = end.kind === 'pending'
  assert.ok(isWaiting || (pays && end.kind === 'succeeded'), inspect(end))
}

/**
 * Polls, and one completing call, which is made again only if its outcome proves that nothing was executed. Returns its outcome
 * if that is final.
 */
async function followUp(
  momo: Momo,
  attempt: Attempt & StatusQuery,
  prng: Prng,
): Promise<Outcome | undefined> {
  const { gateway } = momo
  let isMarked = false
  for (let polls = 1 + prng.nextInt(4); polls > 0; polls -= 1) {
    const outcome = await troubled(momo, prng, () => gateway.verify(attempt, null))
    assertTrue(momo, attempt, outcome)
    if (isMarked || outcome.kind !== 'pending' || !outcome.canComplete) continue
    const completed = await troubled(momo, prng, async () => gateway.complete?.(attempt, attempt.key))
    assert.ok(completed)
    assertTrue(momo, attempt, completed)
    if (isFinal(completed)) return completed
    isMarked = !(completed.kind === 'pending' && completed.canComplete)
    if (!isMarked) assert.ok(!momo.provider.isRequested(attempt.key), inspect(completed))
  }
  return undefined
}

const BEHAVIORS: readonly ChargeBehavior[] = [
  ...(['approves', 'approves', 'waits', 'wants_customer'] as const),
  { declines: 'NOT_ENOUGH_FUNDS' },
]

async function runCharge(momo: Momo, prng: Prng): Promise<void> {
  const { gateway, provider } = momo
  const attempt = makeAttempt({ operation: 'charge' })
  const behavior = prng.pick(BEHAVIORS)
  const credential = (await provider.savedCredential?.(behavior)) ?? ''
  for (let rounds = 4; rounds > 0; rounds -= 1) {
    const outcome = await troubled(momo, prng, async () => gateway.chargeSaved?.(attempt, credential))
    assert.ok(outcome)
    assertTrue(momo, attempt, outcome)
    if (isFinal(outcome)) return
    const polled = await troubled(momo, prng, () => gateway.verify(attempt, null))
    assertTrue(momo, attempt, polled)
    if (!isNotFound(polled)) break
  }
  const end = await gateway.verify(attempt, null)
  assertTrue(momo, attempt, end)
  if (behavior === 'wants_customer') assert.ok(isNotFound(end), inspect(end))
  if (provider.executions(attempt.key) === 1) assert.equal(end.kind, 'succeeded')
}

describe('requests to MTN MoMo with any mixture of lost responses and denials', () => {
  const runs = { checkout: runCheckout, charge: runCharge }
  for (const [name, run] of Object.entries(runs))
    it(`a ${name} is executed once at most, and its outcome is what happened`, HAS_LARGER_FORM, async (t) => {
      const momo = await startMomo(t, { credentials: { ...CREDENTIALS, preapprovalSeconds: '31536000' } })
      // With its token, so that the troubles meet the requests themselves.
      await momo.gateway.verify(makeAttempt(), null)
      const firstSeed = Math.floor(Math.random() * 1e9)
      for (let seed = firstSeed; seed < firstSeed + SCHEDULES; seed += 1)
        await withFailureContext(`with the seed ${seed}`, () => run(momo, createPrng(seed)))
    })
})
