// Unfinished work of a process that died, each due at once; the process that takes it over may fail too.

import assert from 'node:assert/strict'
import { sql } from '../../../src/kit/db/db.ts'
import type { Failpoint } from '../../../src/kit/failpoints.ts'
import { initiateBody } from '../../support/builders.ts'
import { eventually } from '../../support/process.ts'
import { expireLeases, type Harness } from './harness.ts'
import { type Case, charge, type Operation, refund } from './operations.ts'

export type UnfinishedWork = Pick<Case, 'assertCompleted'>

/** A request that failed at this point, right after its record was written. */
function abortedAt(operation: Operation, point: Failpoint) {
  return async (harness: Harness): Promise<UnfinishedWork> => {
    const left = await operation(harness)
    const triggered = harness.failpoints.arm(point, 'throw')
    await left.send(harness.failing.api)
    await triggered
    await expireLeases(harness)
    return left
  }
}

export const unresolvedCharge = abortedAt(charge, 'charge.after_record')
export const unresolvedRefund = abortedAt(refund, 'refund.after_record')

const INITIATE = '/api/v1/checkout/initiate-payment'
const TIMEOUT_MS = 60_000

const makeDue = sql<unknown>`
update payments
set due_at = now()
where id = $1 and due_at is not null`

/** An expired checkout. Its lease is half a minute, which a test does not wait for. */
export async function expiredCheckout({ healthy, deployment }: Harness): Promise<UnfinishedWork> {
  const { uuid } = (await healthy.api.post(INITIATE, initiateBody())).body.data
  const endLease = () => deployment.db.query(makeDue, [uuid])
  await endLease()
  return {
    async assertCompleted() {
      const readState = async () => {
        await endLease()
        return deployment.snapshotOf(uuid)
      }
      const { events } = await eventually(readState, ({ status }) => status === 'expired', TIMEOUT_MS)
      assert.deepEqual(events, ['payment.pending', 'payment.expired'])
    },
  }
}

/** An event that was not delivered to the merchant. */
export async function undeliveredEvent({ healthy, consumer }: Harness): Promise<UnfinishedWork> {
  const { uuid } = (await healthy.api.post(INITIATE, initiateBody())).body.data
  return {
    async assertCompleted() {
      const receipts = () => consumer.receipts.filter(({ resource }) => resource === uuid)
      await eventually(receipts, ({ length }) => length > 0, TIMEOUT_MS)
      // Every delivery has the same event id and the same body.
      assert.equal(new Set(receipts().map(({ id, body }) => `${id} ${body}`)).size, 1)
    },
  }
}
