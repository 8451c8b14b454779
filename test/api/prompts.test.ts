// Prompts on payers' phones: their rate limit, when an open prompt may be left, and how a checkout gets more
// time. Runs the real payments code with a scripted gateway and a test clock.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, afterEach, describe, it } from 'node:test'
import { checkoutJobs } from '../../src/checkout/jobs.ts'
import {
  canCancelAttempt,
  cancelAttempt,
  cancelCheckout,
  extendCheckout,
} from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import type { CheckoutView } from '../../src/checkout/view.ts'
import type { CheckoutChoice } from '../../src/gateways/gateway.ts'
import { addMs } from '../../src/kit/clock.ts'
import { sql } from '../../src/kit/db/db.ts'
import { claimExpiries } from '../../src/resolver/expire.ts'
import { untilBlocked } from '../support/blocked-sessions.ts'
import { payWith } from '../support/builders.ts'
import { eventsOf, pathOf } from '../support/payment-records.ts'
import { CANCELLED, NO_ANSWER, PENDING, paymentsRig, STARTED } from '../support/payments-rig.ts'
import { apiErrorOf, prompt, promptRig } from '../support/prompt-rig.ts'
import { testService } from '../support/service.ts'

const rig = await paymentsRig({ after })
const { app, clock, gateway, db } = rig

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const LIMIT = app.settings.promptsPerNumber

afterEach(() => rig.endTest())

const { newPhone, readCheckout, prompted, promptPhone, promptAgain, promptToLimit, dieAt } = promptRig(rig)

/** The payer refuses on the phone. */
async function decline(view: CheckoutView): Promise<CheckoutView> {
  clock.advance(MINUTE)
  gateway.answers('cancel', CANCELLED)
  const left = await cancelAttempt(app, await readCheckout(view.payment))
  assert.equal(left.payment.status, 'pending')
  return left
}

const selectPrompts = sql<{ hash: Buffer; prompts: number }>`
select phone_hash as hash, prompts
from phone_prompts`

const resetWindows = sql<unknown>`
update phone_prompts
set window_ends_at = $1`

describe('the rate limit of prompts to one phone', () => {
  it('rejects every prompt above the limit, also of parallel payments in two processes', async () => {
    const phone = newPhone()
    await promptToLimit(phone)
    const apps = [app, rig.anotherApp()]
    const views = await Promise.all(Array.from({ length: 6 }, async () => readCheckout(await rig.checkout())))
    const refused = await Promise.all(
      views.map((view, n) => apiErrorOf(startAttempt(apps[n % 2] ?? app, view, prompt(phone)))),
    )
    for (const { code, retryAfterSeconds, message } of refused) {
      assert.deepEqual([code, retryAfterSeconds], ['rate_limited', 15 * 60])
      assert.match(message, /asked too often/)
    }
    const after = await Promise.all(views.map(({ payment }) => readCheckout(payment)))
    assert.ok(after.every(({ payment, attempts }) => payment.version === 1 && attempts.length === 0))
  })

  it('allows prompts again after fifteen minutes, and not before', async () => {
    const phone = newPhone()
    await promptToLimit(phone)
    clock.advance(15 * MINUTE - 1)
    assert.equal((await apiErrorOf(promptPhone(phone))).retryAfterSeconds, 1)
    clock.advance(1)
    gateway.clearAnswers()
    assert.equal((await promptPhone(phone)).payment.status, 'processing')
  })

  it('counts prompts per number, and across a restart', async () => {
    const phone = newPhone()
    await promptToLimit(phone)
    assert.equal((await apiErrorOf(promptPhone(phone, rig.anotherApp()))).code, 'rate_limited')
    gateway.clearAnswers()
    assert.equal((await promptPhone(newPhone())).payment.status, 'processing')
  })

  it('counts no prompts where the limit is off', async () => {
    const phone = newPhone()
    const unlimited = { ...app, settings: { ...app.settings, promptsPerNumber: 0 } }
    for (let n = 0; n <= LIMIT; n += 1)
      assert.equal((await promptPhone(phone, unlimited)).payment.status, 'processing')
  })

  it('stores no number that a reader of the table could find by brute force', async () => {
    const phone = newPhone()
    const hashes = async () => (await db.query(selectPrompts)).map(({ hash }) => hash.toString('hex'))
    const before = await hashes()
    await promptPhone(phone)
    // The row of a number can be computed only with the secret of the instance.
    await promptPhone(phone, { ...app, promptKey: app.random.bytes(32) })
    const added = (await hashes()).filter((hash) => !before.includes(hash))
    assert.equal(added.length, 2)
    assert.ok(!added.includes(createHash('sha256').update(phone).digest('hex')))
  })

  it('counts a prompt whose process crashed before it was recorded, without other effects', async () => {
    const phone = newPhone()
    const payment = await rig.checkout()
    await dieAt('checkout.before_start', payment, phone)
    const left = await readCheckout(payment)
    assert.deepEqual([left.payment.status, left.payment.version, left.attempts.length], ['pending', 1, 0])

    clock.advance(30 * SECOND)
    await promptToLimit(phone, 1)
    assert.equal((await apiErrorOf(promptPhone(phone))).code, 'rate_limited')
  })

  it('purges the count of a number an hour after its window', async () => {
    const job = checkoutJobs(app).find(({ name }) => name === 'purge-prompt-windows')
    assert.ok(job && 'run' in job)
    await promptPhone(newPhone())
    clock.advance(14 * MINUTE)
    await promptPhone(newPhone())
    clock.advance(HOUR + MINUTE)
    assert.ok((await job.run()) > 0)
    assert.deepEqual(
      (await db.query(selectPrompts)).map(({ prompts }) => prompts),
      [1],
    )
    assert.equal(await job.run(), 0)
  })

  it('does not purge a new window that begins during the purge of the old one', async () => {
    const job = checkoutJobs(app).find(({ name }) => name === 'purge-prompt-windows')
    assert.ok(job && 'run' in job)
    clock.advance(2 * HOUR)
    await job.run()
    await promptPhone(newPhone())
    clock.advance(2 * HOUR)
    let purged: Promise<number> | undefined
    await db.transaction(async (tx) => {
      await tx.query(resetWindows, [addMs(clock.now(), MINUTE)])
      purged = job.run()
      // The purge has found the row and waits for its lock.
      await untilBlocked(tx)
    })
    assert.equal(await purged, 0)
    assert.equal((await db.query(selectPrompts)).length, 1)
  })
})

