// A merchant is moved to another cell while it works: nothing fails, nothing is lost or done twice, and what it gave to payers
// and providers before still works.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { describeTables, insertRows } from '../../src/cells/moves/copy-queries.ts'
import { insertMove } from '../../src/cells/moves/move-queries.ts'
import { MOVED_TABLES } from '../../src/cells/moves/tables.ts'
import { purgeDeliveries } from '../../src/deliveries/maintenance-queries.ts'
import { purgeReplays } from '../../src/deliveries/replay-queries.ts'
import { currentCell, inCellOf, inEveryCell, readEveryCell, routedDb } from '../../src/kit/cells/cells.ts'
import { type Db, type Statement, sqlStateOf } from '../../src/kit/db/db.ts'
import { purgeIdempotencyKeys } from '../../src/kit/db/idempotency.ts'
import { scheduleLookups, schedulePaid, wakeDisputed } from '../../src/provider-refunds/queries.ts'
import { findCollected } from '../../src/reconciliation/collected-queries.ts'
import { purgeRequests } from '../../src/request-log/queries.ts'
import { initiateBody, payWith } from '../support/builders.ts'
import { CASES, dataOf, OPERATOR_CASES } from '../support/cases.ts'
import { cellsCommand, plainAddress } from '../support/cells.ts'
import { startCharges } from '../support/charge-load.ts'
import { startConsumer } from '../support/consumer.ts'
import { assertInvariants } from '../support/invariants.ts'
import { makeLink, payAt } from '../support/links.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { createPayer } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService(
  { after },
  { cells: 2, cellAddress: plainAddress({ after }), isOwn: true, env: { COWRY_POOL_SIZE: '8' } },
)
const { admin, cells } = service
const shops = [await service.newMerchant(), await service.newMerchant()]
const cellsOf = await Promise.all(shops.map(({ uuid }) => cells.of(uuid)))
const moved = shops[cellsOf.indexOf(0)]
const other = shops[cellsOf.indexOf(1)]
assert.ok(moved && other)

// A move takes some seconds, and a minute beside other runs on the same processors.
const WITHIN_MS = 120_000

const cowry = cellsCommand(service, ADMIN_TOKEN)

/** The statement has the name of a table, so it is not one of the service's. */
const query = async <Row>(db: Db, text: string): Promise<Row[]> =>
  db.query({ name: '', text } as Statement<Row>, [])

async function countRows(cell: number, table: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    cells.open(cell),
    `select count(*)::integer as count from ${table} where merchant_id = '${moved?.uuid}'`,
  )
  return row?.count ?? 0
}

/** A process learns of the switch within a moment. */
const isIn = (uuid: string, cell: number) =>
  eventually(
    () => cells.of(uuid),
    (found) => found === cell,
    WITHIN_MS,
  )

const readMove = async () => dataOf(await admin.get(`/admin/v1/merchants/${moved.uuid}/move`))

/** By the command. The old copy is deleted soon, which operators cannot ask for. */
const moveTo = async (cell: string): Promise<void> => {
  const toCell = cells.numbers.findIndex((one) => cells.nameOf(one) === cell)
  await insertMove(cells.open(0), { merchantId: moved.uuid, toCell, keepSeconds: 1 }, new Date())
  const { code, out } = await cowry('move', moved.uuid, '--to', cell)
  assert.equal(code, 0, out)
}

const LOAD = { clients: 3, verifies: true }

