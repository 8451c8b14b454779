// F-23: another session holds a row lock. The request that needs the row gets 503; other requests in the same batch
// succeed.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { DbUnavailable, sql, type Tx } from '../../src/kit/db/db.ts'
import { movePaymentWithin, plainMove } from '../../src/payments/move.ts'
import { assertApiError } from '../support/assertions.ts'
import { CUSTOMER, initiateBody } from '../support/builders.ts'
import { paymentsRig } from '../support/payments-rig.ts'
import { testService } from '../support/service.ts'

const INITIATE = '/api/v1/checkout/initiate-payment'

const rig = await paymentsRig({ after })
const service = await testService({ after })

const lockCustomer = sql<{ id: string }>`
select id
from customers
where email_key = $1
for update`

type Locking = { transaction(work: (tx: Tx) => Promise<void>): Promise<void> }

/** Runs the callback while another session locks the customer's row. */
function whileLocked(db: Locking, email: string, work: () => Promise<void>): Promise<void> {
  return db.transaction(async (tx) => {
    assert.equal((await tx.query(lockCustomer, [email])).length, 1)
    await work()
  })
}

const emails = Array.from({ length: 12 }, (_, n) => `payer-${n}@example.com`)
const LOCKED = 'payer-5@example.com'

describe('one customer whose row is locked by another session', () => {
  it('a locked row fails no other row of the batch (F-23)', async () => {
    await rig.checkout(LOCKED)
    await whileLocked(rig.db, LOCKED, async () => {
      // In one turn of the event loop, so in one batch.
      const answers = await Promise.allSettled(emails.map((email) => rig.checkout(email)))
      const lost = emails.filter((_, n) => answers[n]?.status === 'rejected')
      assert.deepEqual(lost, [LOCKED])
      const [refused] = answers.filter((answer) => answer.status === 'rejected')
      assert.ok(refused?.reason instanceof DbUnavailable && refused.reason.isRolledBack)
    })
    assert.equal((await rig.checkout(LOCKED)).status, 'pending')
  })

  it('a request for a locked row is the only one to get 503 with Retry-After; the others get 201 (F-23)', async () => {
    const bodyOf = (email: string) => initiateBody({ customer: { ...CUSTOMER, email } })
    const bodies = new Map(emails.map((email) => [email, bodyOf(email)]))
    assert.equal((await service.api.post(INITIATE, bodyOf(LOCKED))).http, 201)
    await whileLocked(service.db, LOCKED, async () => {
      const sendAs = async (email: string) => {
        const answer = await service.api.post(INITIATE, bodies.get(email))
        if (email !== LOCKED) return assert.equal(answer.http, 201, answer.text)
        assertApiError(answer, 'temporarily_unavailable')
        assert.ok(Number(answer.headers.get('retry-after')) >= 1)
      }
      await Promise.all(emails.map(sendAs))
    })
    const again = await service.api.post(INITIATE, bodies.get(LOCKED))
    assert.equal(again.http, 201, again.text)
    assert.equal(again.headers.get('idempotent-replayed'), null, 'nothing of the rejected request was stored')
  })
})

describe('a move in a transaction', () => {
  it('is counted and logged after its commit, and not if it is rolled back', async () => {
    const payment = await rig.checkout()
    const { app } = rig
    const abandon = (after: () => void) =>
      app.db.transaction(async (tx) => {
        const move = { kind: 'plain', proof: 'merchant', source: 'api' } as const
        assert.ok(await movePaymentWithin(tx, app, payment, plainMove(payment, 'abandoned'), move))
        after()
      })
    const abandoned = () => app.counters.read().filter(({ labels }) => labels.includes('abandoned'))
    await assert.rejects(
      abandon(() => assert.fail('rolled back')),
      /rolled back/,
    )
    assert.deepEqual(abandoned(), [])
    await abandon(() => assert.deepEqual(abandoned(), []))
    assert.deepEqual(
      abandoned().map(({ name, total }) => [name, total]),
      [['payments', 1]],
    )
  })
})
