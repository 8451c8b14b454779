import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { frozenClock } from '../../test/support/fake-clock.ts'
import { addMs } from '../kit/clock.ts'
import { sql } from '../kit/db/db.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { createLog } from '../kit/observability/log.ts'
import { systemRandom } from '../kit/random.ts'
import { insertRequests, listRequestRows, purgeRequests } from './queries.ts'
import type { CompletedApiRequest } from './request.ts'
import { createRequestLog, KEPT_PER_MINUTE, type RequestLog } from './write.ts'

const db = await testDatabase({ after })
const clock = frozenClock()
const random = systemRandom(clock)

const insertMerchant = sql<unknown>`
insert into merchants (id, name, mode, base_currency, created_at, updated_at)
values ($1, 'A shop', 'test', 'KES', now(), now())`

async function newMerchant(): Promise<string> {
  const id = random.uuid()
  await db.query(insertMerchant, [id])
  return id
}

const request = (merchantId: string, http: number, createdAt = clock.now()): CompletedApiRequest => ({
  ...{ merchantId, http, createdAt, keyId: 'kL1mN2oP3qR4', requestId: random.uuid(), method: 'GET' },
  ...{ route: '/api/v1/refunds', errorCode: null, errorFields: null, reference: null, durationMs: 3 },
})

const record = (requests: RequestLog, one: CompletedApiRequest) =>
  requests.record(one.merchantId, one.http, () => one)

const all = { keyId: null, route: null, requestId: null, reference: null }
const WINDOW: ListWindow = {
  ...{ order: 'desc', after: null, page: 1, limit: 50, offset: 0 },
  createdFrom: null,
  createdTo: null,
}

const countOf = async (merchantId: string, failed = false) =>
  (await listRequestRows(db, merchantId, { ...all, failed }, WINDOW)).counted

it('deletes requests by age, and the oldest beyond the number that each merchant keeps', async () => {
  const [one, other] = [await newMerchant(), await newMerchant()]
  const now = clock.now()
  const rows = [one, other].flatMap((merchantId) =>
    [1, 2, 3, 4, 100].map((hours) => ({
      ...request(merchantId, 200, addMs(now, -hours * 3_600_000)),
      id: random.uuid(),
    })),
  )
  await insertRequests(db, rows.slice(0, 7))
  const before = addMs(now, -50 * 3_600_000)
  assert.equal(await purgeRequests(db, before, 1_000), 1, 'the one of a hundred hours ago')
  assert.equal(await purgeRequests(db, before, 3), 1)
  assert.deepEqual([await countOf(one), await countOf(other)], [3, 2])
  assert.equal(await purgeRequests(db, before, 3), 0)
})

const insertNumbered = sql<unknown>`
insert into api_requests (merchant_id, created_at, id, key_id, request_id, method, route, http, reference, duration_ms)
select
  $1, timestamptz '2026-01-01' + n * interval '1 second', gen_random_uuid(), 'k', 'r' || n, 'GET', '/api/v1/refunds',
  case when n % 2 = 0 then 200 else 400 end, 'order-' || n, 1
from generate_series(1, 10050) n`

it('finds the requests of a reference among the newest ten thousand, and older ones by the cursor', async () => {
  const merchantId = await newMerchant()
  await db.query(insertNumbered, [merchantId])
  const find = async (reference: string, window: Partial<ListWindow> = {}, failed = false) => {
    const filter = { ...all, reference, failed }
    const found = await listRequestRows(db, merchantId, filter, { ...WINDOW, ...window })
    return { ...found, ids: found.rows.map(({ requestId }) => requestId) }
  }
  const recent = await find('order-9999')
  assert.deepEqual([recent.ids, recent.counted, recent.isPartial], [['r9999'], 1, true])
  assert.deepEqual((await find('order-9999', {}, true)).isPartial, false, 'there are 5,025 failed ones')
  assert.deepEqual((await find('order-9998', {}, true)).ids, [])
  const first = await find('order-7')
  assert.deepEqual([first.ids, first.counted], [[], 0])
  assert.ok(first.lookedTo)
  assert.deepEqual((await find('order-7', { after: first.lookedTo })).ids, ['r7'])
  assert.deepEqual((await find('order-7', { order: 'asc' })).ids, ['r7'])
})

it('keeps a bounded number of requests of a minute, and failed ones beside a flood of successful ones', async () => {
  const merchantId = await newMerchant()
  const requests = createRequestLog({ db, clock, random, log: createLog('silent') })
  let described = 0
  for (let index = 0; index < KEPT_PER_MINUTE + 50; index++)
    requests.record(merchantId, 200, () => {
      described += 1
      return request(merchantId, 200)
    })
  assert.equal(described, KEPT_PER_MINUTE)
  for (let index = 0; index < 3; index++) record(requests, request(merchantId, 422))
  clock.advance(60_000)
  record(requests, request(merchantId, 200))
  await requests.stop()
  assert.equal(await countOf(merchantId), KEPT_PER_MINUTE + 3 + 1)
  assert.equal(await countOf(merchantId, true), 3)
})

it('goes on after the cells of merchants could not be read', async () => {
  const merchantId = await newMerchant()
  let isDown = true
  const cells = {
    numbers: [0, 1],
    of: async () => {
      if (isDown) throw new Error('the database of the instance does not answer')
      return 0
    },
  }
  const failed = Promise.withResolvers<void>()
  const log = createLog('info', { write: () => failed.resolve() })
  const requests = createRequestLog({ db, cells, clock, random, log })
  record(requests, request(merchantId, 200))
  await failed.promise
  isDown = false
  record(requests, request(merchantId, 201))
  await requests.stop()
  assert.equal(await countOf(merchantId), 1)
})

it('writes the other requests of a batch in which one has texts that PostgreSQL refuses', async () => {
  const [one, other] = [await newMerchant(), await newMerchant()]
  const lines: string[] = []
  const reported = createLog('warn', { write: (line: string) => void lines.push(line) })
  const log = createRequestLog({ db, clock, random, log: reported })
  record(log, { ...request(one, 400), errorFields: 'k\ud800: unknown_field', reference: 'a\u0000b' })
  record(log, request(other, 200))
  // No client can choose these texts: they stand for whatever else the table refuses.
  for (const method of ['G\u0000T', 'P\u0000T']) record(log, { ...request(other, 200), method })
  await log.stop()
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).count),
    [2],
    'one line for all that are lost',
  )
  assert.equal(await countOf(other), 1)
  const { rows } = await listRequestRows(db, one, { ...all, failed: true }, WINDOW)
  assert.deepEqual(
    rows.map(({ errorFields, reference }) => ({ errorFields, reference })),
    [{ errorFields: 'k\ufffd: unknown_field', reference: 'a b' }],
  )
})
