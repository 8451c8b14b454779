// Faults of the delivery worker: hundreds of hanging endpoints, deliveries that crash it, clocks that differ, and
// replays or failures during other work. The test advances the clock, so that nothing waits in real time.

import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { claimDeliveries, newClaimState } from '../../src/deliveries/claim.ts'
import { CONCURRENCY } from '../../src/deliveries/pools.ts'
import { replayOne } from '../../src/deliveries/replay.ts'
import { allStatements, type Statement, sql } from '../../src/kit/db/db.ts'
import { eventually } from '../support/process.ts'
import { type ScriptedConsumer, scriptedConsumer, webhooksRig } from '../support/webhooks-rig.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const rig = await webhooksRig({ after })
const { app, clock, db } = rig

async function newShop(t: TestContext) {
  const [shop, consumer] = [await rig.newMerchant(), await scriptedConsumer(t)]
  const endpoint = await shop.addEndpoint(consumer.url)
  const merchant = { id: shop.merchantId, name: 'A Shop', mode: 'test', baseCurrency: 'USD' } as const
  const statuses = async () => (await shop.deliveriesOf(endpoint)).map(({ status }) => status)
  return { ...shop, merchant, consumer, endpoint, statuses }
}

/** Responds to each version with a scripted status, and to one version only when the test releases it. */
function holding(consumer: ScriptedConsumer, version: number) {
  const held: (() => void)[] = []
  consumer.defaultAnswer = (response, { event }) => {
    if (event.resource.version !== version || held.length > 0) return void response.writeHead(204).end()
    held.push(() => response.writeHead(503).end())
  }
  return { isHeld: () => eventually(() => held.length, Boolean, 5_000), refuse: () => held[0]?.() }
}

/** The worker of a process that has just started. */
const makeDue = async () => (await claimDeliveries(app, CONCURRENCY, newClaimState())).map((piece) => piece())

const expireLeases = sql<unknown>`
update deliveries
set leased_until = statement_timestamp()
where endpoint_id = $1 and leased_until is not null`

describe('a version in delivery', () => {
  it('a version in delivery is not overtaken when an earlier one is replayed and accepted', async (t) => {
    const shop = await newShop(t)
    const resource = await shop.emitEvent()
    await shop.deliverAll()
    const first = shop.consumer.received[0]?.event.id
    await shop.emitEvent(resource)
    clock.advance(SECOND)
    await shop.emitEvent(resource)
    const { isHeld, refuse } = holding(shop.consumer, 2)
    const second = await makeDue()
    await isHeld()
    await replayOne(app, shop.merchant, first, {}, undefined)
    await Promise.all(await makeDue())
    assert.deepEqual(shop.consumer.versions(), [1, 2, 1])
    refuse()
    await Promise.all(second)
    assert.deepEqual(await shop.statuses(), ['delivered', 'pending', 'pending'])
    clock.advance(6 * SECOND)
    await shop.deliverAll()
    assert.deepEqual(shop.consumer.versions(), [1, 2, 1, 2, 3])
  })

  it('a version in delivery is not overtaken when an earlier one is accepted after the longest wait for it', async (t) => {
    const shop = await newShop(t)
    shop.consumer.defaultAnswer = 503
    const resource = await shop.emitEvent()
    for (const _ of [2, 3]) await shop.emitEvent(resource)
    for (const wait of [0, 6 * SECOND, 6 * MINUTE]) {
      clock.advance(wait)
      await shop.deliverAll()
    }
    assert.deepEqual(shop.consumer.versions(), [1, 1, 1])
    // The fourth attempt is five seconds away: the ten minutes are over, so the second version is sent.
    const [waiting] = await shop.deliveriesOf(shop.endpoint)
    clock.advance((waiting?.dueAt?.getTime() ?? 0) - clock.now().getTime() - 5 * SECOND)
    const { isHeld, refuse } = holding(shop.consumer, 2)
    const second = await makeDue()
    await isHeld()
    clock.advance(5 * SECOND)
    await Promise.all(await makeDue())
    assert.deepEqual(shop.consumer.versions(), [1, 1, 1, 2, 1])
    refuse()
    await Promise.all(second)
    assert.deepEqual(await shop.statuses(), ['delivered', 'pending', 'pending'])
    clock.advance(6 * SECOND)
    await shop.deliverAll()
    assert.deepEqual(shop.consumer.versions(), [1, 1, 1, 2, 1, 2, 3])
  })
})

