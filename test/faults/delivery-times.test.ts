// F-55 and F-56: endpoints that hang and endpoints that are down for days. The test advances the clock.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { type Consumer, findOrderViolations, startConsumer } from '../support/consumer.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { eventually } from '../support/process.ts'
import { sized } from '../support/scale.ts'
import { newResources, seedEvents } from '../support/seed-events.ts'
import { testService } from '../support/service.ts'

const HOUR_MS = 3_600_000
const ENDPOINTS = '/api/v1/webhooks/endpoints'

interface Progress {
  pending: number
  dead: number
  /** Deliveries that are due or in progress. */
  due: number
  lastDueAt: Date | null
}

const selectProgress = sql<Progress>`
select
  (count(*) filter (where status = 'pending'))::integer as pending,
  (count(*) filter (where status = 'dead'))::integer as dead,
  (count(*) filter (where due_at <= $2 or leased_until is not null))::integer as due,
  max(due_at) as "lastDueAt"
from deliveries
where merchant_id = $1`

// The clock stands still unless a test advances it, so that each round attempts every delivery once.
const clock = frozenClock()
const service = await testService({ after }, { clock })
const { db } = service

async function addEndpoint(api: Api, consumer: Consumer): Promise<string> {
  const { http, body, text } = await api.post(ENDPOINTS, { url: consumer.url, events: ['wallet.settled'] })
  assert.equal(http, 201, text)
  consumer.setSecret(body.data.secret)
  return body.data.uuid
}

async function progressOf(merchantId: string): Promise<Progress> {
  const [row] = await db.query(selectProgress, [merchantId, clock.now()])
  return row ?? assert.fail('a count has one row')
}

describe('endpoints that always hang (F-56)', () => {
  const SAMPLES = 40
  const HANGING = 6
  // More than the concurrency limit of one endpoint.
  const BACKLOG = 30
  const ROUNDS = [3, 6]

  it('hanging endpoints at most double the delivery time of others, of the same merchant and of another', async (t) => {
    const [one, other] = [await service.newMerchant(), await service.newMerchant()]
    const consumers = await Promise.all([startConsumer(t), startConsumer(t)])
    await Promise.all([addEndpoint(one.api, consumers[0]), addEndpoint(other.api, consumers[1])])
    const hanging = await startConsumer(t, { react: () => 'hang' })
    const measure = () => timesOf(consumers, [one.uuid, other.uuid], SAMPLES)

    // Alternate the two measurements, so that noise of the machine affects both. Every sample counts.
    const [without, beside]: [number[], number[]] = [[], []]
    const ratio = () => slowestOf(beside) / slowestOf(without)
    const [least = 0, most = 0] = ROUNDS
    for (let rounds = 0; rounds < least || (rounds < most && ratio() > 2); rounds += 1) {
      without.push(...(await measure()))
      const endpoints = await Promise.all(
        Array.from({ length: HANGING }, () => addEndpoint(one.api, hanging)),
      )
      const [hung, delivered] = [hanging.receipts.length, consumers[0].receipts.length]
      await seedEvents(db, one.uuid, newResources(BACKLOG).map(firstVersion))
      await eventually(
        () =>
          hanging.receipts.length >= hung + HANGING && consumers[0].receipts.length === delivered + BACKLOG,
        Boolean,
        20_000,
      )
      beside.push(...(await measure()))
      assert.ok(hanging.inFlight() >= HANGING, 'the endpoints hung during the whole measurement')
      await Promise.all(endpoints.map((uuid) => one.api.send('DELETE', `${ENDPOINTS}/${uuid}`)))
    }
    hanging.closeConnections()
    const [slowest, usual] = [slowestOf(beside), slowestOf(without)]
    assert.ok(
      slowest <= 2 * usual,
      `${slowest} ms beside them, ${usual} ms without, of ${beside.length} each`,
    )
  })
})

const firstVersion = (resource: string) => ({ resource, version: 1, createdAt: clock.now() })

/** The milliseconds from record to arrival, one event at a time for each merchant. */
async function timesOf(consumers: Consumer[], merchantIds: string[], samples: number): Promise<number[]> {
  const seededAt = new Map<string, number>()
  for (let sample = 0; sample < samples; sample += 1) {
    for (const merchantId of merchantIds) {
      const at = performance.now()
      const [id = ''] = await seedEvents(db, merchantId, newResources(1).map(firstVersion))
      seededAt.set(id, at)
    }
    await delay(20)
  }
  const arrived = () => consumers.flatMap(({ receipts }) => receipts).filter(({ id }) => seededAt.has(id))
  const receipts = await eventually(arrived, ({ length }) => length === seededAt.size, 30_000)
  return receipts.map(({ id, atMs }) => atMs - (seededAt.get(id) ?? 0))
}

/** The 99th percentile. */
function slowestOf(times: number[]): number {
  return (
    times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? assert.fail('nothing was measured')
  )
}

describe('a consumer that is down for 72 hours (F-55)', () => {
  // Ten thousand events would need so many attempts before the consumer returns that the test would take minutes.
  const RESOURCES = sized({ quick: 40, rest: 100, long: 500 })
  const VERSIONS = [1, 2, 3, 4]

  it('a consumer gets every event in order after 72 hours of downtime, and nothing is dead-lettered before', async (t) => {
    const { uuid: merchantId, api } = await service.newMerchant()
    let isDown = true
    const consumer = await startConsumer(t, { clock, react: () => (isDown ? 503 : 204) })
    await addEndpoint(api, consumer)
    const resources = newResources(RESOURCES)
    const createdAt = clock.now()
    const seed = (version: number) =>
      seedEvents(
        db,
        merchantId,
        resources.map((resource) => ({ resource, version, createdAt })),
      )
    const ids = (await Promise.all(VERSIONS.map(seed))).flat()

    const backAt = createdAt.getTime() + 72 * HOUR_MS
    while (clock.now().getTime() < backAt) {
      const { pending, dead, lastDueAt } = await settle(merchantId)
      assert.deepEqual([pending, dead], [ids.length, 0])
      advanceTo(Math.min(lastDueAt?.getTime() ?? 0, backAt))
    }
    await settle(merchantId)
    const tried = consumer.receipts.length
    assert.ok(tried >= RESOURCES * 9, `there were ${tried} attempts`)

    isDown = false
    for (let left = await settle(merchantId); left.pending > 0; left = await settle(merchantId)) {
      assert.equal(left.dead, 0)
      advanceTo(left.lastDueAt?.getTime() ?? 0)
    }
    const taken = consumer.receipts.filter(({ isAccepted }) => isAccepted)
    assert.deepEqual(taken.map(({ id }) => id).toSorted(), ids.toSorted(), 'each arrived once')
    assert.deepEqual(findOrderViolations(taken), [])
    assert.deepEqual(consumer.errors, [])
    // The longest backoff of the schedule, with its jitter.
    const waitedMs = clock.now().getTime() - backAt
    assert.ok(waitedMs <= 26.4 * HOUR_MS + 1_000, `the last arrived ${waitedMs / HOUR_MS} hours later`)
  })

  function advanceTo(at: number): void {
    clock.advance(Math.max(at - clock.now().getTime(), 0) + 1)
  }

  /** Waits until every due delivery was attempted. */
  function settle(merchantId: string): Promise<Progress> {
    return eventually(
      () => progressOf(merchantId),
      ({ due }) => due === 0,
      60_000,
    )
  }
})
