// F-31: a payer submits in two windows at once, and the requests reach different processes. The second request reads
// the payment again before it acts, and sees the first one's change.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import type { Db } from '../../src/kit/db/db.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import { pathOf } from '../support/payment-records.ts'
import { paymentsRig, STARTED } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { app, gateway, merchant, clock } = rig
const CHOICE = { channel: 'mobile_money', phone: '+254712345678' } as const

const promptCount = () => gateway.calls.filter((call) => call.startsWith('startCheckout')).length

/** The same process, which runs a callback before it sends this statement. */
function interrupted(other: PaymentsApp, marker: string, interrupt: () => Promise<unknown>): PaymentsApp {
  let isOpen = true
  const db: Db = {
    ...other.db,
    query: async (statement, values) => {
      if (isOpen && statement.text.includes(marker)) {
        isOpen = false
        await interrupt()
      }
      return other.db.query(statement, values)
    },
  }
  return { ...other, db }
}

it('prompts the phone once when a payer presses twice in the last minutes of a checkout', async () => {
  const { id, reference } = await rig.checkout()
  // So late that a new attempt extends the expiry of the checkout.
  clock.advance(57 * 60_000)
  gateway.answers('startCheckout', STARTED)
  const view = await requireCheckoutPayment(app, merchant, reference)
  const first = () => startAttempt(app, view, CHOICE)
  const second = interrupted(rig.anotherApp(), 'insert into phone_prompts', first)
  const seen = await startAttempt(second, view, CHOICE)
  assert.equal(seen.payment.status, 'processing')
  assert.equal(seen.attempts.length, 1)
  assert.deepEqual(await pathOf(rig.db, id), ['pending', 'processing'])
  assert.equal(promptCount(), 1)
})

it('prompts the phone once when the payer presses again before the first attempt is recorded', async () => {
  const { id, reference } = await rig.checkout()
  clock.advance(57 * 60_000)
  const before = promptCount()
  gateway.answers('startCheckout', STARTED)
  const view = await requireCheckoutPayment(app, merchant, reference)
  const choice = { ...CHOICE, phone: '+254712345679' }
  const again = () => assert.rejects(startAttempt(rig.anotherApp(), view, choice), { code: 'phone_busy' })
  const seen = await startAttempt(interrupted(app, 'set expires_at = $4', again), view, choice)
  assert.equal(seen.payment.status, 'processing')
  assert.deepEqual(await pathOf(rig.db, id), ['pending', 'processing'])
  assert.equal(promptCount(), before + 1)
})
