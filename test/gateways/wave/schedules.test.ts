// Random schedules of what Wave has beyond other pages: sessions that are closed while the payer pays, and refunds that are
// sent until they are answered. Any response may be lost, before or after Wave has acted.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { createPrng, type Prng } from '../../faults/simulation/prng.ts'
import { HAS_LARGER_FORM, sized } from '../../support/scale.ts'
import type { Fault } from '../fake-server.ts'
import { startWave } from './rig.ts'

type Rig = Awaited<ReturnType<typeof startWave>>

const SCHEDULES = sized({ quick: 20, rest: 1_000, long: 1_000 })
const MAX_TRIES = 50

// Those that take no time.
const FAULTS: readonly Fault[] = [
  ...(['cut_off', 'cut_off_after_acting', 'http_500', 'http_500_after_acting'] as const),
  ...(['html_503', 'garbage', 'http_409', 'http_429'] as const),
]

interface Schedule {
  rig: Rig
  prng: Prng
  attempt: Attempt
  reference: string | null
  /** The payer has the address of the page. */
  hasPage: boolean
}

type AnyOutcome = StartedCheckout | Outcome

/** One call, perhaps with a fault at one of its requests. */
async function call<Answer>({ rig, prng }: Schedule, act: () => Promise<Answer>): Promise<Answer> {
  const { server } = rig.provider
  if (prng.nextBool(0.5)) server.injectFault(prng.pick(FAULTS), { times: 1, after: prng.nextInt(3) })
  const answer = await act()
  server.clearFaults()
  return answer
}

const STEPS: Readonly<Record<string, (schedule: Schedule) => Promise<AnyOutcome | undefined>>> = {
  async submit(schedule) {
    const started = await call(schedule, () => schedule.rig.start(schedule.attempt))
    if (started.kind !== 'started') return started
    schedule.reference = started.gatewayReference
    schedule.hasPage = true
    return undefined
  },
  async pay({ rig, attempt, hasPage }) {
    const [session] = rig.provider.sessionsOf(attempt.key)
    if (hasPage && session?.checkout_status === 'open')
      await rig.provider.finish(attempt.key, { kind: 'pays' })
    return undefined
  },
  cancel: (schedule) =>
    call(schedule, async () => schedule.rig.gateway.cancel?.(schedule.attempt, schedule.reference)),
  verify: (schedule) =>
    call(schedule, () => schedule.rig.gateway.verify(schedule.attempt, schedule.reference)),
}

/** What was concluded must be true at Wave; a refusal concludes nothing about an earlier request. */
function assertTrue({ rig, attempt }: Schedule, outcome: AnyOutcome | undefined): void {
  const executions = rig.provider.executions(attempt.key)
  if (outcome?.kind === 'succeeded') assert.equal(executions, 1, inspect(outcome))
  if (outcome?.kind !== 'declined' || outcome.refused) return
  const [session] = rig.provider.sessionsOf(attempt.key)
  assert.deepEqual([executions, session?.checkout_status], [0, 'expired'], inspect(outcome))
}

const ENDS: Readonly<Record<string, Outcome['kind']>> = {
  open: 'pending',
  complete: 'succeeded',
  expired: 'declined',
}

async function runSchedule(rig: Rig, prng: Prng): Promise<void> {
  const schedule: Schedule = { rig, prng, attempt: rig.makeAttempt(), reference: null, hasPage: false }
  for (let steps = 3 + prng.nextInt(8); steps > 0; steps -= 1) {
    const outcome = await STEPS[prng.pick(Object.keys(STEPS))]?.(schedule)
    assertTrue(schedule, outcome)
  }
  const sessions = rig.provider.sessionsOf(schedule.attempt.key)
  assert.ok(sessions.length <= 1, 'one session for each attempt')
  const end = await rig.gateway.verify(schedule.attempt, schedule.reference)
  assert.equal(end.kind, ENDS[sessions[0]?.checkout_status ?? ''] ?? 'unknown', inspect(end))
  if (end.kind === 'succeeded') await refundOnce(schedule, end.gatewayReference)
}

/** As the service does: the same refund is sent until Wave has answered it. */
async function refundOnce(schedule: Schedule, attemptReference: string): Promise<void> {
  const { rig, prng, attempt } = schedule
  const { key: attemptKey, amount } = attempt
  const request = { key: prng.nextHexId(), attemptKey, attemptReference, amount, isFull: true }
  let isDone = false
  for (let tries = 0; !isDone && tries < MAX_TRIES; tries += 1) {
    const outcome = await call(schedule, async () => rig.gateway.refund?.(request))
    assert.ok(outcome && outcome.kind !== 'failed', inspect(outcome))
    isDone = outcome.kind === 'succeeded'
  }
  assert.ok(isDone)
  assert.deepEqual(await rig.provider.refunds?.(attemptKey), [amount.minor])
}

describe('a session at Wave', () => {
  it(
    'a session at Wave ends as at the provider and is refunded once, in any order of submissions, payments and cancellations',
    HAS_LARGER_FORM,
    async (t) => {
      const rig = await startWave(t)
      const firstSeed = Math.floor(Math.random() * 1e9)
      for (let seed = firstSeed; seed < firstSeed + SCHEDULES; seed += 1)
        await runSchedule(rig, createPrng(seed)).catch((cause) => {
          throw new Error(`with the seed ${seed}`, { cause })
        })
    },
  )
})
