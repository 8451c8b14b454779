// F-10 for deliveries: workers are killed at random. Every event arrives at least once with a valid signature, no
// unknown event arrives, and the versions of a resource arrive in order.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../src/kit/db/db.ts'
import { findOrderViolations, type Receipt, startConsumer } from '../support/consumer.ts'
import { type ServiceProcess, startDeployment } from '../support/deployment.ts'
import { eventually } from '../support/process.ts'
import { sized } from '../support/scale.ts'
import { newResources, type SeedEvent, seedEvents } from '../support/seed-events.ts'

// The long form sends ten thousand events and kills twenty workers.
const RESOURCES = sized({ quick: 150, rest: 500, long: 2_500 })
const VERSIONS = 4
const KILLS = sized({ quick: 3, rest: 8, long: 20 })
const WAVE = (RESOURCES * VERSIONS) / KILLS
// One attempt in ten fails; its retry follows five seconds later and succeeds.
const FAILING = 0.1

const selectMerchant = sql<{ id: string }>`
select merchant_id as id
from webhook_endpoints
where id = $1`

const countPending = sql<{ count: number }>`
select count(*)::integer as count
from deliveries
where status = 'pending'`

const selectBodies = sql<{ id: string; body: string }>`
select id, body::text as body
from events`

const endLeases = sql<unknown>`
update deliveries
set due_at = now(), leased_until = now()
where leased_until is not null`

const deployment = await startDeployment({ after })
const { db } = deployment
const consumer = await startConsumer({ after }, { react: failAtRandom, delayMs: 40 })
const merchantId = await (async () => {
  const { api } = await deployment.startService({}, 'api')
  const { http, body, text } = await api.post('/api/v1/webhooks/endpoints', {
    url: consumer.url,
    events: ['wallet.settled'],
  })
  assert.equal(http, 201, text)
  consumer.setSecret(body.data.secret)
  return (await db.query(selectMerchant, [body.data.uuid]))[0]?.id ?? assert.fail('there is no endpoint')
})()

let isPatient = true

function failAtRandom(_receipt: Receipt, earlier: number) {
  if (isPatient || earlier > 0 || Math.random() > FAILING) return 204
  return Math.random() < 0.5 ? 503 : 'cut'
}

const pending = async () => (await db.query(countPending))[0]?.count ?? -1
const worker = (env: Record<string, string> = {}) => deployment.startService(env, 'worker')

/** Expires the leases of killed workers at once. */
async function expireLeases(): Promise<void> {
  await db.query(endLeases)
}

describe(`${RESOURCES * VERSIONS} events, a consumer that fails at random, workers killed ${KILLS} times (F-10)`, () => {
  it('every event arrives and verifies, no unknown event arrives, and versions keep their order, though workers are killed', async () => {
    isPatient = false
    const before = consumer.receipts.length
    const seeded: string[] = []
    const events = shuffledVersions()
    const workers = [worker(), worker()]
    for (let kill = 0; kill < KILLS; kill += 1) {
      seeded.push(...(await seedEvents(db, merchantId, events.splice(0, WAVE))))
      await delivering()
      await killOne(workers.shift())
      // Kill the last two workers without a replacement, so that every remaining lease belongs to a dead process.
      if (kill < KILLS - 2) workers.push(worker())
    }
    await eventually(consumer.inFlight, (count) => count === 0, 10_000)
    await expireLeases()
    await Promise.all([worker(), worker()])
    await eventually(pending, (count) => count === 0, 150_000)

    const receipts = consumer.receipts.slice(before)
    const taken = new Set(idsOf(receipts.filter(({ isAccepted }) => isAccepted)))
    assert.equal(seeded.length, RESOURCES * VERSIONS)
    assert.deepEqual(
      seeded.filter((id) => !taken.has(id)),
      [],
      'all arrived',
    )
    const recorded = new Map((await db.query(selectBodies)).map(({ id, body }) => [id, body]))
    const unknownReceipts = receipts.filter(({ id, body }) => recorded.get(id) !== body)
    assert.deepEqual(idsOf(unknownReceipts), [], 'every received event was recorded with the same body')
    assert.deepEqual(consumer.errors, [], 'each verified')
    assert.deepEqual(findOrderViolations(receipts), [], 'the versions of each resource arrived in order')

    // Without these the test would prove nothing.
    const failed = receipts.filter(({ isAccepted }) => !isAccepted).length
    const again = receipts.length - failed - taken.size
    assert.ok(failed > seeded.length * FAILING * 0.5, `${failed} failed`)
    assert.ok(again > 0, 'some workers were killed between the response and its record')
  })
})

/** All versions of all resources; the versions of each resource ascend and the resources are interleaved. */
function shuffledVersions(): SeedEvent[] {
  const resources = newResources(RESOURCES).flatMap((resource) => Array(VERSIONS).fill(resource))
  const shuffled = resources.map((resource) => ({ resource, at: Math.random() }))
  const versions = new Map<string, number>()
  return shuffled
    .toSorted((one, other) => one.at - other.at)
    .map(({ resource }) => {
      const version = (versions.get(resource) ?? 0) + 1
      versions.set(resource, version)
      return { resource, version }
    })
}

/** Waits until the worker is in the middle of its deliveries. */
async function delivering(): Promise<void> {
  const { length } = consumer.receipts
  await eventually(
    () => consumer.receipts.length - length,
    (more) => more > WAVE / 10,
    60_000,
  )
  await delay(Math.random() * 100)
}

async function killOne(doomed: Promise<ServiceProcess> | undefined): Promise<void> {
  assert.deepEqual(await (await doomed)?.kill('SIGKILL'), { code: null, signal: 'SIGKILL' })
}

function idsOf(items: readonly { id: string }[]): string[] {
  return items.map(({ id }) => id)
}
