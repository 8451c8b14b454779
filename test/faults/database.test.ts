// F-14, F-15 and F-24: connections to PostgreSQL break while payments are processed, or it has no space. Clients get 503
// with Retry-After, never 500, and every response that they get is correct.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../../src/kit/db/db.ts'
import type { ApiResponse } from '../support/api.ts'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { CHARGED_ONCE, startDeployment } from '../support/deployment.ts'
import { eventually } from '../support/process.ts'

const CHARGE = '/api/v1/charges/recurring'
const INITIATE = '/api/v1/checkout/initiate-payment'
const CLIENTS = 8
const CUTS = 12

const deployment = await startDeployment({ after })
// The resolver polls an interrupted charge when its call has timed out, so use a short timeout.
const start = () => deployment.startService({ COWRY_GATEWAY_TIMEOUT_MS: '2000' })
const services = await Promise.all([start(), start()])
const card = await saveMethod(services[0].api, 'card_success')

const cutConnections = sql<{ pid: number }>`
select pg_terminate_backend(pid), pid
from pg_stat_activity
where datname = current_database() and application_name = 'cowry'`

/** Retries until a final response arrives; every response before it must be one that a client can handle. */
async function retryUntilAccepted(client: number, path: string, body: unknown): Promise<ApiResponse> {
  for (let tries = 0; tries < 50; tries += 1) {
    const { api } = services[(client + tries) % 2] ?? services[0]
    const answer = await api.post(path, body)
    if (answer.http === 201) return answer
    assert.equal(answer.http, 503, answer.text)
    assert.equal(answer.body.error.code, 'temporarily_unavailable')
    assert.ok(Number(answer.headers.get('retry-after')) >= 1)
    rejected503 += 1
    await delay(20)
  }
  throw new Error('no process accepted the request')
}

let rejected503 = 0

it('connections cut under load: 201 or 503 with Retry-After, nothing lost, nothing double (F-14, F-15)', async () => {
  let isOver = false
  const charged: string[] = []
  const initiated: string[] = []
  const client = async (_: unknown, n: number) => {
    while (!isOver) {
      const charge = await retryUntilAccepted(n, CHARGE, chargeBody(card))
      charged.push(charge.body.data.uuid)
      const payment = await retryUntilAccepted(n, INITIATE, initiateBody())
      initiated.push(payment.body.data.uuid)
    }
  }
  const clients = Promise.all(Array.from({ length: CLIENTS }, client))
  let cut = 0
  for (let n = 0; n < CUTS; n += 1) {
    await delay(150)
    cut += (await deployment.db.query(cutConnections)).length
  }
  isOver = true
  await clients
  assert.ok(cut >= CUTS, `${cut} connections were cut`)
  assert.ok(rejected503 > 0, 'some requests were interrupted')

  // The resolver completes charges whose outcome was not written.
  for (const uuid of charged) assert.deepEqual(await deployment.awaitFinal(uuid), CHARGED_ONCE)
  for (const uuid of initiated)
    assert.deepEqual((await deployment.snapshotOf(uuid)).events, ['payment.pending'])
  assert.equal(new Set([...charged, ...initiated]).size, charged.length + initiated.length)
})

it('the service is ready again within two seconds after its connections broke (F-14)', async () => {
  await deployment.db.query(cutConnections)
  for (const { url } of services) {
    const ready = async () => (await fetch(`${url}/readyz`)).status
    await eventually(ready, (http) => http === 200, 2_000)
  }
})

it('a statement that waits too long for a lock returns 503 for that request, and other requests succeed (F-23)', async () => {
  const body = initiateBody()
  const { body: made } = await services[0].api.post(INITIATE, body)
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holding = deployment.db.transaction(async (tx) => {
    await tx.query(lockCustomer, [made.data.uuid])
    locked.resolve()
    await released.promise
  })
  await locked.promise
  // This request writes the same customer, whose row is locked.
  const [held, free] = await Promise.all([
    services[0].api.post(INITIATE, initiateBody()),
    services[1].api.post(INITIATE, initiateBody({ customer: OTHER })),
  ])
  released.resolve()
  await holding
  assert.equal(held.http, 503, held.text)
  assert.ok(held.headers.get('retry-after'))
  assert.equal(free.http, 201, free.text)
})

it('a database without disk space rejects writes with 503, answers reads, and keeps what was acknowledged (F-24)', async () => {
  const { api } = services[0]
  const [made, later] = [initiateBody(), initiateBody()]
  const acknowledged = await api.post(INITIATE, made)
  assert.equal(acknowledged.http, 201, acknowledged.text)
  await deployment.db.script(REJECT_INSERTS)
  for (const [path, body] of [
    [INITIATE, later],
    [CHARGE, chargeBody(card)],
  ] as const) {
    const rejected = await api.post(path, body)
    assert.deepEqual([rejected.http, rejected.body.error?.code], [503, 'temporarily_unavailable'], path)
    assert.ok(Number(rejected.headers.get('retry-after')) >= 1)
    assert.equal(await deployment.idOf(body.reference), undefined)
  }
  const readMade = () => api.get(`/api/v1/checkout/verify-payment?reference=${made.reference}`)
  assert.equal((await readMade()).body.data?.uuid, acknowledged.body.data.uuid)

  await deployment.db.script(ACCEPT_INSERTS)
  assert.equal((await api.post(INITIATE, later)).http, 201)
  assert.equal((await readMade()).body.data?.uuid, acknowledged.body.data.uuid)
})

// The error of a disk that has no room for another page of the table.
const REJECT_INSERTS = `
create function raise_disk_full() returns trigger language plpgsql as $$
begin
  raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
end $$;
create trigger disk_full before insert on payments for each statement execute function raise_disk_full();`
const ACCEPT_INSERTS = `
drop trigger disk_full on payments;
drop function raise_disk_full;`

const OTHER = { email: 'kofi@example.com', firstname: 'Kofi', lastname: 'Mensah' }

const lockCustomer = sql<unknown>`
select c.id
from customers c
join payments p on p.merchant_id = c.merchant_id and p.customer_id = c.id
where p.id = $1
for update of c`
