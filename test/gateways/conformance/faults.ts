// The allowed outcomes of a request that fails, as data. The rule: if the effect is not certain the outcome is
// `unknown`, and only a request that provably began nothing is a refusal.

import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type {
  Gateway,
  Outcome,
  RefundOutcome,
  StartedCheckout,
  UnknownReason,
} from '../../../src/gateways/gateway.ts'
import type { Fault } from '../fake-server.ts'
import type { Rig } from './rig.ts'
import type { EmptyReply, Subject } from './subject.ts'

interface FaultCase {
  kind: Fault
  title: string
  /** The allowed reasons; more than one if both are correct. */
  reasons: readonly UnknownReason[]
}

const LOST: readonly UnknownReason[] = ['no_answer']
const UNREADABLE: readonly UnknownReason[] = ['unreadable']
const EITHER: readonly UnknownReason[] = ['no_answer', 'unreadable', 'unrecognized']

/** After each of these faults the provider may have acted. */
export const AMBIGUOUS_FAULTS: readonly FaultCase[] = [
  { kind: 'hang', title: 'the provider never responds', reasons: LOST },
  { kind: 'hang_after_acting', title: 'the provider acts and never responds', reasons: LOST },
  { kind: 'cut_off', title: 'the connection is cut', reasons: LOST },
  { kind: 'cut_off_after_acting', title: 'the provider acts and the connection is cut', reasons: LOST },
  { kind: 'http_500', title: 'the provider fails', reasons: LOST },
  { kind: 'http_500_after_acting', title: 'the provider acts and reports an error', reasons: LOST },
  { kind: 'html_503', title: 'a proxy responds with a page', reasons: LOST },
  // Not the provider's word on the credentials, so neither a refusal nor a decline.
  { kind: 'html_403', title: 'a firewall responds with a page', reasons: EITHER },
  { kind: 'garbage', title: 'the response is garbage', reasons: UNREADABLE },
  { kind: 'truncated', title: 'the response is truncated', reasons: UNREADABLE },
  { kind: 'huge_body', title: 'the response has ten megabytes', reasons: EITHER },
  // Another request with the same key may be in progress, so a conflict is not a refusal.
  { kind: 'http_409', title: 'the provider reports a conflict', reasons: EITHER },
]

export function repliesEmpty({ emptyReplies }: Subject, operation: EmptyReply): boolean {
  return emptyReplies === true || (emptyReplies?.includes(operation) ?? false)
}

/** The faults of a submission: half of an empty response is the whole response. */
export function submissionFaults(subject: Subject, operation: EmptyReply): readonly FaultCase[] {
  return repliesEmpty(subject, operation)
    ? AMBIGUOUS_FAULTS.filter(({ kind }) => kind !== 'truncated')
    : AMBIGUOUS_FAULTS
}

// Short, because every hang takes this long. On a busy machine no request may reach the fake in this time: then longer.
const TIMEOUTS_MS = [800, 3_200, 12_800]
// An operation may make a second request, but no more than that.
const MAX_HANGS = 2

/** The result of the operation with this fault, within the client's timeout. Clears the fault afterwards. */
export function queryWithFault<Answer>(rig: Rig, kind: Fault, query: Call<Answer>): Promise<Answer> {
  return callWithFault(rig, kind, undefined, query)
}

/** The same for a submission: status checks before it succeed, so that the fault hits the submission. */
export function submitWithFault<Answer>(rig: Rig, kind: Fault, act: Call<Answer>): Promise<Answer> {
  return callWithFault(rig, kind, /^(?!GET )/, act)
}

type Call<Answer> = (gateway: Gateway) => Promise<Answer>

async function callWithFault<Answer>(
  rig: Rig,
  kind: Fault,
  on: RegExp | undefined,
  query: Call<Answer>,
): Promise<Answer> {
  const { server } = rig.provider
  const hangs = kind === 'hang' || kind === 'hang_after_acting'
  server.injectFault(kind, { on })
  const answer = await (hangs ? callUntilReceived(rig, on ?? /./, query) : query(rig.gateway))
  server.clearFaults()
  return answer
}

async function callUntilReceived<Answer>(rig: Rig, on: RegExp, query: Call<Answer>): Promise<Answer> {
  const { requests } = rig.provider.server
  for (const timeoutMs of TIMEOUTS_MS) {
    const before = requests.length
    const answer = await query(rig.open({ timeoutMs }))
    const received = requests.slice(before).filter(({ method, path }) => on.test(`${method} ${path}`))
    assert.ok(received.length <= MAX_HANGS, `made ${received.length} requests`)
    if (received.length > 0) return answer
  }
  return assert.fail('no request reached the provider')
}

/** An operation that runs many times, each time on a new object. */
export interface Scenario<Thing, Answer> {
  make(): Promise<Thing>
  act(thing: Thing): Promise<Answer>
  /** Runs without a fault. */
  check(thing: Thing, answer: Answer): Promise<void>
}

/** Runs the check, and adds the case to its error. */
export async function withFailureContext(which: string, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (cause) {
    throw new Error(which, { cause })
  }
}

// Faults that take no time: an operation of several requests runs with each of them at each request.
const QUICK_FAULTS: readonly Fault[] = [
  'cut_off',
  'cut_off_after_acting',
  'http_500',
  'http_500_after_acting',
  'garbage',
  'http_409',
  'http_429',
]

/** Runs the operation once for each of its requests and each fault of that request. */
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

/** Not final: only a status check or a retry may follow. */
export function assertNotFinal(outcome: StartedCheckout | Outcome | RefundOutcome): void {
  const open: readonly string[] = ['started', 'pending', 'unknown']
  assert.ok(open.includes(outcome.kind), inspect(outcome))
}

/** The provider began nothing, and another gateway may be tried. */
export function assertRejected(outcome: StartedCheckout | Outcome): void {
  assert.ok(outcome.kind === 'declined', inspect(outcome))
  assert.equal(outcome.code, 'provider_unavailable')
  assert.equal(outcome.refused, true)
  assert.notEqual(outcome.message, '')
}

/** From now on connections are refused. The returned gateway has no pooled connection that could break in use. */
export async function refuseConnections(rig: Rig): Promise<Gateway> {
  await rig.provider.server.close()
  return rig.open({})
}
