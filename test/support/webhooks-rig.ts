// The real delivery code on a real database, with a clock that the test advances and consumers that return scripted
// responses over HTTP. No background job runs: the test starts each delivery.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { createDeliveryWriter, type DeliveriesApp } from '../../src/deliveries/app.ts'
import { claimDeliveries, newClaimState } from '../../src/deliveries/claim.ts'
import { deadLetterDeliveries } from '../../src/deliveries/maintenance-queries.ts'
import { recordEvents } from '../../src/events/service.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { createSigner, createVault } from '../../src/kit/crypto.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import { checkInvariants } from '../../src/kit/db/invariants.ts'
import { readFailpoints } from '../../src/kit/failpoints.ts'
import { ALLOW_LOOPBACK } from '../../src/kit/http/public-address.ts'
import { createPublicHttp } from '../../src/kit/http/public-http.ts'
import { createCounters } from '../../src/kit/observability/counters.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { insertEndpoint } from '../../src/webhook-endpoints/queries.ts'
import { newSecret, sealSecret } from '../../src/webhook-endpoints/secret.ts'
import { type Cleanup, testDatabaseUrl } from './database.ts'
import { type FakeClock, frozenClock } from './fake-clock.ts'
import { newHookPath, refuseStray } from './stray-deliveries.ts'
import { connectTestDb } from './test-db.ts'

export interface Received {
  headers: Record<string, string>
  body: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any shape and asserts on it
  event: any
}

/** A consumer's response: a status, or a function that writes the response. */
export type Scripted = number | ((response: ServerResponse, received: Received) => void)

export interface ScriptedConsumer {
  url: string
  received: Received[]
  /** Scripts the next responses, each used once; later requests get the default response. */
  answers(...scripted: Scripted[]): void
  defaultAnswer: Scripted
  /** The versions in the order of their arrival. */
  versions(): number[]
  closeConnections(): void
}

export async function scriptedConsumer(t: Cleanup): Promise<ScriptedConsumer> {
  const scripts: Scripted[] = []
  const consumer: ScriptedConsumer = {
    url: '',
    received: [],
    answers: (...scripted) => void scripts.push(...scripted),
    defaultAnswer: 204,
    versions: () => consumer.received.map(({ event }) => event.resource.version),
    closeConnections: () => server.closeAllConnections(),
  }
  const path = newHookPath()
  const server = createServer(async (request, response) => {
    if (refuseStray(request, response, path)) return
    const body = await text(request)
    const received = { headers: flat(request.headers), body, event: JSON.parse(body) }
    consumer.received.push(received)
    const script = scripts.shift() ?? consumer.defaultAnswer
    if (typeof script === 'number') response.writeHead(script).end()
    else script(response, received)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  // A boundary: a server that listens on a port has an address of this kind.
  consumer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  return consumer
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

export interface RigEndpoint {
  id: string
  secret: string
}

export interface DeliveryRow {
  eventId: string
  endpointId: string
  version: number
  status: string
  reason: string | null
  dueAt: Date | null
  attemptCount: number
  fence: number
}

const selectDeliveries = sql<DeliveryRow>`
select event_id as "eventId", endpoint_id as "endpointId", version, status, reason, due_at as "dueAt", attempt_count as "attemptCount", fence
from deliveries
where endpoint_id = $1
order by created_at, version, event_id`

const insertMerchant = sql`
insert into merchants (id, name, mode, created_at, updated_at)
values ($1, 'A Shop', 'test', now(), now())`

export interface WebhooksRig extends MerchantActions {
  app: DeliveriesApp
  db: Db
  clock: FakeClock
  /** The functions of another merchant, on the same database. */
  newMerchant(): Promise<MerchantActions>
}

export interface MerchantActions {
  merchantId: string
  addEndpoint(url: string, events?: string[]): Promise<RigEndpoint>
  /** Writes an event of the resource with the next version. */
  emitEvent(resourceId?: string, type?: 'refund.pending' | 'refund.successful'): Promise<string>
  /** Makes all due deliveries, until none is due. */
  deliverAll(): Promise<void>
  deliveriesOf(endpoint: RigEndpoint): Promise<DeliveryRow[]>
}

export async function webhooksRig(t: Cleanup): Promise<WebhooksRig> {
  let db: Db | undefined
  t.after(async () => {
    if (!db) return
    try {
      await assertNoneLost(db)
    } finally {
      await db.close()
    }
  })
  db = connectTestDb({ url: await testDatabaseUrl(t), poolSize: 8 })
  const app = createTestApp(db)
  t.after(() => app.publicHttp.close())
  const addMerchant = async () => {
    const merchantId = app.random.uuid()
    await app.db.query(insertMerchant, [merchantId])
    return actionsOf(app, merchantId)
  }
  return { app, db, clock: app.clock, newMerchant: addMerchant, ...(await addMerchant()) }
}

/** The other invariants need ledger records, which the events of this rig do not have. */
async function assertNoneLost(db: Db): Promise<void> {
  const report = (await checkInvariants(db)).find(({ name }) => name.includes('_i10_'))
  assert.equal(report?.violations, 0, 'every event has its delivery')
}

function createTestApp(db: Db): DeliveriesApp & { clock: FakeClock } {
  const clock = frozenClock()
  const random = systemRandom(clock)
  const failpoints = readFailpoints('')
  if ('issue' in failpoints) throw new Error(failpoints.issue)
  return {
    db,
    clock,
    random,
    vault: createVault([{ id: 'k1', key: random.bytes(32) }], random),
    cursors: createSigner(random.bytes(32)),
    log: createLog('silent'),
    counters: createCounters(),
    publicHttp: createPublicHttp({ allow: ALLOW_LOOPBACK, ports: [] }),
    mode: 'test',
    finishDelivery: createDeliveryWriter(db),
    ...failpoints,
  }
}

function actionsOf(app: DeliveriesApp, merchantId: string): MerchantActions {
  const versions = new Map<string, number>()
  return {
    merchantId,
    async addEndpoint(url, events = ['*']) {
      const id = app.random.uuid()
      const secret = newSecret(app.random)
      const secretSealed = sealSecret(app.vault, { merchantId, endpointId: id }, secret)
      const createdAt = app.clock.now()
      await insertEndpoint(app.db, {
        merchantId,
        id,
        url,
        description: null,
        events,
        secretSealed,
        createdAt,
      })
      return { id, secret }
    },
    async emitEvent(uuid = randomUUID(), type = 'refund.pending') {
      const version = (versions.get(uuid) ?? 0) + 1
      versions.set(uuid, version)
      const resource = { type: 'refund', uuid, version } as const
      const event = { merchantId, type, resource, data: { uuid, status: 'pending' } }
      await app.db.transaction((tx) => recordEvents(app, tx, 'test', [event]))
      return uuid
    },
    async deliverAll() {
      const rounds = newClaimState()
      for (;;) {
        const pieces = await claimDeliveries(app, 256, rounds)
        await Promise.all(pieces.map((piece) => piece()))
        const buried = await deadLetterDeliveries(app.db, app.clock.now())
        if (pieces.length === 0 && buried === 0) return
      }
    },
    deliveriesOf: ({ id }) => app.db.query(selectDeliveries, [id]),
  }
}

/** Whether the reference library accepts the received request, at the time of the clock. */
export function verifies({ body, headers }: Received, secret: string, clock?: Clock): boolean {
  const { now } = Date
  // The library reads the system's time.
  if (clock) Date.now = () => clock.now().getTime()
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  } finally {
    Date.now = now
  }
}