describe('a merchant that is moved while it works', () => {
  it('is charged without a failed request, and everything from before works in the new cell', async (t) => {
    const { api } = moved
    const made = await makeOneOfEverything(api, 'Moved')
    const consumer = await startConsumer(t)
    const endpoint = dataOf(await api.post('/api/v1/webhooks/endpoints', { url: consumer.url }))
    consumer.setSecret(endpoint.secret)
    const link = await makeLink(api)
    const open = dataOf(await api.post('/api/v1/checkout/initiate-payment', initiateBody()))
    const before = dataOf(await api.get('/api/v1/wallet/balance?currency=NGN'))
    assert.ok(before)
    const charges = startCharges(api, made.recurringToken, { ...LOAD, fields: { customer: made.customer } })
    const others = startCharges(
      other.api,
      (await payWith(other.api, 'card_success')).paymentMethod.recurringToken,
      LOAD,
    )
    await eventually(
      () => charges.charged.length,
      (count) => count > 5 || charges.failed.length > 0,
      WITHIN_MS,
    )
    assert.deepEqual(charges.failed, [])
    await moveTo('cell-1')
    const atSwitch = charges.charged.length
    await eventually(
      () => charges.charged.length,
      (count) => count > atSwitch + 5,
      WITHIN_MS,
    )
    await charges.stop()
    await others.stop()
    assert.deepEqual([...charges.failed, ...others.failed], [])
    assert.equal(await cells.of(moved.uuid), 1)

    for (const reference of charges.charged) {
      const verified = dataOf(await api.get(`/api/v1/checkout/verify-payment?reference=${reference}`))
      assert.equal(verified.status, 'successful')
    }
    const payer = createPayer()
    const paid = await payer.payByCard(await payer.open(open.checkoutUrl), 'card_success')
    assert.equal(paid.http, 200)
    await eventually(
      async () => dataOf(await api.get(`/api/v1/checkout/payments/${open.uuid}`)).status,
      (status) => status === 'successful',
      WITHIN_MS,
    )
    const atLink = await payAt(moved, link, 'card_success')
    assert.equal((await atLink.read()).status, 'successful')
    await eventually(
      () => charges.charged.length <= new Set(consumer.receipts.map(({ resource }) => resource)).size,
      Boolean,
      WITHIN_MS,
    )
    assert.deepEqual(consumer.errors, [])
    const [openCase] = dataOf(await api.get(CASES))
    assert.ok(
      dataOf(await admin.get(`${OPERATOR_CASES}?limit=100`)).filter(
        ({ uuid }: { uuid: string }) => uuid === openCase.uuid,
      ).length === 1,
    )
    // How long it is depends on the machine; a write that waits for two seconds would have failed above.
    assert.ok((await readMove()).pauseMs > 0)
  })

  it('leaves nothing in the old cell, and both satisfy the invariants', async () => {
    await eventually(readMove, ({ step }) => step === 'done', WITHIN_MS)
    for (const table of MOVED_TABLES.filter((one) => one !== 'idempotency_keys'))
      assert.equal(await countRows(0, table), 0, table)
    assert.ok((await countRows(1, 'payments')) > 10)
    await assertInvariants(service)
    const triggers = await Promise.all(
      cells.numbers.map((cell) =>
        query(cells.open(cell), `select 1 from pg_trigger where tgname like 'moving_%'`),
      ),
    )
    assert.deepEqual(triggers.flat(), [])
  })

  it('is refused by the old cell from then on, in every table', async () => {
    const [left, now] = [cells.open(0), cells.open(1)]
    const codes = new Map<string, string | undefined>()
    for (const table of await describeTables(now)) {
      const select = `select t::text as row from ${table.name} t where t.merchant_id = '${moved.uuid}' limit 1`
      const rows = await query<{ row: string }>(now, select)
      if (rows.length === 0 || table.name === 'idempotency_keys') continue
      const insert = insertRows(left, [{ table, rows: rows.map(({ row }) => row) }])
      codes.set(table.name, await insert.then(() => 'none', sqlStateOf))
    }
    assert.ok(codes.size > 20, [...codes.keys()].join(', '))
    const departed = [...codes].filter(([, code]) => code === 'CW002').map(([name]) => name)
    for (const table of ['customers', 'events', 'payment_links', 'payment_references', 'webhook_endpoints'])
      assert.ok(departed.includes(table), `${table}: ${codes.get(table)}`)
    const rest = [...codes].filter(([name]) => !departed.includes(name))
    const missingRow = rest.filter(([, code]) => code === '23503')
    assert.deepEqual(rest, missingRow, 'the others need a row that is not there')
  })

  it('is written in the new cell by a process that still looks for it in the old one', async () => {
    const stale = { numbers: cells.numbers, of: async () => 0 }
    const db = routedDb(cells)
    await inCellOf(stale, moved.uuid, async () => {
      await query(db, `insert into test_clocks (merchant_id, advanced_ms) values ('${moved.uuid}', 1)`)
      assert.equal(currentCell(), 1)
    })
    assert.equal(await countRows(0, 'test_clocks'), 0)
    assert.equal(await countRows(1, 'test_clocks'), 1)
  })

  it('keeps its old copy for requests that still use it', async () => {
    const { code, out } = await cowry('move', moved.uuid, '--to', 'main', '--keep-seconds', '0')
    assert.notEqual(code, 0)
    assert.match(out, /keepSeconds/)
  })

  it('is moved back, with what it was paid before', async () => {
    const { api } = moved
    const balance = async () => dataOf(await api.get('/api/v1/wallet/balance?currency=NGN'))
    const before = await balance()
    await moveTo('main')
    await isIn(moved.uuid, 0)
    const { balances } = await balance()
    assert.deepEqual(balances, before.balances)
    assert.equal((await payWith(api, 'card_success')).status, 'successful')
    await eventually(readMove, ({ step }) => step === 'done', WITHIN_MS)
    const departed = cells.numbers.map((cell) => countRows(cell, 'departed_merchants'))
    assert.deepEqual(await Promise.all(departed), [0, 1])
  })
})

