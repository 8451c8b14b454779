// Charging a saved method without the payer. The charge itself moves money, so every lost response must end as exactly
// one execution.

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, Gateway, Outcome } from '../../../src/gateways/gateway.ts'
import {
  assertNotFinal,
  assertRejected,
  assertUnknown,
  failEachRequest,
  refuseConnections,
  submissionFaults,
  submitWithFault,
} from './faults.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { ChargeBehavior, Subject } from './subject.ts'

export function testCharge(subject: Subject): void {
  describe('a charge', { concurrency: CONCURRENCY }, () => {
    testSaving(subject)
    testAnswers(subject)
    testLostAnswers(subject)
  })
}

function testSaving(subject: Subject): void {
  if (subject.savesNothing) {
    it('has no method of a paid checkout that cannot be charged again', async (t) => {
      const { paid } = await (await startRig(t, subject)).payNew()
      assert.equal(paid.savedMethod, null)
    })
    return
  }

  it('can use the method that a paid checkout saved', async (t) => {
    const rig = await startRig(t, subject)
    const { paid } = await rig.payNew()
    assert.ok(paid.savedMethod, 'the method is saved')
    const { credential, fingerprint, currencies } = paid.savedMethod
    assert.notEqual(fingerprint, '')
    assert.ok(currencies.includes(subject.amount.currency))
    const attempt = rig.makeAttempt('charge')
    assertCharged(await charge(rig.gateway, attempt, credential), attempt)
    assert.equal(await rig.provider.executions(attempt.key), 1)
  })

  it('finds the same fingerprint for the same method of the same payer', async (t) => {
    const rig = await startRig(t, subject)
    const [first, second] = [await rig.payNew(), await rig.payNew()]
    assert.equal(first.paid.savedMethod?.fingerprint, second.paid.savedMethod?.fingerprint)
  })
}

function testAnswers(subject: Subject): void {
  it('returns the amount, the currency and the key if it is approved, and again in a status check', async (t) => {
    const { rig, attempt, credential } = await prepareCharge(t, subject, 'approves')
    const outcome = await charge(rig.gateway, attempt, credential)
    assertCharged(outcome, attempt)
    assertCharged(await rig.gateway.verify(attempt, outcome.gatewayReference), attempt)
  })

  it('takes the money once, even if it is submitted several times', async (t) => {
    const { rig, attempt, credential } = await prepareCharge(t, subject, 'approves')
    if (rig.gateway.behavior.notResendable) return t.skip('the service does not submit it again')
    await charge(rig.gateway, attempt, credential)
    const again = await charge(rig.gateway, attempt, credential)
    // A provider without replays may not repeat its response, but must not report a failure.
    if (again.kind !== 'succeeded') assertNotFinal(again)
    assert.equal(await rig.provider.executions(attempt.key), 1)
  })

  it('takes the money once if it is submitted twice at the same time', async (t) => {
    const { rig, attempt, credential } = await prepareCharge(t, subject, 'approves')
    if (rig.gateway.behavior.notResendable) return t.skip('the service does not submit it again')
    const submit = () => charge(rig.gateway, attempt, credential)
    for (const outcome of await Promise.all([submit(), submit()]))
      if (outcome.kind !== 'succeeded') assertNotFinal(outcome)
    assertCharged(await resolve(rig, attempt, credential), attempt)
    assert.equal(await rig.provider.executions(attempt.key), 1)
  })

  it('is pending while the provider processes it', async (t) => {
    const prepared = await prepareIfSupported(t, subject, 'waits')
    if (!prepared) return t.skip('its charges never wait')
    const { rig, attempt, credential } = prepared
    const outcome = await charge(rig.gateway, attempt, credential)
    assert.ok(outcome.kind === 'pending', inspect(outcome))
    assert.equal((await rig.gateway.verify(attempt, outcome.gatewayReference)).kind, 'pending')
  })

  it('is declined as authentication_required if the bank wants the customer', async (t) => {
    const { rig, attempt, credential } = await prepareCharge(t, subject, 'wants_customer')
    const outcome = await charge(rig.gateway, attempt, credential)
    assert.ok(outcome.kind === 'declined', inspect(outcome))
    assert.equal(outcome.code, 'authentication_required')
    assert.equal(outcome.refused, undefined)
    assert.equal(await rig.provider.executions(attempt.key), 0)
  })

  for (const { how, code } of subject.declines.filter(({ on }) => on === 'charge')) {
    it(`is declined as ${code} if it ends with ${how}`, async (t) => {
      const { rig, attempt, credential } = await prepareCharge(t, subject, { declines: how })
      const outcome = await charge(rig.gateway, attempt, credential)
      assert.ok(outcome.kind === 'declined', inspect(outcome))
      assert.equal(outcome.code, code)
      assert.notEqual(outcome.message, '')
      assert.equal(outcome.refused, undefined)
      assert.equal(await rig.provider.executions(attempt.key), 0)
    })
  }
}

