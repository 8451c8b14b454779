// The process that moves a merchant to another cell dies at each step. The merchant is charged by another process all the time,
// and a third one completes the move: nothing is lost, and nothing is done twice.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { insertMove } from '../../src/cells/moves/move-queries.ts'
import { openCells } from '../../src/compose/cells.ts'
import { GATEWAYS } from '../../src/compose/gateways.ts'
import { readConfig } from '../../src/config.ts'
import type { Cells } from '../../src/kit/cells/cells.ts'
import { findPlace } from '../../src/kit/cells/moving-queries.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { type ConnectedDb, type Db, type Statement, sql } from '../../src/kit/db/db.ts'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { createApi } from '../support/api.ts'
import { chargeBody, payWith } from '../support/builders.ts'
import { dataOf } from '../support/cases.ts'
import { addTestCells } from '../support/cells.ts'
import { type SteadyCharges, startCharges } from '../support/charge-load.ts'
import { NO_POOLER, testDatabaseUrl } from '../support/database.ts'
import { assertInvariants } from '../support/invariants.ts'
import { eventually, startProcess, tempFolder } from '../support/process.ts'
import { ADMIN_TOKEN } from '../support/service.ts'
import { connectTestDb } from '../support/test-db.ts'

const STEPS: readonly Failpoint[] = [
  'move.after_switch',
  'move.after_last_copy',
  'move.after_close',
  'move.after_guard',
  'move.after_copy',
  'move.after_leave',
  'move.after_clean',
  'move.after_delete',
]

const WITHIN_MS = 120_000

const databaseUrl = await testDatabaseUrl({ after })
const env = {
  PORT: '0',
  DATABASE_URL: databaseUrl,
  COWRY_DATA_DIR: await tempFolder({ after }, 'cells-move'),
  COWRY_ADMIN_TOKEN: ADMIN_TOKEN,
  COWRY_POOL_SIZE: '4',
  COWRY_RATE_LIMIT: '0',
  COWRY_LOG_LEVEL: 'warn',
}
const config = readConfig(env, GATEWAYS)
await addTestCells({ after }, config, 2)
const startRole = (role: string, more: Record<string, string> = {}) =>
  startProcess({ after }, ['serve', '--role', role], { ...env, ...more })

const { facts } = await startRole('api')
const admin = createApi(facts.url, { authorization: `Bearer ${ADMIN_TOKEN}` })
const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: 'Moved', cell: 'main' }))
const { apiKey } = dataOf(await admin.post(`/admin/v1/merchants/${uuid}/keys`, { name: 'x', scopes: ['*'] }))
const api = createApi(facts.url, { 'x-api-key': apiKey })

const instance = connectTestDb({ url: databaseUrl, poolSize: 1 })
after(() => instance.close())

const CHARGE = '/api/v1/charges/recurring'
const movePath = `/admin/v1/merchants/${uuid}/move`
const readMove = async () => dataOf(await admin.get(movePath))

// While the process of the switch is dead, a charge may get 503.
const LOAD = { clients: 2, repeatsUnavailable: true }

const selectCaptures = sql<{ reference: string; captures: number }>`
select p.reference, count(l.id)::integer as captures
from payments p
left join ledger_entries l on l.merchant_id = p.merchant_id and l.payment_id = p.id and l.kind = 'capture'
where p.merchant_id = $1 and p.reference = any ($2::text[])
group by p.reference`

const countOthers = async (db: Db) => {
  const text = `select count(*)::integer as count from payments where merchant_id = '${uuid}'`
  const [row] = await db.query({ name: '', text } as Statement<{ count: number }>, [])
  return row?.count
}

/** The merchant is still charged after the move. */
async function stopAfterMore(charges: SteadyCharges): Promise<void> {
  const before = charges.charged.length
  await eventually(
    () => charges.charged.length,
    (count) => count > before + 2,
    WITHIN_MS,
  )
  await charges.stop()
  assert.deepEqual(charges.failed, [])
}

describe('a process that dies while it moves a merchant', NO_POOLER, () => {
  for (const [index, point] of STEPS.entries()) {
    it(`loses nothing at ${point}`, async (t) => {
      const cell = index % 2 === 0 ? 'cell-1' : 'main'
      const toCell = cell === 'main' ? 0 : 1
      const token = (await payWith(api, 'card_success')).paymentMethod.recurringToken
      const charges = startCharges(api, token, LOAD)
      const failing = await startRole('worker', { COWRY_FAILPOINTS: `${point}=kill` })
      await insertMove(instance, { merchantId: uuid, toCell, keepSeconds: 1 }, new Date())
      assert.deepEqual(await failing.ended, { code: null, signal: 'SIGKILL' })
      const worker = await startRole('worker')
      t.after(() => worker.kill('SIGTERM'))
      await eventually(readMove, ({ step, to }) => step === 'done' && to === cell, WITHIN_MS)
      await stopAfterMore(charges)
      await assertMoved(toCell, charges.charged)
    })
  }
})

