// The main flows with two plain cells: each merchant has its rows in one of them, and everything works as with one.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it, type TestContext } from 'node:test'
import { deleteProcess, saveProcess } from '../../src/kit/cells/process-queries.ts'
import { saveCellState } from '../../src/kit/cells/queries.ts'
import { cellOfUuid } from '../../src/kit/cells/values.ts'
import { type Db, type Statement, sql } from '../../src/kit/db/db.ts'
import { TABLES_BY_HOME } from '../../src/kit/db/homes.ts'
import { assertApiError } from '../support/assertions.ts'
import { initiateBody, payWith } from '../support/builders.ts'
import { CASES, dataOf, OPERATOR_CASES } from '../support/cases.ts'
import { cellsCommand } from '../support/cells.ts'
import { CLUSTER_URL } from '../support/cluster.ts'
import { startConsumer } from '../support/consumer.ts'
import { signInAs, signInAsOperator } from '../support/dashboard.ts'
import { makeLink, payAt } from '../support/links.ts'
import { makeOneOfEverything } from '../support/one-of-everything.ts'
import { createPayer } from '../support/payer.ts'
import { eventually } from '../support/process.ts'
import { ADMIN_TOKEN, type TestService, testService } from '../support/service.ts'

type Shop = Awaited<ReturnType<TestService['newMerchant']>> & { cell: number }

const service = await testService({ after }, { cells: 2, isOwn: true })
const { admin, cells } = service

async function newShop(): Promise<Shop> {
  const merchant = await service.newMerchant()
  return { ...merchant, cell: await cells.of(merchant.uuid) }
}

/** The merchants are spread: of two new ones, each cell has one. */
const shops = [await newShop(), await newShop()].toSorted((one, other) => one.cell - other.cell)

const WITHIN_MS = 20_000

const inBoth = (what: string, check: (shop: Shop, t: TestContext) => Promise<void>) => {
  for (const shop of shops) it(`${what}, in cell ${shop.cell}`, (t) => check(shop, t))
}

// The register in a cell says which cell it is. The sandbox provider has a schema of its own, and cells of a cluster are in one
// database.
const NOT_ONLY_OF_INSTANCE = ['cells', ...(CLUSTER_URL ? ['sandbox.records'] : [])]

