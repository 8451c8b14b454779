// Cancelling a checkout before the payer has paid, or too late.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { Gateway, Outcome, StatusQuery } from '../../../src/gateways/gateway.ts'
import { assertUnknown, refuseConnections, submissionFaults, submitWithFault } from './faults.ts'
import { CONCURRENCY, startRig } from './rig.ts'
import type { Subject } from './subject.ts'

export function testCancel(subject: Subject): void {
  describe('a cancelled checkout', { concurrency: CONCURRENCY }, () => {
    it('is declined, and stays declined when the payer opens the page', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      assertDeclined(await cancel(rig.gateway, attempt, reference))
      assertDeclined(await rig.gateway.verify(attempt, reference))
      assertDeclined(await cancel(rig.gateway, attempt, reference))
      assert.equal(await rig.provider.executions(attempt.key), 0)
    })

    it('stays paid if it was paid before', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, paid } = await rig.payNew()
      assert.deepEqual(await cancel(rig.gateway, attempt, paid.gatewayReference), paid)
      assert.deepEqual(await rig.gateway.verify(attempt, paid.gatewayReference), paid)
    })

    it('was not cancelled if the connection is refused', async (t) => {
      const rig = await startRig(t, subject)
      const { attempt, reference } = await rig.startNew()
      const gateway = await refuseConnections(rig)
      assertUnknown(await cancel(gateway, attempt, reference), ['not_sent'])
    })

    for (const { kind, title, reasons } of submissionFaults(subject, 'cancel')) {
      it(`is unknown if ${title}, and can be cancelled again`, async (t) => {
        const rig = await startRig(t, subject)
        const { attempt, reference } = await rig.startNew()
        const call = (gateway: Gateway) => cancel(gateway, attempt, reference)
        assertUnknown(await submitWithFault(rig, kind, call), reasons)
        assertDeclined(await cancel(rig.gateway, attempt, reference))
      })
    }
  })
}

function cancel(gateway: Gateway, query: StatusQuery, reference: string | null): Promise<Outcome> {
  assert.ok(gateway.cancel, 'the gateway has cancel')
  return gateway.cancel(query, reference)
}

function assertDeclined(outcome: Outcome): void {
  assert.ok(outcome.kind === 'declined', inspect(outcome))
  assert.notEqual(outcome.message, '')
}