// Where the process is that moves: after the copy, and while writes wait.
const CANCELLED_AT = ['move.after_copy', 'move.after_close'] as const satisfies readonly Failpoint[]

describe('a process that dies while it cancels a move', NO_POOLER, () => {
  for (const point of CANCELLED_AT) {
    it(`leaves the merchant where it is at ${point}`, async (t) => {
      const { cell: from } = await findPlace(instance, uuid)
      const token = (await payWith(api, 'card_success')).paymentMethod.recurringToken
      const charges = startCharges(api, token, LOAD)
      const moving = await startRole('worker', { COWRY_FAILPOINTS: `${point}=kill` })
      await insertMove(instance, { merchantId: uuid, toCell: 1 - from, keepSeconds: 60 }, new Date())
      assert.deepEqual(await moving.ended, { code: null, signal: 'SIGKILL' })
      assert.equal(dataOf(await admin.post(`${movePath}/cancel`, {})).isCancelled, true)
      const undoing = await startRole('worker', { COWRY_FAILPOINTS: 'move.after_undo=kill' })
      assert.deepEqual(await undoing.ended, { code: null, signal: 'SIGKILL' })
      assert.equal((await readMove()).step, 'copy')
      const worker = await startRole('worker')
      t.after(() => worker.kill('SIGTERM'))
      await eventually(readMove, ({ step }) => step === 'done', WITHIN_MS)
      await stopAfterMore(charges)
      await assertMoved(from, charges.charged)
    })
  }
})

describe('a process that is stopped for longer than the old copy of a merchant is kept', NO_POOLER, () => {
  it('ends the charge that it has begun in the old cell, and writes nothing there', async (t) => {
    const { cell: from } = await findPlace(instance, uuid)
    const token = (await payWith(api, 'card_slow_later')).paymentMethod.recurringToken
    const stopped = await startRole('api')
    const body = chargeBody(token)
    const charge = createApi(stopped.facts.url, { 'x-api-key': apiKey }).post(CHARGE, body)
    await withCells(async (_db, cells) => {
      const find = () => cells.open(from).query(selectCaptures, [uuid, [body.reference]])
      await eventually(find, (found) => found.length === 1, WITHIN_MS)
    })
    process.kill(stopped.pid, 'SIGSTOP')
    await insertMove(instance, { merchantId: uuid, toCell: 1 - from, keepSeconds: 1 }, new Date())
    const worker = await startRole('worker')
    t.after(() => worker.kill('SIGTERM'))
    await eventually(readMove, ({ step }) => step === 'done', WITHIN_MS)
    process.kill(stopped.pid, 'SIGCONT')
    const answer = await charge
    assert.equal(answer.http, 201, answer.text)
    await eventually(
      async () => dataOf(await api.get(`/api/v1/checkout/verify-payment?reference=${body.reference}`)).status,
      (status) => status === 'successful',
      WITHIN_MS,
    )
    await assertMoved(1 - from, [body.reference])
  })
})

const assertMoved = (to: number, charged: readonly string[]) =>
  withCells(async (db, cells) => {
    assert.equal(await cells.of(uuid), to)
    const found = await cells.open(to).query(selectCaptures, [uuid, charged])
    assert.deepEqual(
      new Map(found.map(({ reference, captures }) => [reference, captures])),
      new Map(charged.map((reference) => [reference, 1])),
    )
    assert.equal(await countOthers(cells.open(1 - to)), 0)
    await assertInvariants({ db, cells })
  })

async function withCells(work: (db: ConnectedDb, cells: Cells) => Promise<void>): Promise<void> {
  const stops: (() => Promise<unknown>)[] = []
  const db = connectTestDb({ url: databaseUrl, poolSize: 4 })
  try {
    const [clock, log] = [systemClock, createLog('silent')]
    await work(db, await openCells({ config, clock, log, random: systemRandom(clock), db, stops }, {}))
  } finally {
    for (const stop of stops.reverse()) await stop()
    await db.close()
  }
}
