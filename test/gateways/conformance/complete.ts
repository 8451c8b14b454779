// The completing call: the payer has confirmed, or a saved method is charged, and the provider moves the money when we
// call.

import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import type { Attempt, Gateway, Outcome } from '../../../src/gateways/gateway.ts'
import { prepareCharge } from './charge.ts'
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
      const { rig, makeOpen } = await prepare(t, subject)
      const open = await makeOpen()
      assert.equal(await rig.provider.executions(open.attempt.key), 0)
      assertPaid(await complete(rig.gateway, open), open.attempt)
      assert.equal(await rig.provider.executions(open.attempt.key), 1)
      assertPaid(await rig.gateway.verify(open.attempt, open.reference), open.attempt)
    })

    it('is not asked for before the payer has confirmed, and takes nothing then', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      const before = await rig.gateway.verify(attempt, reference)
      assert.ok(!(before.kind === 'pending' && before.canComplete), inspect(before))
      const outcome = await complete(rig.gateway, { attempt, reference })
      if (!(outcome.kind === 'declined' && outcome.refused)) assertNotFinal(outcome)
      assert.equal(await rig.provider.executions(attempt.key), 0)
    })

    it('takes the money once if it arrives twice, and never reports a decline of what was paid', async (t) => {
      const { rig, makeOpen } = await prepare(t, subject)
      const open = await makeOpen()
      const call = () => complete(rig.gateway, open)
      for (const outcome of await Promise.all([call(), call()]))
        if (outcome.kind !== 'succeeded') assertNotFinal(outcome)
      assertPaid(await rig.gateway.verify(open.attempt, open.reference), open.attempt)
      assert.equal(await rig.provider.executions(open.attempt.key), 1)
    })

    it('was not sent if the connection is refused', async (t) => {
      const { rig, makeOpen } = await prepare(t, subject)
      const open = await makeOpen()
      const gateway = await refuseConnections(rig)
      assertUnknown(await complete(gateway, open), ['not_sent'])
    })

    for (const { kind, title, reasons } of submissionFaults(subject, 'complete')) {
      it(`is unknown if ${title}, and the status check says whether it took the money`, async (t) => {
        const { rig, makeOpen } = await prepare(t, subject)
        const open = await makeOpen()
        assertUnknown(await submitWithFault(rig, kind, (gateway) => complete(gateway, open)), reasons)
        await assertVerified(rig, open)
      })
    }

    it('is unknown or succeeds, whichever of its requests fails', async (t) => {
      const { rig, makeOpen } = await prepare(t, subject)
      await failEachRequest(rig, {
        make: makeOpen,
        act: (open) => complete(rig.gateway, open),
        async check(open, outcome) {
          if (outcome.kind !== 'succeeded') assertNotFinal(outcome)
          await assertVerified(rig, open)
        },
      })
    })
  })
}

/** What the completing call is made for. */
interface Open {
  attempt: Attempt
  reference: string
  /** Of a charge. */
  credential?: string
}

async function prepare(t: TestContext, subject: Subject) {
  if (!subject.completesCharges) {
    const rig = await startRig(t, subject)
    return { rig, makeOpen: () => confirmNew(rig) }
  }
  const { rig, credential } = await prepareCharge(t, subject, 'approves')
  return { rig, makeOpen: () => chargeNew(rig, credential) }
}

/** A checkout that its payer has confirmed. */
async function confirmNew(rig: Rig): Promise<Open> {
  const { attempt, reference } = await rig.startNew()
  assert.ok(rig.provider.confirm, 'the fake provider has payers who confirm')
  await rig.provider.confirm(attempt.key)
  return requireOpen(rig, attempt, reference)
}

/** A charge that the provider has recorded. */
export async function chargeNew(rig: Rig, credential: string): Promise<Open> {
  const attempt = rig.makeAttempt('charge')
  const begun = await rig.gateway.chargeSaved?.(attempt, credential)
  assert.ok(begun?.kind === 'pending' && begun.gatewayReference, inspect(begun))
  return { ...(await requireOpen(rig, attempt, begun.gatewayReference)), credential }
}

async function requireOpen(rig: Rig, attempt: Attempt, reference: string): Promise<Open> {
  const outcome = await rig.gateway.verify(attempt, reference)
  assert.ok(outcome.kind === 'pending' && outcome.canComplete, inspect(outcome))
  return { attempt, reference: outcome.gatewayReference ?? reference }
}

function complete(gateway: Gateway, { attempt, reference, credential }: Open): Promise<Outcome> {
  assert.ok(gateway.complete, 'the gateway has complete')
  return gateway.complete(attempt, reference, credential)
}

function assertPaid(outcome: Outcome, attempt: Attempt): void {
  assert.ok(outcome.kind === 'succeeded', inspect(outcome))
  assert.deepEqual(outcome.paid, attempt.amount)
  assert.equal(outcome.key, attempt.key)
}

/** The status check agrees with the provider's records. */
async function assertVerified(rig: Rig, { attempt, reference }: Open): Promise<void> {
  const outcome = await rig.gateway.verify(attempt, reference)
  const executions = await rig.provider.executions(attempt.key)
  if (executions === 0) assert.equal(outcome.kind, 'pending', inspect(outcome))
  else assertPaid(outcome, attempt)
  assert.ok(executions <= 1)
}
