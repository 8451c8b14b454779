// What a process that died has left for others, each due at once; whoever takes it up may stumble too.

import assert from 'node:assert/strict'
import { sql } from '../../../src/kit/db.ts'
import type { Failpoint } from '../../../src/kit/failpoints.ts'
import { initiateBody } from '../../support/builders.ts'
import { eventually } from '../../support/process.ts'
import { type Case, charge, type Operation, refund } from './operations.ts'
import { endEveryLease, type Stage } from './stage.ts'

export type Leftover = Pick<Case, 'ended'>

/** The request broke off at this point, right after its record was written. */
function brokenOff(operation: Operation, point: Failpoint) {
  return async (stage: Stage): Promise<Leftover> => {
    const left = await operation(stage)
    const sprung = stage.traps.arm(point, 'throw')
    await left.send(stage.stumbling.api)
    await sprung
    await endEveryLease(stage)
    return left
  }
}

export const unresolvedCharge = brokenOff(charge, 'charge.after_record')
export const unresolvedRefund = brokenOff(refund, 'refund.after_record')

const INITIATE = '/api/v1/checkout/initiate-payment'
const PATIENCE_MS = 60_000

const passTime = sql<unknown>`
update payments
set due_at = now()
where id = $1 and due_at is not null`

/** A checkout whose time has passed. Its lease is half a minute, which a test does not wait for. */
export async function pastCheckout({ healthy, deployment }: Stage): Promise<Leftover> {
  const { uuid } = (await healthy.api.post(INITIATE, initiateBody())).body.data
  const endLease = () => deployment.db.query(passTime, [uuid])
  await endLease()
  return {
    async ended() {
      const look = async () => {
        await endLease()
        return deployment.snapshotOf(uuid)
      }
      const { events } = await eventually(look, ({ status }) => status === 'expired', PATIENCE_MS)
      assert.deepEqual(events, ['payment.pending', 'payment.expired'])
    },
  }
}

/** An event that the merchant was not told of. */
export async function untoldEvent({ healthy, consumer }: Stage): Promise<Leftover> {
  const { uuid } = (await healthy.api.post(INITIATE, initiateBody())).body.data
  return {
    async ended() {
      const receipts = () => consumer.receipts.filter(({ resource }) => resource === uuid)
      await eventually(receipts, ({ length }) => length > 0, PATIENCE_MS)
      // However often it came, it is one event, and each time in the same words.
      assert.equal(new Set(receipts().map(({ id, body }) => `${id} ${body}`)).size, 1)
    },
  }
}
