// Webhooks to a merchant from workers that die: F-10. Whatever happens, every event arrives at least
// once and verifies, none arrives that was never recorded, and the versions of a resource arrive in their order.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../src/kit/db/db.ts'
import { findOrderViolations, type Receipt, startConsumer } from '../support/consumer.ts'
import { type ServiceProcess, startDeployment } from '../support/deployment.ts'
import { eventually } from '../support/process.ts'
import { sized } from '../support/scale.ts'
import { newResources, type SeedEvent, seedEvents } from '../support/seed-events.ts'

// Ten thousand events and twenty kills in the long form.
const RESOURCES = sized({ quick: 150, rest: 500, long: 2_500 })
const VERSIONS = 4
const KILLS = sized({ quick: 3, rest: 8, long: 20 })
const WAVE = (RESOURCES * VERSIONS) / KILLS
// One try in ten fails; the next one comes five seconds later and is taken.
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

/** As if they had just run out. */
async function expireLeases(): Promise<void> {
  await db.query(endLeases)
}

describe(`${RESOURCES * VERSIONS} events, a consumer that fails at random, workers killed ${KILLS} times (F-10)`, () => {
  it('every event arrives and verifies, none is made up, and versions keep their order', async () => {
    isPatient = false
    const before = consumer.receipts.length
    const seeded: string[] = []
    const events = shuffledVersions()
    const workers = [worker(), worker()]
    for (let kill = 0; kill < KILLS; kill += 1) {
      seeded.push(...(await seedEvents(db, merchantId, events.splice(0, WAVE))))
      await delivering()
      await killOne(workers.shift())
      // The last two leave nobody behind, so that every lease there is belongs to the dead.
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
    assert.deepEqual(idsOf(unknownReceipts), [], 'each was recorded, in the same words')
    assert.deepEqual(consumer.errors, [], 'each verified')
    assert.deepEqual(findOrderViolations(receipts), [], 'each resource was told in order')

    // Otherwise nothing of this was put to the test.
    const failed = receipts.filter(({ isAccepted }) => !isAccepted).length
    const again = receipts.length - failed - taken.size
    assert.ok(failed > seeded.length * FAILING * 0.5, `${failed} failed`)
    assert.ok(again > 0, 'some were killed between the answer and its record')
  })
})

/** Every version of every resource, each resource's in ascending order and the resources mixed up. */
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

/** Waits until whoever is there is in the middle of it. */
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