describe('two cells', () => {
  it('have one of two new merchants each', () => {
    assert.deepEqual(
      shops.map(({ cell }) => cell),
      [0, 1],
    )
  })

  inBoth('take one of everything, and list it', async ({ api, cell }) => {
    const made = await makeOneOfEverything(api, `Cell${cell}`)
    const customers = dataOf(await api.get('/api/v1/customers'))
    assert.ok(customers.some(({ firstname }: { firstname: string }) => firstname === `Cell${cell}`))
    const refunds = dataOf(await api.get('/api/v1/refunds'))
    assert.deepEqual(
      refunds.map((refund: { reason: string }) => refund.reason),
      [`Cell${cell}`],
    )
    assert.match(made.recurringToken, /^rtk_/)
  })

  inBoth('name themselves in access codes, slugs and keys at the gateway, but for cell 0', async (shop) => {
    const { api, cell } = shop
    const initiated = dataOf(await api.post('/api/v1/checkout/initiate-payment', initiateBody()))
    const prefix = cell === 0 ? '' : '01'
    assert.match(initiated.accessCode, new RegExp(`^${prefix}[0-9A-Za-z]{43}$`))
    assert.match((await makeLink(api)).slug, new RegExp(`^${prefix}[0-9A-Za-z]{15}$`))
    const { gatewayKey } = await payWith(api, 'card_success')
    assert.equal(cellOfUuid(gatewayKey), cell)
  })

  inBoth('serve checkouts to payers, whose payment the webhook of the gateway completes', async ({ api }) => {
    const { checkoutUrl, uuid } = dataOf(await api.post('/api/v1/checkout/initiate-payment', initiateBody()))
    const payer = createPayer()
    const paid = await payer.payByCard(await payer.open(checkoutUrl), 'card_success')
    assert.equal(paid.http, 200)
    await eventually(
      async () => dataOf(await api.get(`/api/v1/checkout/payments/${uuid}`)).status,
      (status) => status === 'successful',
      WITHIN_MS,
    )
  })

  inBoth('serve payment links', async (shop) => {
    const paid = await payAt(shop, await makeLink(shop.api), 'card_success')
    assert.equal((await paid.read()).status, 'successful')
  })

  inBoth('deliver events to the endpoint of the merchant', async ({ api }, t) => {
    const consumer = await startConsumer(t)
    const { secret } = dataOf(await api.post('/api/v1/webhooks/endpoints', { url: consumer.url }))
    consumer.setSecret(secret)
    const payment = await payWith(api, 'card_success')
    await eventually(
      () => consumer.receipts.some(({ resource }) => resource === payment.uuid),
      Boolean,
      WITHIN_MS,
    )
    assert.deepEqual(consumer.errors, [])
  })

  inBoth('settle money and fold balances by jobs', async ({ api }) => {
    await payWith(api, 'card_success', { amount: 70, currency: 'GHS', country: 'GH' })
    dataOf(await api.post('/api/v1/sandbox/clock/advance', { seconds: 400_000 }))
    const readCedi = async () => dataOf(await api.get('/api/v1/wallet/balance?currency=GHS'))
    await eventually(readCedi, ({ availableBalance }) => Number(availableBalance) > 0, WITHIN_MS)
  })

  inBoth('show the dashboard to the people of the merchant', async ({ uuid, api }) => {
    const payment = await payWith(api, 'card_success', { description: 'Seen in the dashboard' })
    const person = await signInAs(service, uuid)
    const page = await person.get('/app/payments')
    assert.equal(page.http, 200, page.text)
    assert.match(page.text, new RegExp(payment.reference))
  })

  it('show their cases to operators in one list, who decide each where it is', async () => {
    const paid = await Promise.all(shops.map(({ api }) => payWith(api, 'transfer_underpaid')))
    const first = dataOf(await admin.get(`${OPERATOR_CASES}?limit=1`))
    assert.equal(first.length, 1)
    const all = dataOf(await admin.get(`${OPERATOR_CASES}?limit=100`))
    const found = paid.map(({ uuid }) => all.find((one: { paymentUuid: string }) => one.paymentUuid === uuid))
    for (const one of found) {
      const resolved = await admin.post(`${OPERATOR_CASES}/${one.uuid}/resolve`, {
        resolution: 'accept',
        note: 'seen',
      })
      assert.ok([200, 202].includes(resolved.http), resolved.text)
    }
    for (const { api } of shops) assert.ok(dataOf(await api.get(`${CASES}?state=all`)).length > 0)
  })

  it('walk the cases of both by cursor in the order of time, each once', async () => {
    const whole = dataOf(await admin.get(`${OPERATOR_CASES}?state=all&limit=100`))
    const walked: { uuid: string }[] = []
    let path = `${OPERATOR_CASES}?state=all&limit=1`
    for (;;) {
      const page = await admin.get(path)
      walked.push(...dataOf(page))
      if (!page.body.meta.nextCursor) break
      path = `${OPERATOR_CASES}?state=all&limit=1&cursor=${page.body.meta.nextCursor}`
    }
    assert.deepEqual(
      walked.map(({ uuid }) => uuid),
      whole.map(({ uuid }: { uuid: string }) => uuid),
    )
    assert.ok(whole.length >= 2)
  })

  it('are counted together in the backlog, the metrics and the invariants', async () => {
    const jobs = dataOf(await admin.get('/admin/v1/jobs'))
    const names = jobs.jobs.map(({ name }: { name: string }) => name)
    assert.equal(new Set(names).size, names.length)
    assert.match((await admin.get('/metrics')).text, /^cowry_database_up 1$/m)
    const checked = dataOf(await admin.get('/admin/v1/invariants'))
    assert.ok(checked.length >= 9)
    assert.ok(checked.every(({ violations }: { violations: number }) => violations === 0))
  })

  it('are placed by name if the operator gives one', async () => {
    const named = await admin.post('/admin/v1/merchants', { name: 'Placed', cell: 'cell-1' })
    assert.equal(await cells.of(dataOf(named).uuid), 1)
    assertApiError(
      await admin.post('/admin/v1/merchants', { name: 'Lost', cell: 'none' }),
      'validation_failed',
    )
  })

  it('are not placed in a cell that is not active, although the operator names it', async () => {
    const setState = (state: 'added' | 'active') => saveCellState(service.db, 'cell-1', state)
    await setState('added')
    try {
      const early = await admin.post('/admin/v1/merchants', { name: 'Early', cell: 'cell-1' })
      assert.deepEqual(assertApiError(early, 'validation_failed'), ['cell: not_allowed'])
    } finally {
      await setState('active')
    }
  })

  it('copy a change of a merchant to its cell', async () => {
    const [, { uuid }] = shops as [Shop, Shop]
    dataOf(
      await admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
        body: JSON.stringify({ name: 'Renamed' }),
        headers: { 'content-type': 'application/json' },
      }),
    )
    const [copy] = await cells.open(1).query(selectName, [uuid])
    assert.equal(copy?.name, 'Renamed')
    const [entry] = dataOf(await admin.get(`/admin/v1/audit?merchant=${uuid}&objectType=merchant`))
    assert.equal(entry.objectUuid ?? entry.merchant, uuid)
  })

  it('have the rows of their own merchants only, and none of the instance', async () => {
    for (const cell of cells.numbers) {
      const db = cells.open(cell)
      for (const table of TABLES_BY_HOME.cell) await assertOwnRows(db, table, cell)
      if (cell !== 0)
        for (const table of TABLES_BY_HOME.instance.filter((one) => !NOT_ONLY_OF_INSTANCE.includes(one)))
          assert.equal(await countRows(db, table), 0, table)
    }
    assert.ok((await countRows(cells.open(1), 'payments')) > 0)
  })
})