describe('a move that is refused', () => {
  it('ends the command with the problem, and is tried again when it is asked for', async () => {
    const instance = cells.open(0)
    const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: 'Refused', cell: 'cell-1' }))
    await instance.transaction(async (tx) => {
      await insertMove(tx, { merchantId: uuid, toCell: 0, keepSeconds: 60 }, new Date())
      await tx.script(`update merchant_moves set from_cell = 0, to_cell = 0 where merchant_id = '${uuid}'`)
    })
    const { code, out } = await cowry('move', uuid, '--to', 'main')
    assert.notEqual(code, 0)
    assert.match(out, /is not moved: the merchant is in cell-1\./)
    await instance.script(`update merchant_moves set from_cell = 1 where merchant_id = '${uuid}'`)
    const again = await cowry('move', uuid, '--to', 'main')
    assert.equal(again.code, 0, again.out)
    await isIn(uuid, 0)
  })
})

describe('a cell that is drained', () => {
  it('keeps a merchant that cannot be moved, and the command names it', async () => {
    const instance = cells.open(0)
    const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: 'Kept', cell: 'cell-1' }))
    await instance.transaction(async (tx) => {
      await insertMove(tx, { merchantId: uuid, toCell: 0, keepSeconds: 60 }, new Date())
      await tx.script(`update merchant_moves set to_cell = 1, problem = 'x', is_refused = true, leased_until = 'infinity'
where merchant_id = '${uuid}'`)
    })
    const { code, out } = await cowry('drain', 'cell-1')
    assert.notEqual(code, 0)
    assert.match(out, new RegExp(`not moved: ${uuid}\\.`))
    await isIn(other.uuid, 0)
    await instance.script(`delete from merchant_moves where merchant_id = '${uuid}'`)
  })

  it('gets no new merchants, and has none in the end', async () => {
    const { code, out } = await cowry('drain', 'cell-1')
    assert.equal(code, 0, out)
    assert.match(out, /^cell-1 +draining +0 +up$/m)
    await isIn(other.uuid, 0)
    assert.equal(await cells.of((await service.newMerchant()).uuid), 0)
    assert.equal((await payWith(other.api, 'card_success')).status, 'successful')
  })
})

describe('the old copy of a merchant that was moved', () => {
  it('stops no job over its cell, and is not reconciled', async () => {
    const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: 'Kept', cell: 'main' }))
    const { apiKey } = dataOf(
      await admin.post(`/admin/v1/merchants/${uuid}/keys`, { name: 'x', scopes: ['*'] }),
    )
    const api = service.apiWith(apiKey)
    const consumer = await startConsumer({ after })
    consumer.setSecret(dataOf(await api.post('/api/v1/webhooks/endpoints', { url: consumer.url })).secret)
    const { reference } = await payWith(api, 'card_success')
    await eventually(
      () => consumer.receipts.length,
      (count) => count >= 2,
      WITHIN_MS,
    )
    await insertMove(cells.open(0), { merchantId: uuid, toCell: 1, keepSeconds: 600 }, new Date())
    await isIn(uuid, 1)
    const left = cells.open(0)
    const attempts = `select gateway, gateway_key as key from attempts where merchant_id = '${uuid}'`
    const [attempt] = await query<{ gateway: string; key: string }>(left, attempts)
    assert.ok(attempt, 'the old copy is there')
    await assert.rejects(
      query(left, `update attempts set polls = polls where merchant_id = '${uuid}'`),
      /another cell/,
    )

    const [past, later] = [new Date(0), new Date(Date.now() + 3_600_000)]
    const { gateway, key } = attempt
    const account = { gateway, accountId: null }
    await query(
      left,
      `insert into idempotency_keys (merchant_id, key, operation, fingerprint, resource, claimed_by, created_at)
       values ('${uuid}', 'old', 'refund', '', 'x', '${uuid}', now()) returning 1`,
    )
    await purgeIdempotencyKeys(left, later)
    const keys = await query(left, `select 1 from idempotency_keys where merchant_id = '${uuid}'`)
    assert.equal(keys.length, 1, 'a copy keeps the keys that the move compares')
    await purgeDeliveries(left, later)
    await purgeReplays(left, later)
    await purgeRequests(left, later, 0)
    await scheduleLookups(left, { ...account, names: [key] }, past)
    await schedulePaid(left, { ...account, merchantId: null }, [{ from: past, to: later }], past)
    await wakeDisputed(left, account, [{ name: key, reference: 'dp_1', status: 'lost' }], past)
    const deliveries = `select 1 from deliveries where merchant_id = '${uuid}'`
    assert.ok((await query(left, deliveries)).length > 0, 'the old copy did not change')

    const owner = { gateway, merchantId: gateway === 'sandbox' ? uuid : null }
    const read = () => findCollected(cells.open(currentCell() ?? 0), owner, [key], [])
    assert.deepEqual((await inEveryCell(cells, read)).flat().length, 2, 'both cells have the row')
    assert.equal((await readEveryCell(cells, read)).length, 1)
    assert.equal(
      dataOf(await api.get(`/api/v1/checkout/verify-payment?reference=${reference}`)).status,
      'successful',
    )
  })
})
