// The completing call: the payer has confirmed, and the provider moves the money when we call.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, Gateway, Outcome } from '../../../src/gateways/gateway.ts'
import {
  assertNotFinal,
  assertUnknown,
  failEachRequest,
  refuseConnections,
  submissionFaults,
  submitWithFault,
} from './faults.ts'
import { CONCURRENCY, type Rig, startRig } from './rig.ts'
import type { Subject } from './subject.ts'

export function testComplete(subject: Subject): void {
  describe('a completing call', { concurrency: CONCURRENCY }, () => {
    it('is asked for when the payer has confirmed, and takes the money once', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await confirmNew(rig)
      assert.equal(await rig.provider.executions(attempt.key), 0)
      assertPaid(await complete(rig.gateway, attempt, reference), attempt)
      assert.equal(await rig.provider.executions(attempt.key), 1)
      assertPaid(await rig.gateway.verify(attempt, reference), attempt)
    })

    it('is not asked for before the payer has confirmed, and takes nothing then', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      const before = await rig.gateway.verify(attempt, reference)
      assert.ok(!(before.kind === 'pending' && before.canComplete), inspect(before))
      const outcome = await complete(rig.gateway, attempt, reference)
      if (!(outcome.kind === 'declined' && outcome.refused)) assertNotFinal(outcome)
      assert.equal(await rig.provider.executions(attempt.key), 0)
    })

    it('takes the money once if it arrives twice, and never reports a decline of what was paid', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await confirmNew(rig)
      const call = () => complete(rig.gateway, attempt, reference)
      for (const outcome of await Promise.all([call(), call()]))
        if (outcome.kind !== 'succeeded') assertNotFinal(outcome)
      assertPaid(await rig.gateway.verify(attempt, reference), attempt)
      assert.equal(await rig.provider.executions(attempt.key), 1)
    })

    it('was not sent if the connection is refused', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await confirmNew(rig)
      const gateway = await refuseConnections(rig)
      assertUnknown(await complete(gateway, attempt, reference), ['not_sent'])
    })

    for (const { kind, title, reasons } of submissionFaults(subject, 'complete')) {
      it(`is unknown if ${title}, and the status check says whether it took the money`, async (t) => {
        const rig = await startRig(t, subject)
        const { attempt, reference } = await confirmNew(rig)
        const call = (gateway: Gateway) => complete(gateway, attempt, reference)
        assertUnknown(await submitWithFault(rig, kind, call), reasons)
        await assertVerified(rig, attempt, reference)
      })
    }

    it('is unknown or succeeds, whichever of its requests fails', async (t) => {
      const rig = await startRig(t, subject)
      await failEachRequest(rig, {
        make: () => confirmNew(rig),
        act: ({ attempt, reference }) => complete(rig.gateway, attempt, reference),
        async check({ attempt, reference }, outcome) {
          if (outcome.kind !== 'succeeded') assertNotFinal(outcome)
          await assertVerified(rig, attempt, reference)
        },
      })
    })
  })
}

/** A checkout that its payer has confirmed. */
async function confirmNew(rig: Rig): Promise<{ attempt: Attempt; reference: string }> {
  const { attempt, reference } = await rig.startNew()
  assert.ok(rig.provider.confirm, 'the fake provider has payers who confirm')
  await rig.provider.confirm(attempt.key)
  const outcome = await rig.gateway.verify(attempt, reference)
  assert.ok(outcome.kind === 'pending' && outcome.canComplete, inspect(outcome))
  return { attempt, reference: outcome.gatewayReference ?? reference }
}

function complete(gateway: Gateway, attempt: Attempt, reference: string): Promise<Outcome> {
  assert.ok(gateway.complete, 'the gateway has complete')
  return gateway.complete(attempt, reference)
}

function assertPaid(outcome: Outcome, attempt: Attempt): void {
  assert.ok(outcome.kind === 'succeeded', inspect(outcome))
  assert.deepEqual(outcome.paid, attempt.amount)
  assert.equal(outcome.key, attempt.key)
}

/** The status check agrees with the provider's records. */
async function assertVerified(rig: Rig, attempt: Attempt, reference: string): Promise<void> {
  const outcome = await rig.gateway.verify(attempt, reference)
  const executions = await rig.provider.executions(attempt.key)
  if (executions === 0) assert.equal(outcome.kind, 'pending', inspect(outcome))
  else assertPaid(outcome, attempt)
  assert.ok(executions <= 1)
}
