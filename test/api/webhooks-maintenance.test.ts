// Which events an endpoint gets, and the background jobs around deliveries: replays of a time range, and purges.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  deadLetterDeliveries,
  purgeDeliveries,
  purgeEndpoints,
} from '../../src/deliveries/maintenance-queries.ts'
import { MAX_QUEUED_REPLAYS, replayRange } from '../../src/deliveries/replay.ts'
import { findReplay, replayBatch } from '../../src/deliveries/replay-queries.ts'
import { type Statement, sql } from '../../src/kit/db/db.ts'
import { changeEndpoint, deleteEndpoint, rotateSecret } from '../../src/webhook-endpoints/endpoints.ts'
import { clearPreviousSecrets } from '../../src/webhook-endpoints/queries.ts'
import { scriptedConsumer, webhooksRig } from '../support/webhooks-rig.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const rig = await webhooksRig({ after })
const { app, clock, db } = rig
const consumer = await scriptedConsumer({ after })

async function newShop(endpoints = 1) {
  const shop = await rig.newMerchant()
  const merchant = { id: shop.merchantId, name: 'A Shop', mode: 'test', baseCurrency: 'USD' } as const
  const made = await Promise.all(Array.from({ length: endpoints }, () => shop.addEndpoint(consumer.url)))
  const [endpoint = assert.fail('there is one')] = made
  return { ...shop, merchant, endpoint, endpoints: made }
}

const ago = (ms: number) => new Date(clock.now().getTime() - ms)

const seedEvents = sql<unknown>`
insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
select $1, gen_random_uuid(), 'refund.pending', 'refund', gen_random_uuid(), 1, '{}', $2
from generate_series(1, $3)`

const acceptAll = sql<unknown>`
update deliveries
set status = 'delivered', due_at = null, finished_at = $2
where merchant_id = $1`

const countDue = sql<{ count: number }>`
select count(*)::integer as count
from deliveries
where merchant_id = $1 and due_at is not null`

const insertEvent = sql<unknown>`
insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
values ($1, gen_random_uuid(), $2, 'payment', gen_random_uuid(), 1, jsonb_build_object('type', $2::text), $3)`

describe('an endpoint with patterns of event types', () => {
  it('gets the types that a pattern matches, also one that this version does not know', async (t) => {
    const [shop, own] = [await rig.newMerchant(), await scriptedConsumer({ after: t.after.bind(t) })]
    await shop.addEndpoint(own.url, ['payment.*', 'refund.failed'])
    const others = ['payment_link.paid', 'refund.pending', 'charge.successful']
    for (const type of ['payment.successful', 'payment.of_later', 'refund.failed', ...others])
      await db.query(insertEvent, [shop.merchantId, type, clock.now()])
    await shop.deliverAll()
    const received = own.received.map(({ body }) => JSON.parse(body).type)
    assert.deepEqual(received.toSorted(), ['payment.of_later', 'payment.successful', 'refund.failed'])
  })

  it('gets the types of a changed pattern from the next event on', async (t) => {
    const [shop, own] = [await rig.newMerchant(), await scriptedConsumer({ after: t.after.bind(t) })]
    const { id } = await shop.addEndpoint(own.url, ['payment.*'])
    const resource = await shop.emitEvent()
    const merchant = { id: shop.merchantId, name: 'A Shop', mode: 'test', baseCurrency: 'USD' } as const
    await changeEndpoint(app, merchant, id, { events: ['refund.*'] })
    await shop.emitEvent(resource)
    await shop.deliverAll()
    assert.deepEqual(own.versions(), [2])
  })
})

describe('the background job of replays', () => {
  it('replays a time range in batches of five hundred deliveries, also when all events have one timestamp', async () => {
    const shop = await newShop(20)
    const at = clock.now()
    await db.query(seedEvents, [shop.merchantId, at, 120])
    await db.query(acceptAll, [shop.merchantId, at])
    clock.advance(HOUR)
    const range = { from: at.toISOString(), to: clock.now().toISOString() }
    const { record } = await replayRange(app, shop.merchant, range, undefined)
    assert.deepEqual([record.status, record.deliveries], ['queued', 0])
    const counts: number[] = []
    while (await replayBatch(db, clock.now(), ago(30 * DAY))) {
      const [row] = await db.query(countDue, [shop.merchantId])
      counts.push(row?.count ?? 0)
    }
    assert.deepEqual(counts, [500, 1_000, 1_500, 2_000, 2_400, 2_400])
    const done = await findReplay(db, shop.merchantId, record.id)
    assert.deepEqual([done?.status, done?.events, done?.deliveries], ['done', 120, 2_400])
    await db.query(acceptAll, [shop.merchantId, clock.now()])
  })

  it('alternates between the replays of several merchants', async () => {
    const [one, other] = [await newShop(20), await newShop(20)]
    const at = clock.now()
    for (const { merchantId } of [one, other]) {
      await db.query(seedEvents, [merchantId, at, 60])
      await db.query(acceptAll, [merchantId, at])
    }
    clock.advance(HOUR)
    const range = { from: at.toISOString(), to: clock.now().toISOString() }
    for (const { merchant } of [one, other]) await replayRange(app, merchant, range, undefined)
    for (const _ of [one, other]) {
      clock.advance(1)
      await replayBatch(db, clock.now(), ago(30 * DAY))
    }
    for (const { merchantId } of [one, other]) {
      assert.deepEqual(await db.query(countDue, [merchantId]), [{ count: 500 }])
    }
    while (await replayBatch(db, clock.now(), ago(30 * DAY)));
    for (const { merchantId } of [one, other]) await db.query(acceptAll, [merchantId, clock.now()])
  })

  it('rejects a replay while ten replays of the merchant are running', async () => {
    const shop = await newShop()
    const range = { from: ago(HOUR).toISOString(), to: clock.now().toISOString() }
    for (let count = 0; count < MAX_QUEUED_REPLAYS; count += 1)
      await replayRange(app, shop.merchant, range, undefined)
    await assert.rejects(replayRange(app, shop.merchant, range, undefined), { code: 'invalid_state' })
    while (await replayBatch(db, clock.now(), ago(30 * DAY)));
    await replayRange(app, shop.merchant, range, undefined)
    while (await replayBatch(db, clock.now(), ago(30 * DAY)));
  })
})