describe('a delivery that crashes its worker (F-54)', () => {
  it('a delivery that crashes its worker is retried with backoff, dead-lettered after ten attempts, and delays its resource for ten minutes', async (t) => {
    const shop = await newShop(t)
    const { post } = app.publicHttp
    const [broken, taken]: [number[], number[]] = [[], []]
    app.publicHttp.post = (url, request) => {
      if (url !== shop.consumer.url) return post(url, request)
      const isPoison = String(request.body).includes('"version": 1')
      ;(isPoison ? broken : taken).push(clock.now().getTime() - startedAt)
      return isPoison ? Promise.reject(new Error('it broke')) : post(url, request)
    }
    const startedAt = clock.now().getTime()
    const resource = await shop.emitEvent()
    await shop.emitEvent(resource)
    while ((await shop.statuses()).includes('pending')) {
      await shop.deliverAll()
      await db.query(expireLeases, [shop.endpoint.id])
      const pending = (await shop.deliveriesOf(shop.endpoint)).flatMap(({ dueAt }) => dueAt?.getTime() ?? [])
      if (pending.length > 0) clock.advance(Math.max(Math.min(...pending) - clock.now().getTime(), 0))
    }
    app.publicHttp.post = post
    const ends = (await shop.deliveriesOf(shop.endpoint)).map((one) => [
      one.status,
      one.reason,
      one.attemptCount,
    ])
    assert.deepEqual(ends, [
      ['dead', 'crashed', 0],
      ['delivered', null, 1],
    ])
    assert.equal(broken.length, 10)
    assert.ok((broken.at(-1) ?? 0) > 75 * HOUR)
    assert.ok((taken[0] ?? 0) <= 11 * MINUTE, `the next version waited ${taken[0]} ms`)
  })
})

describe('a delivery that is replayed before its next retry', () => {
  it('a replay before the next retry restarts the whole retry schedule', async (t) => {
    const shop = await newShop(t)
    shop.consumer.defaultAnswer = 503
    await shop.emitEvent()
    await shop.deliverAll()
    const event = shop.consumer.received[0]?.event.id
    for (let replays = 0; replays < 12; replays += 1) {
      clock.advance(SECOND)
      await replayOne(app, shop.merchant, event, {}, undefined)
      await shop.deliverAll()
    }
    const [delivery] = await shop.deliveriesOf(shop.endpoint)
    assert.deepEqual(
      [delivery?.status, delivery?.attemptCount, shop.consumer.received.length],
      ['pending', 1, 13],
    )
  })
})

describe('two workers with clocks one minute apart (F-53)', () => {
  it('two workers whose clocks differ do not make the same delivery', async (t) => {
    const shop = await newShop(t)
    const late = { ...app, clock: { ...clock, now: () => new Date(clock.now().getTime() - MINUTE) } }
    await shop.emitEvent()
    clock.advance(2 * MINUTE)
    const answers: (() => void)[] = []
    shop.consumer.defaultAnswer = (response) => void answers.push(() => response.writeHead(204).end())
    const calls = (await claimDeliveries(late, CONCURRENCY, newClaimState())).map((piece) => piece())
    await eventually(() => answers.length, Boolean, 5_000)
    for (const passed of [0, HOUR]) {
      clock.advance(passed)
      await Promise.all(await makeDue())
    }
    for (const answer of answers) answer()
    await Promise.all(calls)
    assert.deepEqual(await shop.statuses(), ['delivered'])
    assert.equal(shop.consumer.received.length, 1)
  })
})