describe('the register of cells', () => {
  const cowry = cellsCommand(service, ADMIN_TOKEN)
  const merchantsCommand = cellsCommand(service, ADMIN_TOKEN, 'merchants')

  it('is shown by the command line, with what each cell has and whether it is up', async () => {
    for (const args of [['list'], ['status']]) {
      const { code, out } = await cowry(...args)
      assert.equal(code, 0, out)
      assert.match(out, /^main +active +\d+ +up$/m)
      assert.match(out, /^cell-1 +active +\d+ +up$/m)
    }
    const { out } = await cowry('list', '--json')
    assert.deepEqual(Object.keys(JSON.parse(out).data[0]), [
      'name',
      'state',
      'merchants',
      'refused',
      'delayed',
      'waiting',
      'isKnown',
      'isUp',
    ])
  })

  it('is named with each merchant: in the API, by the command line and on its page', async () => {
    const operator = await signInAsOperator(service)
    const listed = dataOf(await admin.get('/admin/v1/merchants?limit=100'))
    for (const { uuid, cell } of shops) {
      const name = cells.nameOf(cell)
      assert.equal(dataOf(await admin.get(`/admin/v1/merchants/${uuid}`)).cell, name)
      assert.equal(listed.find((one: { uuid: string }) => one.uuid === uuid).cell, name)
      assert.match(
        (await merchantsCommand('list', '--limit', '100')).out,
        new RegExp(`^${uuid} .* ${name} `, 'm'),
      )
      assert.match(
        (await operator.get(`/ops/merchants/${uuid}`)).text,
        new RegExp(`<dt>Cell</dt><dd><code>${name}<`),
      )
    }
    const created = dataOf(await admin.post('/admin/v1/merchants', { name: 'Placed', cell: 'cell-1' }))
    assert.equal(created.cell, 'cell-1')
  })

  it('activates no cell that a running process does not know, and names the process', async () => {
    const other = { id: randomUUID(), name: 'other:1', cells: [], epoch: 0n }
    await saveProcess(service.db, other)
    const refused = cowry('activate', 'cell-1')
    let isAnswered = false
    void refused.then(() => {
      isAnswered = true
    })
    while (!isAnswered) await saveProcess(service.db, other)
    assert.match((await refused).out, /these processes do not know yet: other:1\. Start them again/)
    await deleteProcess(service.db, other.id)
    const { code, out } = await cowry('activate', 'cell-1')
    assert.equal(code, 0, out)
  })
})

const selectName = sql<{ name: string }>`select name from merchants where id = $1`

const selectColumn = sql<{ has: boolean }>`
select exists (
  select from pg_attribute where attrelid = $1::text::regclass and attname = 'merchant_id' and not attisdropped
) as has`

/** The statement has the name of a table, so it is not one of the service's. */
const query = async <Row>(db: Db, text: string): Promise<Row[]> =>
  db.query({ name: '', text } as Statement<Row>, [])

async function countRows(db: Db, table: string): Promise<number> {
  const [row] = await query<{ count: number }>(db, `select count(*)::integer as count from ${table}`)
  return row?.count ?? 0
}

async function assertOwnRows(db: Db, table: string, cell: number): Promise<void> {
  const [column] = await db.query(selectColumn, [table])
  if (!column?.has) return
  const rows = await query<{ id: string }>(db, `select distinct merchant_id as id from ${table}`)
  for (const { id } of rows) assert.equal(await cells.of(id), cell, `${table} of ${id}`)
}