describe('a tester who names only an instrument', () => {
  it('counts no prompt when a tester names only an instrument', async (t) => {
    const service = await testService(t, { isOwn: true })
    for (let n = 0; n <= LIMIT; n += 1)
      assert.equal((await payWith(service.api, 'mobile_success')).status, 'successful')
    assert.deepEqual(await service.db.query(selectPrompts), [])
  })
})

describe('a second prompt to the same phone for the same payment', () => {
  it('waits until the phone has closed the last prompt', async () => {
    const phone = newPhone()
    const view = await decline(await promptPhone(phone))
    clock.advance(5 * SECOND)
    const refusal = await apiErrorOf(startAttempt(app, view, prompt(phone)))
    assert.equal(refusal.code, 'rate_limited')
    assert.equal(refusal.retryAfterSeconds, 15)
    assert.match(refusal.message, /a moment ago/)
    assert.equal((await readCheckout(view.payment)).attempts.length, 1)
    clock.advance(15 * SECOND)
    const again = await promptAgain(view, phone)
    assert.deepEqual(
      again.attempts.map(({ number, status }) => [number, status]),
      [
        [1, 'declined'],
        [2, 'awaiting_customer'],
      ],
    )
    assert.equal(again.attempt?.number, 2)
  })

  it('does not wait for another phone, another method or another payment', async () => {
    const phone = newPhone()
    const first = await decline(await promptPhone(phone))
    assert.equal((await promptAgain(first, newPhone())).payment.status, 'processing')

    const second = await decline(await promptPhone(newPhone()))
    gateway.answers('startCheckout', STARTED)
    const byCard = await startAttempt(app, second, { channel: 'card' })
    assert.equal(byCard.payment.status, 'processing')

    assert.equal((await promptPhone(phone)).payment.status, 'processing')
  })
})

