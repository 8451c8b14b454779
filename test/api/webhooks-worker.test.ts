import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it, type TestContext } from 'node:test'
import { claimDeliveries, newClaimState } from '../../src/deliveries/claim.ts'
import { claimDueDeliveries } from '../../src/deliveries/claim-queries.ts'
import { listDeliveryRows } from '../../src/deliveries/delivery-queries.ts'
import { purgeDeliveries } from '../../src/deliveries/maintenance-queries.ts'
import { sql } from '../../src/kit/db/db.ts'
import { rotateSecret } from '../../src/webhook-endpoints/endpoints.ts'
import { updateEndpoint } from '../../src/webhook-endpoints/queries.ts'
import { newSecret } from '../../src/webhook-endpoints/secret.ts'
import {
  type Received,
  type Scripted,
  scriptedConsumer,
  verifies,
  webhooksRig,
} from '../support/webhooks-rig.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const rig = await webhooksRig({ after })
const { app, clock, db } = rig

/** A merchant with its own consumer and endpoint. */
async function newShop(t: TestContext, events?: string[]) {
  const [shop, consumer] = [await rig.newMerchant(), await scriptedConsumer(t)]
  const endpoint = await shop.addEndpoint(consumer.url, events)
  const { received } = consumer
  const statuses = async () => (await shop.deliveriesOf(endpoint)).map(({ status }) => status)
  const dueIn = async () => {
    const [delivery] = await shop.deliveriesOf(endpoint)
    return delivery?.dueAt ? delivery.dueAt.getTime() - clock.now().getTime() : null
  }
  return { ...shop, consumer, endpoint, received, statuses, dueIn }
}

const selectBody = sql<{ id: string; body: string }>`
select id, body::text as body
from events
where merchant_id = $1
order by created_at, id`

const selectDisabled = sql<{ reason: string | null; status: string }>`
select disabled_reason as reason, status
from webhook_endpoints
where id = $1`

