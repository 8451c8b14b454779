// F-43: a webhook arrives before its payment is known here, for example after a backup was restored.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../../src/checkout/view.ts'
import { gatewayWebhookRoutes } from '../../src/gateway-webhooks/receive.ts'
import { purgeGatewayWebhooks, retryGatewayWebhooks } from '../../src/gateway-webhooks/retry.ts'
import { sql } from '../../src/kit/db/db.ts'
import { NAME, paid, paymentsRig, STARTED } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { app, clock, db, gateway } = rig

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

afterEach(() => rig.endTest())

interface EventRow {
  isHandled: boolean
  dueAt: Date | null
}

const selectEvent = sql<EventRow>`
select handled_at is not null as "isHandled", due_at as "dueAt"
from gateway_webhooks
where event_id = $1`

const eventOf = async (eventId: string) => (await db.query(selectEvent, [eventId]))[0]

async function deliver(key: string, eventId: string): Promise<void> {
  const [route] = gatewayWebhookRoutes(app)
  const rawBody = Buffer.from(JSON.stringify({ key, eventId }))
  assert.deepEqual(
    await route?.handle({ method: 'POST', query: {}, params: { gateway: NAME }, headers: {}, rawBody }),
    { http: 200 },
  )
}

const setKey = sql<unknown>`update attempts set gateway_key = $2, due_at = $3 where payment_id = $1`

/** A checkout whose payer is on the gateway's page; its next poll is in a day. */
async function underWay() {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', STARTED)
  const view = await requireCheckoutPayment(app, rig.merchant, payment.reference)
  await startAttempt(app, view, { channel: 'card' })
  const { gatewayKey: key } = await rig.attempt(payment.id)
  return { id: payment.id, key }
}

describe('a webhook about an unknown payment', () => {
  it('a webhook about an unknown payment is kept, retried, and wakes the attempt once the payment exists', async () => {
    const { id, key } = await underWay()
    const tomorrow = new Date(clock.now().getTime() + DAY_MS)
    await db.query(setKey, [id, 'another', tomorrow])
    await deliver(key, 'early-1')
    assert.equal((await eventOf('early-1'))?.isHandled, false)
    assert.equal(await retryGatewayWebhooks(app), 0, 'it is not retried at once')
    clock.advance(MINUTE_MS)
    assert.equal(await retryGatewayWebhooks(app), 1)
    assert.equal((await eventOf('early-1'))?.isHandled, false)
    assert.equal(await rig.resolve(), 0)

    await db.query(setKey, [id, key, tomorrow])
    clock.advance(MINUTE_MS)
    assert.equal(await retryGatewayWebhooks(app), 1)
    assert.deepEqual(await eventOf('early-1'), { isHandled: true, dueAt: null })
    assert.equal(await retryGatewayWebhooks(app), 0)
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.payment(id)).status, 'successful')
    assert.equal(await rig.credits(id), 1)
  })

  it('an early webhook does not wake an attempt of another gateway with the same key', async () => {
    const { id, key } = await underWay()
    const tomorrow = new Date(clock.now().getTime() + DAY_MS)
    await db.query(setKey, [id, key, tomorrow])
    const insert = sql<unknown>`
      insert into gateway_webhooks (gateway, event_id, gateway_key, received_at, due_at)
      values ('elsewhere', 'early-2', $1, $2, $2)`
    await db.query(insert, [key, clock.now()])
    assert.equal(await retryGatewayWebhooks(app), 1)
    assert.equal((await eventOf('early-2'))?.isHandled, false)
    assert.equal(await rig.resolve(), 0)
  })

  it('an early webhook is retried with backoff, and dropped after three days', async () => {
    await deliver('0197a3c2-7d51-4cc3-98c4-dc0c0c07398f', 'early-3')
    const receivedAt = clock.now().getTime()
    let looks = 0
    for (;;) {
      const dueAt = (await eventOf('early-3'))?.dueAt
      if (!dueAt) break
      clock.advance(dueAt.getTime() - clock.now().getTime())
      await retryGatewayWebhooks(app)
      looks += 1
      assert.ok(looks < 30)
    }
    const days = (clock.now().getTime() - receivedAt) / DAY_MS
    assert.ok(days >= 3 && days < 6, `${days} days`)
    assert.ok(looks >= 10 && looks <= 15, `${looks} looks`)
    assert.deepEqual(await eventOf('early-3'), { isHandled: false, dueAt: null })
  })

  it('an early webhook is purged after more than a year, as every other webhook', async () => {
    const { key } = await underWay()
    await deliver(key, 'old-1')
    clock.advance(399 * DAY_MS)
    await purgeGatewayWebhooks(app)
    assert.ok(await eventOf('old-1'))
    clock.advance(2 * DAY_MS)
    assert.ok((await purgeGatewayWebhooks(app)) >= 1)
    assert.equal(await eventOf('old-1'), undefined)
  })

  it('an early webhook triggers no status check of an attempt that is final', async () => {
    const { id, key } = await underWay()
    clock.advance(MINUTE_MS)
    gateway.answers('verify', paid())
    assert.equal(await rig.resolve(), 1)
    await deliver(key, 'late-1')
    assert.deepEqual(await eventOf('late-1'), { isHandled: true, dueAt: null })
    assert.equal(await rig.resolve(), 0)
    assert.equal((await rig.payment(id)).status, 'successful')
  })
})

describe('the id of a webhook', () => {
  it('a webhook id that cannot be stored is replaced by its hash', async () => {
    const { key } = await underWay()
    const count = sql<{ rows: number }>`
      select count(*)::integer as rows from gateway_webhooks where gateway_key = $1`
    for (const eventId of ['', 'nul \0', 'x'.repeat(5_000), 'half \ud83d', 'x'.repeat(5_001)]) {
      await deliver(key, eventId)
      await deliver(key, eventId)
    }
    assert.equal((await db.query(count, [key]))[0]?.rows, 5)
  })
})