describe('sending a prompt', () => {
  const wrong: [string, CheckoutChoice, string][] = [
    ['without a number', { channel: 'mobile_money' }, 'phone required'],
    [
      'to an instrument that this gateway does not have',
      { channel: 'mobile_money', instrument: 'x' },
      'phone required',
    ],
    ['to a number that does not name its country', prompt('0712345678'), 'phone invalid_format'],
    ['to a fixed line', prompt('+254202012345'), 'phone invalid_format'],
    ['to anything else', prompt('+254712345678 '), 'phone invalid_format'],
    [
      'over a network of another country',
      { ...prompt('+254712345678'), network: 'mtn_ug' },
      'network not_allowed',
    ],
    ['over no network at all', { ...prompt('+254712345678'), network: 'toString' }, 'network not_allowed'],
  ]
  for (const [what, choice, issue] of wrong) {
    it(`rejects a prompt before anything is stored: ${what}`, async () => {
      const payment = await rig.checkout()
      const before = await db.query(selectPrompts)
      const refusal = await apiErrorOf(startAttempt(app, await readCheckout(payment), choice))
      assert.equal(refusal.code, 'validation_failed')
      assert.deepEqual(
        refusal.details.map(({ field, code }) => `${field} ${code}`),
        [issue],
      )
      assert.equal((await readCheckout(payment)).attempts.length, 0)
      assert.deepEqual(await db.query(selectPrompts), before)
    })
  }

  it('sends the chosen number and network to the gateway', async () => {
    const phone = newPhone()
    const { attempt } = await promptPhone(phone)
    assert.deepEqual(attempt?.choice, prompt(phone))
    assert(attempt.nextStep?.kind === 'prompt')
    assert.equal(attempt.nextStep.promptName, 'Shop')
  })
})

describe('leaving an attempt for another method', () => {
  it('rejects another method in the first minute of a prompt, while the payer may be typing the PIN', async () => {
    const view = await promptPhone(newPhone())
    const calls = gateway.calls.length
    assert.equal(canCancelAttempt(view, clock.now()), false)
    assert.equal(canCancelAttempt(view, addMs(clock.now(), MINUTE - 1)), false)
    assert.deepEqual(await cancelAttempt(app, view), view)
    assert.equal(gateway.calls.length, calls, 'the gateway got no request')

    clock.advance(MINUTE)
    assert.equal(canCancelAttempt(view, clock.now()), true)
    gateway.answers('cancel', CANCELLED)
    assert.equal((await cancelAttempt(app, view)).payment.status, 'pending')
  })

  it('rejects another method while it is unknown whether the phone got the prompt', async () => {
    const payment = await rig.checkout()
    gateway.answers('startCheckout', NO_ANSWER)
    const view = await startAttempt(app, await readCheckout(payment), prompt(newPhone()))
    assert.equal(view.attempt?.status, 'started')
    assert.equal(canCancelAttempt(view, clock.now()), false)
    assert.equal(canCancelAttempt(view, addMs(clock.now(), MINUTE)), true)
  })

  it('allows another method when the prompt has expired, and at once when there is none', async () => {
    const payment = await rig.checkout()
    const phone = newPhone()
    gateway.answers('startCheckout', prompted(phone, 30 * SECOND))
    const short = await startAttempt(app, await readCheckout(payment), prompt(phone))
    assert.equal(canCancelAttempt(short, addMs(clock.now(), 30 * SECOND - 1)), false)
    assert.equal(canCancelAttempt(short, addMs(clock.now(), 30 * SECOND)), true)

    gateway.answers('startCheckout', STARTED)
    const byCard = await startAttempt(app, await readCheckout(await rig.checkout()), { channel: 'card' })
    assert.equal(canCancelAttempt(byCard, clock.now()), true)
    gateway.answers('startCheckout', STARTED)
    const byWave = await startAttempt(app, await readCheckout(await rig.checkout()), prompt(newPhone()))
    assert.equal(canCancelAttempt(byWave, clock.now()), true, 'a wallet that is paid on its own page')
  })

  it('changes nothing where no attempt is open', async () => {
    const opened = await readCheckout(await rig.checkout())
    assert.equal(canCancelAttempt(opened, clock.now()), false)
    assert.deepEqual(await cancelAttempt(app, opened), opened)
    const over = await decline(await promptPhone(newPhone()))
    assert.equal(canCancelAttempt(over, clock.now()), false)
  })
})

describe('a payer who cancels a checkout with an open prompt', () => {
  it('starts no other attempt before the prompt is a minute old', async () => {
    const { payment } = await promptPhone(newPhone())
    gateway.answers('cancel', PENDING)
    await cancelCheckout(app, await readCheckout(payment))
    const left = await readCheckout(payment)
    assert.deepEqual([left.payment.status, left.attempts[0]?.status], ['pending', 'awaiting_customer'])
    for (const choice of [prompt(newPhone()), { channel: 'card' } as const])
      assert.equal((await apiErrorOf(startAttempt(app, left, choice))).code, 'rate_limited')

    clock.advance(MINUTE)
    gateway.answers('startCheckout', STARTED)
    const started = await startAttempt(app, await readCheckout(payment), { channel: 'card' })
    assert.equal(started.payment.status, 'processing')
  })
})

