// One open prompt on a phone at a time, over all payments, processes and merchants.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { checkoutJobs } from '../../src/checkout/jobs.ts'
import { cancelAttempt, stopAttempt } from '../../src/checkout/payer-actions.ts'
import { claimPhone } from '../../src/checkout/phone-prompts.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import type { Outcome } from '../../src/gateways/gateway.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import {
  CANCELLED,
  NO_ANSWER,
  NOT_SENT,
  PENDING,
  paid,
  paymentsRig,
  scriptedGateway,
} from '../support/payments-rig.ts'
import { apiErrorOf, prompt, promptRig } from '../support/prompt-rig.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const rig = await paymentsRig({ after })
const { app, clock, gateway, db } = rig
const { newPhone, readCheckout, prompted, promptPhone, promptAgain, end, promptToLimit, dieAt } =
  promptRig(rig)

afterEach(() => rig.endTest())

describe('one open prompt per phone', () => {
  const busyFor = async (phone: string) => {
    const { code, retryAfterSeconds } = await apiErrorOf(promptPhone(phone))
    gateway.clearAnswers()
    assert.equal(code, 'phone_busy')
    return retryAfterSeconds
  }
  const isFree = async (phone: string) => (await promptPhone(phone)).payment.status === 'processing'

  it('sends one prompt for twenty parallel payments of two processes, and leaves the others as they were', async () => {
    const phone = newPhone()
    const apps = [app, rig.anotherApp()]
    const views = await Promise.all(
      Array.from({ length: 20 }, async () => readCheckout(await rig.checkout())),
    )
    gateway.answers('startCheckout', prompted(phone))
    const results = await Promise.allSettled(
      views.map((view, n) => startAttempt(apps[n % 2] ?? app, view, prompt(phone))),
    )
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    assert.deepEqual([...new Set(reasons.map(({ code }) => code))], ['phone_busy'])
    const after = await Promise.all(views.map(({ payment }) => readCheckout(payment)))
    const untouched = after.filter(({ payment, attempts }) => payment.version === 1 && attempts.length === 0)
    assert.deepEqual([reasons.length, untouched.length], [19, 19])
    // The nineteen have not consumed the quota of the number.
    await end(after.find(({ payment }) => payment.status === 'processing') ?? assert.fail('none was sent'))
    await promptToLimit(phone, 1)
  })

  const ends: [string, Outcome | ReturnType<typeof paid>][] = [
    ['was approved', paid()],
    ['was declined or cancelled', CANCELLED],
  ]
  for (const [how, outcome] of ends) {
    it(`is free again as soon as the prompt ${how}`, async () => {
      const phone = newPhone()
      const view = await promptPhone(phone)
      assert.equal(await busyFor(phone), 5 * 60)
      gateway.answers('cancel', outcome)
      await stopAttempt(app, view)
      assert.ok(await isFree(phone))
    })
  }

  it('is free again when the prompt has ended by itself, whether or not the outcome is known', async () => {
    const phone = newPhone()
    gateway.answers('startCheckout', prompted(phone, 90 * SECOND))
    await startAttempt(app, await readCheckout(await rig.checkout()), prompt(phone))
    clock.advance(90 * SECOND - 1)
    assert.equal(await busyFor(phone), 1)
    clock.advance(1)
    gateway.answers('startCheckout', NO_ANSWER)
    await startAttempt(app, await readCheckout(await rig.checkout()), prompt(phone))
    clock.advance(5 * MINUTE - 1)
    assert.equal(await busyFor(phone), 1)
    clock.advance(1)
    assert.ok(await isFree(phone))
  })

  it('is held for seconds by a process that died before it recorded the attempt, and else as long as a prompt', async () => {
    const phone = newPhone()
    await dieAt('checkout.before_start', await rig.checkout(), phone)
    assert.equal(await busyFor(phone), 30)
    clock.advance(30 * SECOND)
    await dieAt('checkout.after_start', await rig.checkout(), phone)
    assert.equal(await busyFor(phone), 5 * 60)
    clock.advance(5 * MINUTE)
    assert.ok(await isFree(phone))
  })

  it('shows the open prompt to a payer who presses again, and waits for one that cannot be cancelled', async () => {
    const phone = newPhone()
    const view = await promptPhone(phone)
    const calls = gateway.calls.length
    const again = await startAttempt(app, await readCheckout(view.payment), prompt(phone))
    assert.deepEqual([again.attempt?.id, gateway.calls.length], [view.attempt?.id, calls])
    clock.advance(MINUTE)
    gateway.answers('cancel', PENDING)
    const left = await cancelAttempt(app, again)
    assert.equal(left.payment.status, 'pending')
    assert.equal((await apiErrorOf(startAttempt(app, left, prompt(phone)))).code, 'phone_busy')
    assert.equal((await promptAgain(left, newPhone())).payment.status, 'processing')
  })

  it('is held by the attempt at the next gateway after a failover, which counts as one prompt', async () => {
    const phone = newPhone()
    const next = scriptedGateway('next')
    next.answers('startCheckout', prompted(phone))
    gateway.answers('startCheckout', NOT_SENT)
    const gateways = fixedGateways([gateway, next])
    const view = await startAttempt(
      { ...app, gateways },
      await readCheckout(await rig.checkout()),
      prompt(phone),
    )
    assert.equal(view.attempt?.gateway, 'next')
    assert.equal(await busyFor(phone), 5 * 60)
    clock.advance(5 * MINUTE)
    await promptToLimit(phone, 1)
  })

  it('holds the phone for other merchants too, which read nothing of the attempt, and is free for them as soon', async () => {
    const phone = newPhone()
    const view = await promptPhone(phone)
    const other = { ...app, db: db.forMerchant(app.random.uuid()) }
    const claim = () => claimPhone(other, prompt(phone), app.random.uuid(), { isFailover: false })
    assert.equal((await apiErrorOf(claim())).retryAfterSeconds, 5 * 60)
    await end(view)
    await claim()
  })

  it('keeps the row of an open prompt when its window is over', async () => {
    const job = checkoutJobs(app).find(({ name }) => name === 'purge-prompt-windows')
    assert.ok(job && 'run' in job)
    const phone = newPhone()
    await end(await promptPhone(phone))
    clock.advance(14 * MINUTE)
    await promptPhone(phone)
    clock.advance(MINUTE)
    await job.run()
    assert.equal(await busyFor(phone), 4 * 60)
  })
})