describe('hundreds of endpoints that hang (F-56)', () => {
  it('hundreds of hanging endpoints leave capacity for a healthy one, during their first timeout and after it', async (t) => {
    const HANGING = 400
    const hanging = await scriptedConsumer(t)
    hanging.defaultAnswer = () => undefined
    for (let merchants = 0; merchants < HANGING / 20; merchants += 1) {
      const merchant = await rig.newMerchant()
      await Promise.all(Array.from({ length: 20 }, () => merchant.addEndpoint(hanging.url)))
      for (const _ of [1, 2]) await merchant.emitEvent()
    }
    const shop = await newShop(t)
    await shop.emitEvent()

    const rounds = newClaimState()
    const underWay = new Set<Promise<void>>()
    const readDue = async () => {
      for (const piece of await claimDeliveries(app, CONCURRENCY - underWay.size, rounds)) {
        const running: Promise<void> = piece().then(() => void underWay.delete(running))
        underWay.add(running)
      }
    }
    const { received } = shop.consumer
    /** Polls for due deliveries, as a worker does all the time. */
    const arrived = (count: number) =>
      eventually(
        async () => {
          await readDue()
          return received.length
        },
        (length) => length === count,
        15_000,
      )

    // A call that takes longer than two seconds moves to the pool of suspect endpoints and releases its slot.
    for (const _ of [1, 2, 3, 4]) {
      clock.advance(2 * SECOND)
      await readDue()
      await delay(100)
    }
    /** Waits for the responses of healthy endpoints: a call in progress while the clock advances would look slow. */
    const answered = () =>
      eventually(
        () => underWay.size,
        (size) => size === HANGING,
        15_000,
      )
    await arrived(1)
    await answered()
    for (let count = 0; count < 8; count += 1) await shop.emitEvent()
    await readDue()
    await arrived(9)
    await answered()

    // Their calls time out, and from now on the endpoints are suspect.
    clock.advance(15 * SECOND)
    hanging.closeConnections()
    await Promise.all(underWay)
    clock.advance(10 * MINUTE)
    await readDue()
    assert.ok(underWay.size <= 128, `${underWay.size} calls to failing endpoints are in progress`)
    for (let count = 0; count < 8; count += 1) await shop.emitEvent()
    await readDue()
    await arrived(17)
    hanging.defaultAnswer = 204
    hanging.closeConnections()
    await Promise.all(underWay)
  })
})

const seedEndpoints = sql<unknown>`
insert into webhook_endpoints (
  merchant_id, id, url, events, status, secret_sealed, secret_request_id, checked_from, created_at, updated_at
)
select $1, gen_random_uuid(), 'https://shop.example/', '{*}', 'enabled', 'v1.x', gen_random_uuid(), $2, $2, $2
from generate_series(1, 3000)`

const seedEvents = sql<unknown>`
insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
select $1, gen_random_uuid(), 'refund.pending', 'refund', gen_random_uuid(), 1, '{}', $2
from generate_series(1, $3)`

interface Plan {
  'Relation Name'?: string
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  Plans?: Plan[]
}

/** Counts the deliveries that a statement reads, from PostgreSQL's query plan, and rolls its writes back. */
async function readsOf(fragment: string, values: unknown[]): Promise<number> {
  const statement = allStatements().find(({ text }) => text.includes(fragment)) ?? assert.fail(fragment)
  const explain: Statement<{ 'QUERY PLAN': [{ Plan: Plan }] }> = {
    name: `explain_${statement.name}`,
    text: `explain (analyze, format json) ${statement.text}`,
  }
  let reads = 0
  const count = (plan: Plan) => {
    assert.ok(plan['Node Type'] !== 'Seq Scan' || plan['Relation Name'] !== 'deliveries', 'by an index')
    if (plan['Relation Name'] === 'deliveries' && plan['Node Type'].includes('Scan'))
      reads += plan['Actual Rows'] * plan['Actual Loops']
    for (const inner of plan.Plans ?? []) count(inner)
  }
  await assert.rejects(
    db.transaction(async (tx) => {
      const [row] = await tx.query(explain, values)
      count(row?.['QUERY PLAN'][0].Plan ?? assert.fail('there is a plan'))
      throw new Error('roll back')
    }),
    /roll back/,
  )
  return reads
}

describe('a claim', () => {
  it('a claim reads few rows, however many endpoints have due deliveries and however many are due (F-58)', async (t) => {
    const [many, much] = [await rig.newMerchant(), await newShop(t)]
    await db.query(seedEndpoints, [many.merchantId, clock.now()])
    await db.script('analyze webhook_endpoints')
    await db.query(seedEvents, [many.merchantId, clock.now(), 4])
    await db.query(seedEvents, [much.merchantId, clock.now(), 5_000])
    await db.script('analyze deliveries')
    const nowhere = '00000000-0000-0000-0000-000000000000'
    const looked = await readsOf('with recursive waiting', [clock.now(), nowhere, nowhere])
    assert.ok(looked <= 1_001, `${looked} rows read to find a page of endpoints`)
    const turn = [clock.now(), [much.merchantId], [much.endpoint.id], [8]]
    const read = await readsOf('candidate as', turn)
    assert.ok(read <= 100, `${read} rows read to claim eight of many`)
    const pieces = await claimDeliveries(app, 256, newClaimState())
    assert.ok(pieces.length > 100, `${pieces.length} were claimed`)
  })
})