describe('extending an open checkout', () => {
  const leftMs = ({ payment }: CheckoutView) => (payment.expiresAt?.getTime() ?? 0) - clock.now().getTime()

  it('extends a checkout by its whole time with one action', async () => {
    const payment = await rig.checkout()
    clock.advance(59 * MINUTE)
    const extended = await extendCheckout(app, await readCheckout(payment))
    assert.equal(leftMs(extended), HOUR)
    assert.deepEqual(extended.payment.dueAt, extended.payment.expiresAt)
    clock.advance(HOUR - 1)
    assert.equal(await rig.expire(), 0)
    clock.advance(1)
    assert.equal(await rig.expire(), 1)
    assert.equal((await rig.payment(payment.id)).status, 'expired')
  })

  it('adds no move and no event for an extension', async () => {
    const payment = await rig.checkout()
    clock.advance(MINUTE)
    const extended = await extendCheckout(app, await readCheckout(payment))
    assert.equal(extended.payment.version, 1)
    assert.deepEqual(await pathOf(db, payment.id), ['pending'])
    assert.equal((await eventsOf(db, payment.id)).length, 1)
  })

  it('limits extensions to a day after the checkout was opened', async () => {
    const payment = await rig.checkout()
    for (let hour = 0; hour < 24; hour += 0.5) {
      clock.advance(30 * MINUTE)
      await extendCheckout(app, await readCheckout(payment))
    }
    const { expiresAt, createdAt } = await rig.payment(payment.id)
    assert.equal((expiresAt?.getTime() ?? 0) - createdAt.getTime(), 24 * HOUR)
    assert.equal(await rig.expire(), 1)
  })

  it('never shortens a checkout', async () => {
    const payment = await rig.checkout()
    const hasty = { ...app, settings: { ...app.settings, checkoutMs: MINUTE } }
    const { expiresAt } = (await extendCheckout(hasty, await readCheckout(payment))).payment
    assert.deepEqual(expiresAt, payment.expiresAt)
  })

  it('does not extend a final checkout, and waits while an attempt is at its gateway', async () => {
    const over = await rig.checkout()
    clock.advance(HOUR)
    assert.equal(leftMs(await extendCheckout(app, await readCheckout(over))), 0)
    assert.equal(await rig.expire(), 1)
    assert.equal((await extendCheckout(app, await readCheckout(over))).payment.status, 'expired')

    const { payment } = await promptPhone(newPhone())
    clock.advance(MINUTE)
    assert.equal(leftMs(await extendCheckout(app, await readCheckout(payment))), 59 * MINUTE)
  })

  it('overrules an earlier expiry by a process whose clock is ahead', async () => {
    const payment = await rig.checkout()
    clock.advance(HOUR - SECOND)
    const ahead = { ...app, clock: { ...clock, now: () => addMs(clock.now(), 2 * SECOND) } }
    const decided = await claimExpiries(ahead, 10)
    assert.equal(decided.length, 1)
    const extended = await extendCheckout(app, await readCheckout(payment))
    await Promise.all(decided.map((expire) => expire()))
    const after = await rig.payment(payment.id)
    assert.equal(after.status, 'pending')
    assert.deepEqual([after.expiresAt, after.dueAt], [extended.payment.expiresAt, extended.payment.expiresAt])
  })

  it('extends a checkout for a payer who acts on a phone, but not for a rejected form', async () => {
    const [busy, free] = [newPhone(), newPhone()]
    const payment = await rig.checkout()
    clock.advance(58 * MINUTE)
    await promptPhone(busy)
    await assert.rejects(startAttempt(app, await readCheckout(payment), prompt(busy)), { code: 'phone_busy' })
    assert.equal(leftMs(await readCheckout(payment)), 2 * MINUTE)

    gateway.answers('startCheckout', prompted(free))
    const started = await startAttempt(app, await readCheckout(payment), prompt(free))
    assert.equal(started.payment.status, 'processing')
    assert.equal(leftMs(started), 6 * MINUTE)
  })

  it('extends a checkout also for an attempt that was started on an older page', async () => {
    const payment = await rig.checkout()
    const before = await readCheckout(payment)
    clock.advance(30 * MINUTE)
    const { expiresAt } = (await extendCheckout(app, before)).payment
    gateway.answers('startCheckout', STARTED)
    const started = await startAttempt(app, before, { channel: 'card' })
    assert.equal(started.payment.status, 'processing')
    assert.deepEqual([started.payment.expiresAt, started.payment.dueAt], [expiresAt, expiresAt])
  })
})