describe('the signature and content of a delivery', () => {
  it('delivers the stored event under its id, and the reference library verifies it', async (t) => {
    const shop = await newShop(t)
    await shop.emitEvent()
    await shop.deliverAll()
    const [received, ...more] = shop.received
    assert.ok(received)
    assert.equal(more.length, 0)
    const [stored] = await db.query(selectBody, [shop.merchantId])
    assert.equal(received.body, stored?.body)
    assert.equal(received.headers['webhook-id'], stored?.id)
    assert.equal(received.headers['content-type'], 'application/json')
    assert.match(received.headers['user-agent'] ?? '', /^Cowry-Webhooks\//)
    assert.ok(verifies(received, shop.endpoint.secret))
    assert.deepEqual(await shop.statuses(), ['delivered'])
  })

  it('fails verification with a changed byte, an old timestamp or a foreign secret', async (t) => {
    const shop = await newShop(t)
    await shop.emitEvent()
    await shop.deliverAll()
    const [received] = shop.received
    assert.ok(received)
    const { secret } = shop.endpoint
    const changed = (changes: Partial<Received>) => verifies({ ...received, ...changes }, secret)
    assert.equal(changed({}), true)
    assert.equal(changed({ body: received.body.replace('pending', 'pendinh') }), false)
    const earlier = String(Number(received.headers['webhook-timestamp']) - 6 * 60)
    assert.equal(changed({ headers: { ...received.headers, 'webhook-timestamp': earlier } }), false)
    assert.equal(changed({ headers: { ...received.headers, 'webhook-id': randomUUID() } }), false)
    assert.equal(verifies(received, newSecret(app.random)), false)
  })

  it('delivers once to each endpoint that is subscribed to the type', async (t) => {
    const shop = await newShop(t, ['refund.successful'])
    const all = await scriptedConsumer(t)
    await shop.addEndpoint(all.url)
    const resource = await shop.emitEvent()
    await shop.emitEvent(resource, 'refund.successful')
    await shop.deliverAll()
    assert.deepEqual(shop.consumer.versions(), [2])
    assert.deepEqual(all.versions(), [1, 2])
  })

  it('creates a delivery in the transaction of its event', async (t) => {
    const shop = await newShop(t)
    const failed = db.transaction(async (tx) => {
      await tx.script(`insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
        values ('${shop.merchantId}', gen_random_uuid(), 'refund.failed', 'refund', gen_random_uuid(), 1, '{}', now())`)
      throw new Error('the move did not happen')
    })
    await assert.rejects(failed, /did not happen/)
    assert.deepEqual(await shop.statuses(), [])
  })
})

describe('a failed delivery', () => {
  it('retries with backoff ten times over three days with the same id and body, then dead-letters the delivery', async (t) => {
    const shop = await newShop(t)
    shop.consumer.defaultAnswer = 500
    await shop.emitEvent()
    const startedAt = clock.now().getTime()
    const offsets: number[] = []
    for (let tries = 1; tries <= 10; tries += 1) {
      await shop.deliverAll()
      assert.equal(shop.received.length, tries)
      offsets.push(clock.now().getTime() - startedAt)
      const wait = await shop.dueIn()
      if (wait === null) break
      clock.advance(wait - 1)
      await shop.deliverAll()
      assert.equal(shop.received.length, tries, 'not before its time')
      clock.advance(1)
    }
    assert.equal(offsets.length, 10)
    assert.ok((offsets[1] ?? 0) >= 5 * SECOND && (offsets[1] ?? 0) <= 5.5 * SECOND)
    assert.ok((offsets.at(-1) ?? 0) > 75 * HOUR)
    const bodies = new Set(shop.received.map(({ body, headers }) => `${headers['webhook-id']} ${body}`))
    assert.equal(bodies.size, 1)
    const [{ status, reason } = { status: '', reason: '' }] = await shop.deliveriesOf(shop.endpoint)
    assert.deepEqual([status, reason], ['dead', 'attempts_exhausted'])
  })

  it('waits as long as Retry-After says, and never less than its backoff', async (t) => {
    const shop = await newShop(t)
    const asking =
      (text: string): Scripted =>
      (response) =>
        response.writeHead(429, { 'retry-after': text }).end()
    shop.consumer.answers(asking('120'), asking('1'), asking('86400'))
    await shop.emitEvent()
    await shop.deliverAll()
    assert.equal(await shop.dueIn(), 120 * SECOND)
    clock.advance(120 * SECOND)
    await shop.deliverAll()
    assert.ok(((await shop.dueIn()) ?? 0) >= 5 * MINUTE)
    clock.advance(6 * MINUTE)
    await shop.deliverAll()
    assert.equal(await shop.dueIn(), HOUR)
  })

  it('does not follow a redirect (F-73)', async (t) => {
    const shop = await newShop(t)
    const target = await scriptedConsumer(t)
    shop.consumer.answers((response) => response.writeHead(307, { location: target.url }).end())
    await shop.emitEvent()
    await shop.deliverAll()
    assert.deepEqual([await shop.statuses(), target.received], [['pending'], []])
  })

  it('stores a short response without characters that PostgreSQL rejects', async (t) => {
    const shop = await newShop(t)
    shop.consumer.answers((response) => response.writeHead(500).end(`\u0000${'🐚'.repeat(5_000)}`))
    await shop.emitEvent()
    await shop.deliverAll()
    const select = sql<{ answer: string; httpStatus: number }>`
select response_body as answer, http_status as "httpStatus" from delivery_attempts where endpoint_id = $1`
    const [attempt] = await db.query(select, [shop.endpoint.id])
    assert.equal(attempt?.httpStatus, 500)
    assert.equal(attempt?.answer, `\ufffd${'🐚'.repeat(199)}`)
  })
})

const swapSecrets = sql<unknown>`
update webhook_endpoints
set secret_sealed = (select secret_sealed from webhook_endpoints where id = $2)
where id = $1`

describe('an endpoint whose secret cannot be decrypted', () => {
  it('does not call an endpoint whose secret cannot be decrypted, and shows the reason to its merchant (F-92)', async (t) => {
    const [shop, other] = [await newShop(t), await newShop(t)]
    await db.query(swapSecrets, [shop.endpoint.id, other.endpoint.id])
    await shop.emitEvent()
    await shop.deliverAll()
    assert.deepEqual([shop.received, await shop.statuses()], [[], ['pending']])
    const select = sql<{ error: string }>`select error from delivery_attempts where endpoint_id = $1`
    const [attempt] = await db.query(select, [shop.endpoint.id])
    assert.match(attempt?.error ?? '', /secret .* could not be read\. Rotate it\./)
  })
})

describe('the order of a resource’s versions', () => {
  it('delivers a version only after the previous one, and immediately once that is accepted', async (t) => {
    const shop = await newShop(t)
    const resource = await shop.emitEvent()
    await shop.emitEvent(resource)
    await shop.emitEvent(resource)
    const other = await shop.emitEvent()
    shop.consumer.defaultAnswer = (response, { event }) =>
      response.writeHead(event.resource.uuid === resource ? 500 : 204).end()
    await shop.deliverAll()
    const came = shop.received.map(({ event }) => `${event.resource.uuid} ${event.resource.version}`)
    assert.deepEqual(came.toSorted(), [`${resource} 1`, `${other} 1`].toSorted())
    shop.consumer.defaultAnswer = 204
    clock.advance(6 * SECOND)
    await shop.deliverAll()
    assert.deepEqual(shop.consumer.versions().slice(2), [1, 2, 3])
    assert.deepEqual(await shop.statuses(), ['delivered', 'delivered', 'delivered', 'delivered'])
  })

  it('rechecks soon while the previous version is in flight, and delivers at once when it ends', async (t) => {
    const shop = await newShop(t)
    const resource = await shop.emitEvent()
    const inFlight = await claimDeliveries(app, 256, newClaimState())
    await shop.emitEvent(resource)
    assert.deepEqual(await claimDeliveries(app, 256, newClaimState()), [])
    const [, second] = await shop.deliveriesOf(shop.endpoint)
    assert.equal((second?.dueAt?.getTime() ?? 0) - clock.now().getTime(), SECOND)
    await Promise.all(inFlight.map((piece) => piece()))
    assert.deepEqual(shop.consumer.versions(), [1, 2])
    assert.deepEqual(await shop.statuses(), ['delivered', 'delivered'])
  })

  it('delays a version for at most ten minutes', async (t) => {
    const shop = await newShop(t)
    shop.consumer.defaultAnswer = (response, { event }) =>
      response.writeHead(event.resource.version === 1 ? 500 : 204).end()
    const resource = await shop.emitEvent()
    await shop.emitEvent(resource)
    await shop.deliverAll()
    for (let minutes = 0; minutes < 9; minutes += 1) {
      clock.advance(MINUTE)
      await shop.deliverAll()
      assert.ok(!shop.consumer.versions().includes(2), `after ${minutes + 1} minutes`)
    }
    clock.advance(MINUTE + SECOND)
    await shop.deliverAll()
    assert.deepEqual(await shop.statuses(), ['pending', 'delivered'])
  })

  it('delivers versions in order also after the consumer was away for days', async (t) => {
    const shop = await newShop(t)
    shop.consumer.defaultAnswer = 503
    const resource = await shop.emitEvent()
    for (const _ of [2, 3, 4]) await shop.emitEvent(resource)
    const back = clock.now().getTime() + 72 * HOUR
    while (clock.now().getTime() < back) {
      await shop.deliverAll()
      clock.advance(30 * MINUTE)
    }
    const before = shop.received.length
    shop.consumer.defaultAnswer = 204
    for (let hours = 0; hours < 30 && (await shop.statuses()).includes('pending'); hours += 1) {
      clock.advance(HOUR)
      await shop.deliverAll()
    }
    assert.deepEqual(shop.consumer.versions().slice(before), [1, 2, 3, 4])
  })
})

describe('an endpoint that answers 410', () => {
  it('disables an endpoint that answers 410, emits an event to the others, and dead-letters its deliveries', async (t) => {
    const shop = await newShop(t)
    const eventConsumer = await scriptedConsumer(t)
    await shop.addEndpoint(eventConsumer.url, ['webhook_endpoint.disabled'])
    shop.consumer.defaultAnswer = 410
    const resource = await shop.emitEvent()
    await shop.emitEvent(resource)
    await shop.deliverAll()
    assert.equal(shop.received.length, 1)
    assert.deepEqual(await db.query(selectDisabled, [shop.endpoint.id]), [
      { reason: 'endpoint_gone', status: 'disabled' },
    ])
    const dead = await shop.deliveriesOf(shop.endpoint)
    assert.deepEqual(
      dead.map(({ status, reason }) => `${status} ${reason}`),
      ['dead endpoint_gone', 'dead endpoint_gone'],
    )
    const [disabledEvent, ...more] = eventConsumer.received
    assert.equal(more.length, 0)
    assert.equal(disabledEvent?.event.type, 'webhook_endpoint.disabled')
    assert.equal(
      disabledEvent?.event.data.disabled.message,
      'The endpoint answered 410 Gone, which asks us to stop.',
    )
    await shop.emitEvent()
    assert.equal((await shop.deliveriesOf(shop.endpoint)).length, 2, 'no new delivery is created for it')
  })
})

describe('an endpoint that changed its address during a request', () => {
  it('does not disable an endpoint for a response of its previous address', async (t) => {
    const [shop, moved] = [await newShop(t), await scriptedConsumer(t)]
    const { id } = shop.endpoint
    shop.consumer.defaultAnswer = (response) =>
      void updateEndpoint(db, shop.merchantId, id, clock.now(), { ...UNCHANGED, url: moved.url }).then(() =>
        response.writeHead(410).end(),
      )
    await shop.emitEvent()
    await shop.deliverAll()
    assert.deepEqual(await db.query(selectDisabled, [id]), [{ reason: null, status: 'enabled' }])
    clock.advance(6 * SECOND)
    await shop.deliverAll()
    assert.equal(moved.received.length, 1)
  })
})

describe('an endpoint that fails for five days', () => {
  it('disables an endpoint that fails for five days without any success', async (t) => {
    const [dead, alive] = [await newShop(t), await newShop(t)]
    const emitToBoth = async () => {
      for (const shop of [dead, alive]) {
        await shop.emitEvent()
        await shop.deliverAll()
      }
    }
    const statuses = async () => {
      const rows = [dead, alive].map(({ endpoint }) => db.query(selectDisabled, [endpoint.id]))
      return (await Promise.all(rows)).map(([row]) => `${row?.status} ${row?.reason}`)
    }
    dead.consumer.defaultAnswer = 500
    alive.consumer.defaultAnswer = 500
    await emitToBoth()
    for (let days = 1; days < 5; days += 1) {
      clock.advance(DAY)
      if (days === 4) alive.consumer.answers(200)
      await emitToBoth()
    }
    clock.advance(DAY - SECOND)
    await emitToBoth()
    assert.deepEqual(await statuses(), ['enabled null', 'enabled null'], 'not before')
    clock.advance(2 * SECOND)
    await emitToBoth()
    assert.deepEqual(await statuses(), ['disabled endpoint_failing', 'enabled null'])
  })

  it('does not disable an endpoint that was rarely called, because few failures prove no outage', async (t) => {
    const shop = await newShop(t)
    shop.consumer.defaultAnswer = 503
    await shop.emitEvent()
    for (let hours = 0; hours < 4 * 24; hours += 1) {
      await shop.deliverAll()
      clock.advance(HOUR)
    }
    assert.deepEqual(await shop.statuses(), ['dead'])
    clock.advance(20 * DAY)
    shop.consumer.defaultAnswer = 204
    shop.consumer.answers(502)
    await shop.emitEvent()
    await shop.deliverAll()
    clock.advance(6 * SECOND)
    await shop.deliverAll()
    assert.deepEqual(await shop.statuses(), ['dead', 'delivered'])
    assert.equal((await db.query(selectDisabled, [shop.endpoint.id]))[0]?.status, 'enabled')
  })
})

describe('a rotated secret (F-57)', () => {
  it('signs with both secrets during the overlap, and with the new one only after it', async (t) => {
    const shop = await newShop(t)
    const merchant = { id: shop.merchantId, name: 'A Shop', mode: 'test', baseCurrency: 'USD' } as const
    const { record } = await rotateSecret(app, merchant, shop.endpoint.id, {}, undefined)
    const signedBy = async (): Promise<[boolean, boolean]> => {
      await shop.emitEvent()
      await shop.deliverAll()
      const received = shop.received.at(-1)
      assert.ok(received)
      // The library verifies with the real time, from which the test clock differs.
      const at = String(Math.floor(clock.now().getTime() / 1_000))
      assert.equal(received.headers['webhook-timestamp'], at)
      return [verifies(received, shop.endpoint.secret, clock), verifies(received, record.secret, clock)]
    }
    assert.deepEqual(await signedBy(), [true, true])
    clock.advance(24 * HOUR - SECOND)
    assert.deepEqual(await signedBy(), [true, true])
    clock.advance(SECOND)
    assert.deepEqual(await signedBy(), [false, true])
  })
})

const UNCHANGED = { description: undefined, events: undefined, status: undefined }

const endLeases = sql<unknown>`
update deliveries
set due_at = least(due_at, $2), leased_until = statement_timestamp()
where endpoint_id = $1 and leased_until is not null`

describe('a process that stalled longer than its lease (F-07)', () => {
  it('ignores the result of a process whose lease was taken over', async (t) => {
    const shop = await newShop(t)
    await shop.emitEvent()
    const now = clock.now()
    const allotments = [{ merchantId: shop.merchantId, endpointId: shop.endpoint.id, quota: 8 }]
    const claim = async () => (await claimDueDeliveries(db, clock.now(), allotments)).claimed[0]
    const staleClaim = await claim()
    assert.ok(staleClaim)
    assert.equal(await claim(), undefined, 'a lease belongs to one process')
    const [shown] = await listDeliveryRows(db, shop.merchantId, staleClaim.eventId)
    assert.deepEqual(
      [shown?.status, shown?.nextAttemptAt],
      ['pending', null],
      'the attempt in flight may be the last',
    )
    clock.advance(HOUR)
    assert.equal(await claim(), undefined, 'also for a process with a wrong clock (F-53)')
    await db.query(endLeases, [shop.endpoint.id, clock.now()])
    const successor = await claim()
    assert.equal(successor?.fence, staleClaim.fence + 1)
    const result = {
      merchant_id: shop.merchantId,
      event_id: staleClaim.eventId,
      endpoint_id: staleClaim.endpointId,
      fence: staleClaim.fence,
      status: 'delivered',
      reason: null,
      due_at: null,
      started_at: now,
      ended_at: clock.now(),
      claims_next: false,
      url: staleClaim.url,
      signature: 'v1,x',
      http_status: 200,
      error: null,
      response_body: '',
      duration_ms: 1,
    } as const
    assert.equal((await app.finishDelivery(result)).isLeaseValid, false)
    assert.deepEqual(await shop.statuses(), ['pending'])
    assert.equal((await app.finishDelivery({ ...result, fence: staleClaim.fence + 1 })).isLeaseValid, true)
    assert.equal((await app.finishDelivery({ ...result, fence: staleClaim.fence + 1 })).isLeaseValid, false)
    assert.deepEqual(await shop.statuses(), ['delivered'])
  })
})

describe('the purge of old deliveries', () => {
  it('purges old deliveries with their attempts, and the invariants still hold', async (t) => {
    const shop = await newShop(t)
    await shop.emitEvent()
    await shop.deliverAll()
    clock.advance(31 * DAY)
    await shop.emitEvent()
    while ((await purgeDeliveries(db, new Date(clock.now().getTime() - 30 * DAY))) > 0);
    assert.deepEqual(await shop.statuses(), ['pending'])
    await shop.deliverAll()
  })
})