function testLostAnswers(subject: Subject): void {
  it('was not sent if the connection is refused', async (t) => {
    const { rig, attempt, credential } = await prepareCharge(t, subject, 'approves')
    const gateway = await refuseConnections(rig)
    assertUnknown(await charge(gateway, attempt, credential), ['not_sent'])
  })

  it('is refused with credentials that the provider does not know', async (t) => {
    const { rig, attempt, credential } = await prepareCharge(t, subject, 'approves')
    assertRejected(await charge(rig.open({ credentials: subject.otherCredentials }), attempt, credential))
    assert.equal(await rig.provider.executions(attempt.key), 0)
  })

  // A refusal would be final: unlike a checkout, no other gateway can take it over.
  it('is unknown after a rate limit, and ends as one execution', async (t) => {
    const { rig, attempt, credential } = await prepareCharge(t, subject, 'approves')
    const call = (gateway: Gateway) => charge(gateway, attempt, credential)
    assertUnknown(await submitWithFault(rig, 'http_429', call), ['no_answer'])
    await assertResolved(rig, attempt, credential)
  })

  for (const { kind, title, reasons } of submissionFaults(subject, 'charge')) {
    it(`is unknown if ${title}, and ends as one execution`, async (t) => {
      const { rig, attempt, credential } = await prepareCharge(t, subject, 'approves')
      const call = (gateway: Gateway) => charge(gateway, attempt, credential)
      assertUnknown(await submitWithFault(rig, kind, call), reasons)
      await assertResolved(rig, attempt, credential)
    })
  }

  it('ends as one execution, whichever of its requests fails', async (t) => {
    const { rig, credential } = await prepareCharge(t, subject, 'approves')
    await failEachRequest(rig, {
      make: async () => rig.makeAttempt('charge'),
      act: (attempt) => charge(rig.gateway, attempt, credential),
      async check(attempt, outcome) {
        if (outcome.kind !== 'succeeded') assertNotFinal(outcome)
        await assertResolved(rig, attempt, credential)
      },
    })
  })
}

/** A charge with this behavior, if the provider supports it. */
async function prepareIfSupported(t: TestContext, subject: Subject, behavior: ChargeBehavior) {
  const rig = await startRig(t, subject)
  assert.ok(rig.provider.savedCredential, 'the fake provider has saved credentials')
  const credential = await rig.provider.savedCredential(behavior)
  return credential === null ? undefined : { rig, attempt: rig.makeAttempt('charge'), credential }
}

export async function prepareCharge(t: TestContext, subject: Subject, behavior: ChargeBehavior) {
  const prepared = await prepareIfSupported(t, subject, behavior)
  assert.ok(prepared, 'every provider supports such charges')
  return prepared
}

/** A charge in two steps is completed too. */
export async function charge(gateway: Gateway, attempt: Attempt, credential: string): Promise<Outcome> {
  assert.ok(gateway.chargeSaved, 'the gateway has chargeSaved')
  const outcome = await gateway.chargeSaved(attempt, credential)
  if (!gateway.complete || outcome.kind !== 'pending' || !outcome.canComplete) return outcome
  assert.ok(outcome.gatewayReference, 'the completing call names the payment')
  return gateway.complete(attempt, outcome.gatewayReference, credential)
}

function assertCharged(
  outcome: Outcome,
  attempt: Attempt,
): asserts outcome is Extract<Outcome, { kind: 'succeeded' }> {
  assert.ok(outcome.kind === 'succeeded', inspect(outcome))
  assert.deepEqual(outcome.paid, attempt.amount)
  assert.equal(outcome.key, attempt.key)
}

/** It ends as one execution. What cannot be submitted again ends as what the provider has, and the status check finds it. */
async function assertResolved(rig: Rig, attempt: Attempt, credential: string): Promise<void> {
  if (!rig.gateway.behavior.notResendable) {
    assertCharged(await resolve(rig, attempt, credential), attempt)
    assert.equal(await rig.provider.executions(attempt.key), 1)
    return
  }
  const outcome = await rig.gateway.verify(attempt, null)
  const executions = await rig.provider.executions(attempt.key)
  if (executions === 0) return assertNotFinal(outcome)
  assert.equal(executions, 1)
  assertCharged(outcome, attempt)
}

/** As the service does after `unknown`: a status check, and only if that finds nothing the same request again. */
async function resolve(rig: Rig, attempt: Attempt, credential: string): Promise<Outcome> {
  const outcome = await rig.gateway.verify(attempt, null)
  if (outcome.kind === 'succeeded') return outcome
  assertNotFinal(outcome)
  return charge(rig.gateway, attempt, credential)
}
