// Lost responses after Paystack has acted, and requests that execute late; with fault ids in the titles.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Outcome, StartedCheckout } from '../../../src/gateways/gateway.ts'
import { addMs, systemClock } from '../../../src/kit/clock.ts'
import type { Fault } from '../fake-server.ts'
import { FAKE_SECRET_KEY } from './fake.ts'
import { makeAttempt, RETURN_URL, startPaystack } from './rig.ts'

const CHARGE = /^POST \/transaction\/charge_authorization$/
const LOSSES: readonly Fault[] = ['cut_off_after_acting', 'http_500_after_acting', 'garbage', 'truncated']

const isPaid = ({ kind }: Outcome | StartedCheckout) => kind === 'succeeded'

describe('F-28 a lost response of Paystack', () => {
  it('leaves one execution of each of 250 charges, after a status check or a retry', async (t) => {
    const { paystack, server, gateway } = await startPaystack(t)
    const credential = String(await paystack.savedCredential('approves'))
    for (let round = 0; round < 250; round += 1) {
      const attempt = makeAttempt({ operation: 'charge' })
      server.injectFault(LOSSES[round % LOSSES.length] ?? 'garbage', { times: 1, on: CHARGE })
      assert.equal((await gateway.chargeSaved(attempt, credential)).kind, 'unknown')
      // Half of them use a status check as the resolver does, half a retry as if the check had found nothing.
      const again = round % 2 === 0 ? gateway.verify(attempt, null) : gateway.chargeSaved(attempt, credential)
      assert.ok(isPaid(await again))
      assert.equal(paystack.executions(attempt.key), 1)
    }
  })

  it('about a decline ends as that decline', async (t) => {
    const { paystack, server, gateway } = await startPaystack(t)
    const credential = String(await paystack.savedCredential({ declines: 'Expired Card' }))
    const attempt = makeAttempt({ operation: 'charge' })
    server.injectFault('cut_off_after_acting', { times: 1, on: CHARGE })
    assert.equal((await gateway.chargeSaved(attempt, credential)).kind, 'unknown')
    for (const outcome of [
      await gateway.verify(attempt, null),
      await gateway.chargeSaved(attempt, credential),
    ])
      assert.ok(outcome.kind === 'declined' && outcome.code === 'card_expired')
  })

  it('about a challenge is pending for an hour and then requires the customer', async (t) => {
    const { paystack, server, gateway } = await startPaystack(t)
    const credential = String(await paystack.savedCredential('wants_customer'))
    const attempt = makeAttempt({ operation: 'charge' })
    server.injectFault('cut_off_after_acting', { times: 1, on: CHARGE })
    assert.equal((await gateway.chargeSaved(attempt, credential)).kind, 'unknown')
    assert.equal((await gateway.verify(attempt, null)).kind, 'pending')
    const startedAt = addMs(systemClock.now(), -3_600_001)
    const later = await gateway.verify({ ...attempt, startedAt }, null)
    assert.ok(later.kind === 'declined' && later.code === 'authentication_required')
    assert.equal(paystack.executions(attempt.key), 0)
  })

  it('a lost response of Paystack to a start leaves one page, whose URL Paystack does not repeat', async (t) => {
    const { paystack, server, gateway } = await startPaystack(t)
    const attempt = makeAttempt()
    server.injectFault('cut_off_after_acting', { times: 1 })
    const start = () => gateway.startCheckout(attempt, { channel: 'card' }, RETURN_URL)
    assert.equal((await start()).kind, 'unknown')
    assert.equal((await start()).kind, 'pending')
    paystack.finish(attempt.key, { kind: 'pays' })
    assert.ok(isPaid(await start()))
    assert.equal(paystack.executions(attempt.key), 1)
  })
})

describe('F-29 a charge that Paystack executes late', () => {
  it('is one execution, even if it is submitted again before it arrives', async (t) => {
    const { paystack, server, gateway } = await startPaystack(t)
    const credential = String(await paystack.savedCredential('approves'))
    for (let round = 0; round < 20; round += 1) {
      const attempt = makeAttempt({ operation: 'charge' })
      server.injectFault('cut_off', { times: 1, on: CHARGE })
      assert.equal((await gateway.chargeSaved(attempt, credential)).kind, 'unknown')
      const lost = server.requests.at(-1)
      const asked = await gateway.verify(attempt, null)
      assert.ok(asked.kind === 'unknown' && asked.reason === 'not_found')
      const arrive = () =>
        fetch(`${server.url}${lost?.path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${FAKE_SECRET_KEY}`, 'content-type': 'application/json' },
          body: lost?.text,
        })
      const submit = () => gateway.chargeSaved(attempt, credential)
      const order = round % 2 === 0 ? [arrive, submit] : [submit, arrive]
      await Promise.all(order.map((one) => one()))
      assert.ok(isPaid(await gateway.verify(attempt, null)))
      assert.equal(paystack.executions(attempt.key), 1)
    }
  })
})
