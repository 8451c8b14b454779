// What may be said about a request that ran into trouble, as data. The rule behind all of it: whoever cannot know says
// `unknown`, and only what provably began nothing is a refusal.

import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { Gateway, Outcome, RefundOutcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import type { Fault } from '../fake-server.ts'
import type { Rig } from './rig.ts'

type UnknownReason = Extract<Outcome, { kind: 'unknown' }>['reason']

interface FaultCase {
  kind: Fault
  title: string
  /** What a connector may answer for a reason; more than one where both readings are honest. */
  reasons: readonly UnknownReason[]
}

const LOST: readonly UnknownReason[] = ['no_answer']
const UNREADABLE: readonly UnknownReason[] = ['unreadable']
const EITHER: readonly UnknownReason[] = ['no_answer', 'unreadable']

/** After each of these nobody can know whether the provider acted. */
export const AMBIGUOUS_FAULTS: readonly FaultCase[] = [
  { kind: 'hang', title: 'the provider never answers', reasons: LOST },
  { kind: 'hang_after_acting', title: 'the provider acts and never answers', reasons: LOST },
  { kind: 'cut_off', title: 'the connection is cut', reasons: LOST },
  { kind: 'cut_off_after_acting', title: 'the provider acts and the connection is cut', reasons: LOST },
  { kind: 'http_500', title: 'the provider fails', reasons: LOST },
  { kind: 'http_500_after_acting', title: 'the provider acts and says that it failed', reasons: LOST },
  { kind: 'html_503', title: 'a proxy answers with a page', reasons: LOST },
  { kind: 'garbage', title: 'the answer is garbage', reasons: UNREADABLE },
  { kind: 'truncated', title: 'the answer is half of one', reasons: UNREADABLE },
  { kind: 'huge_body', title: 'the answer has ten megabytes', reasons: EITHER },
  // Another request under the same key may be at work right now, so a conflict is no refusal.
  { kind: 'http_409', title: 'the provider sees a conflict', reasons: EITHER },
]

// Short, because every hang costs it; long enough for a request to reach the fake on a busy machine.
const SHORT_TIMEOUT_MS = 800
// A verb may take a second call to find its message, but no more than that.
const MAX_ELAPSED_MS = 2 * SHORT_TIMEOUT_MS + 500

/** What the verb answers in this trouble, within the time that its client allows. Leaves a calm provider behind. */
export function queryWithFault<Answer>(rig: Rig, kind: Fault, ask: Call<Answer>): Promise<Answer> {
  return callWithFault(rig, kind, undefined, ask)
}

/** The same for a verb that acts: what it may have to ask before goes well, so that the trouble meets the act. */
export function submitWithFault<Answer>(rig: Rig, kind: Fault, act: Call<Answer>): Promise<Answer> {
  return callWithFault(rig, kind, /^(?!GET )/, act)
}

type Call<Answer> = (gateway: Gateway) => Promise<Answer>

async function callWithFault<Answer>(
  rig: Rig,
  kind: Fault,
  on: RegExp | undefined,
  ask: Call<Answer>,
): Promise<Answer> {
  const { server } = rig.provider
  const hangs = kind === 'hang' || kind === 'hang_after_acting'
  const gateway = hangs ? rig.open({ timeoutMs: SHORT_TIMEOUT_MS }) : rig.gateway
  server.injectFault(kind, { on })
  const startedMs = performance.now()
  const answer = await ask(gateway)
  const tookMs = performance.now() - startedMs
  if (hangs) assert.ok(tookMs <= MAX_ELAPSED_MS, `answered after ${Math.round(tookMs)} ms`)
  server.clearFaults()
  return answer
}

/** A verb that is tried in many ways, each time on something new. */
export interface Scenario<Thing, Answer> {
  make(): Promise<Thing>
  act(thing: Thing): Promise<Answer>
  /** Finds a calm provider. */
  check(thing: Thing, answer: Answer): Promise<void>
}

/** Runs the check, and says in which of many cases it failed. */
export async function withFailureContext(which: string, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (cause) {
    throw new Error(which, { cause })
  }
}

// Those that take no time: a verb of several requests is tried with each of them at each request.
const QUICK_FAULTS: readonly Fault[] = [
  'cut_off',
  'cut_off_after_acting',
  'http_500',
  'http_500_after_acting',
  'garbage',
  'http_409',
  'http_429',
]

/** Tries the verb once for each of its requests and each trouble that this one request runs into. */
export async function failEachRequest<Thing, Answer>(
  rig: Rig,
  scenario: Scenario<Thing, Answer>,
): Promise<void> {
  const { server } = rig.provider
  const first = await scenario.make()
  const requestsBefore = server.requests.length
  await scenario.act(first)
  const requests = server.requests.slice(requestsBefore)
  for (const [after, { method, path }] of requests.entries())
    for (const kind of QUICK_FAULTS) {
      const thing = await scenario.make()
      server.injectFault(kind, { after, times: 1 })
      await withFailureContext(`with ${kind} of ${method} ${path}, request ${after + 1}`, async () => {
        const answer = await scenario.act(thing)
        server.clearFaults()
        await scenario.check(thing, answer)
      })
    }
}

export function assertUnknown(
  outcome: StartedCheckout | Outcome | RefundOutcome,
  reasons: readonly UnknownReason[],
): void {
  assert.ok(outcome.kind === 'unknown', inspect(outcome))
  assert.ok(reasons.includes(outcome.reason), inspect(outcome))
  assert.notEqual(outcome.message, '')
}

/** Not an ending of any kind: asking again stays the only legal next step. */
export function assertNotFinal(outcome: StartedCheckout | Outcome | RefundOutcome): void {
  const open: readonly string[] = ['started', 'pending', 'unknown']
  assert.ok(open.includes(outcome.kind), inspect(outcome))
}

/** The provider would not even begin, and another gateway may be tried. */
export function assertRejected(outcome: StartedCheckout | Outcome): void {
  assert.ok(outcome.kind === 'declined', inspect(outcome))
  assert.equal(outcome.code, 'provider_unavailable')
  assert.equal(outcome.refused, true)
  assert.notEqual(outcome.message, '')
}

/** From now on connections are refused, to a gateway that has none in its pool that could break in its hands. */
export async function refuseConnections(rig: Rig): Promise<Gateway> {
  await rig.provider.server.close()
  return rig.open({})
}