const countEndpoints = sql<{ count: number }>`
select count(*)::integer as count
from webhook_endpoints
where merchant_id = $1`

const copyEndpoint = sql<unknown>`
insert into webhook_endpoints
select (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid()))).*
from webhook_endpoints e, generate_series(1, 2000)
where e.id = $1`

describe('the purge of a deleted endpoint', () => {
  it('purges a deleted endpoint with its last delivery, and not before', async () => {
    const shop = await newShop()
    await shop.emitEvent()
    await shop.deliverAll()
    await deleteEndpoint(app, shop.merchant, shop.endpoint.id)
    const purgeAll = async (before: Date) => {
      while ((await purgeEndpoints(db, before)) > 0);
      return (await db.query(countEndpoints, [shop.merchantId]))[0]?.count
    }
    clock.advance(29 * DAY)
    assert.equal(await purgeAll(ago(30 * DAY)), 1)
    clock.advance(3 * DAY)
    assert.equal(await purgeAll(ago(30 * DAY)), 1, 'its delivery still exists')
    while ((await purgeDeliveries(db, ago(30 * DAY))) > 0);
    assert.equal(await purgeAll(ago(30 * DAY)), 0)
  })

  it('purges a deleted endpoint without blocking the events of its merchant', async () => {
    const shop = await newShop(2)
    await deleteEndpoint(app, shop.merchant, shop.endpoint.id)
    await db.query(copyEndpoint, [shop.endpoint.id])
    await db.script('analyze webhook_endpoints')
    const explain: Statement<{ 'QUERY PLAN': unknown }> = {
      name: 'explain_fan_out',
      text: `explain (format json) select id from webhook_endpoints where merchant_id = $1 and status = 'enabled'`,
    }
    const plan = JSON.stringify(await db.query(explain, [shop.merchantId]))
    assert.match(plan, /"Index Name":"webhook_endpoints_not_deleted"/)
  })
})

const selectPrevious = sql<{ sealed: string | null }>`
select previous_secret_sealed as sealed
from webhook_endpoints
where id = $1`

describe('the purge of a rotated secret', () => {
  it('deletes a rotated secret after its overlap', async () => {
    const shop = await newShop()
    await rotateSecret(app, shop.merchant, shop.endpoint.id, { overlapHours: 1 }, undefined)
    await clearPreviousSecrets(db, clock.now())
    assert.ok((await db.query(selectPrevious, [shop.endpoint.id]))[0]?.sealed)
    clock.advance(HOUR)
    await clearPreviousSecrets(db, clock.now())
    assert.deepEqual(await db.query(selectPrevious, [shop.endpoint.id]), [{ sealed: null }])
    await rotateSecret(app, shop.merchant, shop.endpoint.id, { overlapHours: 1 }, undefined)
  })
})

describe('the deliveries of a disabled endpoint', () => {
  it('keeps waiting deliveries when the endpoint is enabled at the same moment', async () => {
    const shop = await newShop()
    await shop.emitEvent()
    await changeEndpoint(app, shop.merchant, shop.endpoint.id, { enabled: false })
    await db.transaction(async (tx) => {
      await changeEndpoint({ ...app, db: { ...db, ...tx } }, shop.merchant, shop.endpoint.id, {
        enabled: true,
      })
      await deadLetterDeliveries(db, clock.now())
    })
    assert.deepEqual(
      (await shop.deliveriesOf(shop.endpoint)).map(({ status }) => status),
      ['pending'],
    )
    await shop.deliverAll()
  })
})

const selectChecked = sql<{ at: Date }>`
select checked_from as at
from webhook_endpoints
where id = $1`

describe('the time from which an endpoint gets all events', () => {
  it('resets the start time of an endpoint only when its subscriptions change', async () => {
    const { merchant, endpoint } = await newShop()
    const checkedFrom = async () => (await db.query(selectChecked, [endpoint.id]))[0]?.at.getTime()
    const before = await checkedFrom()
    clock.advance(HOUR)
    const same = { description: 'x', url: `${consumer.url}/2`, events: ['*'], enabled: true }
    await changeEndpoint(app, merchant, endpoint.id, same)
    assert.equal(await checkedFrom(), before)
    await changeEndpoint(app, merchant, endpoint.id, { events: ['refund.failed'] })
    assert.equal(await checkedFrom(), clock.now().getTime())
  })
})
