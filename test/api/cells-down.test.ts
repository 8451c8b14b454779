// A cell that does not answer stops its own merchants only, and they go on when it answers again.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { saveCellState } from '../../src/kit/cells/queries.ts'
import { assertApiError } from '../support/assertions.ts'
import { initiateBody, payWith } from '../support/builders.ts'
import { CASES, dataOf, OPERATOR_CASES } from '../support/cases.ts'
import { signInAsOperator } from '../support/dashboard.ts'
import { NO_POOLER } from '../support/database.ts'
import { eventually } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const CLOSED_PORT = 9

let proxy: TcpProxy | undefined
let serverPort = 0
const service = await testService(
  { after },
  {
    cells: 2,
    // A request of the lost cell must not wait long.
    acquireTimeoutMs: 1_000,
    cellAddress: async (url) => {
      const through = new URL(url)
      serverPort = Number(through.port)
      proxy = await startTcpProxy({ after }, serverPort)
      through.port = String(proxy.port)
      return through.href
    },
  },
)
const { admin, cells, newMerchant } = service
const shops = [await newMerchant(), await newMerchant()]
const cellsOfShops = await Promise.all(shops.map(({ uuid }) => cells.of(uuid)))
const shopIn = (cell: number) => {
  const shop = shops[cellsOfShops.indexOf(cell)]
  assert.ok(shop, `a merchant in cell ${cell}`)
  return shop
}

const initiate = (cell: number) => shopIn(cell).api.post('/api/v1/checkout/initiate-payment', initiateBody())
const readiness = async () => (await admin.get('/readyz')).body

const merchantsOf = (cases: { merchantUuid: string }[]) => cases.map(({ merchantUuid }) => merchantUuid)

// One case of each merchant.
for (const { api } of shops) await payWith(api, 'transfer_underpaid', { amount: 1250.5 })
const operator = await signInAsOperator(service)
const lostCase: string = dataOf(await shopIn(1).api.get(CASES))[0].uuid

async function cowry(...args: string[]) {
  const written = { out: '', err: '' }
  const takeInto = (stream: 'out' | 'err') => (text: string) => {
    written[stream] += text
  }
  const terminal = { out: takeInto('out'), err: takeInto('err') }
  const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
  const code = await runCommandLine(args, { terminal, env })
  return { code, ...written, read: () => written.out + written.err }
}

describe('a cell that does not answer', NO_POOLER, () => {
  it('is named by /readyz, doctor and cells status, and only its merchants get 503', async () => {
    assert.deepEqual(await readiness(), { status: 'ready', reasons: [] })
    assert.ok(proxy)
    proxy.retarget(CLOSED_PORT)
    proxy.reset()
    await eventually(
      () => initiate(1),
      ({ http }) => http === 503,
      20_000,
    )
    assertApiError(await initiate(1), 'temporarily_unavailable')
    assert.equal((await initiate(0)).http, 201)
    assert.equal((await payWith(shopIn(0).api, 'card_success')).status, 'successful')
    assert.deepEqual(await readiness(), {
      status: 'ready',
      reasons: ['The cell cell-1 does not take statements.'],
    })
    const status = await cowry('cells', 'status')
    assert.equal(status.code, 1)
    assert.match(status.read(), /^cell-1 +active +\d+ +DOWN$/m)
    const doctor = await cowry('doctor')
    assert.equal(doctor.code, 1)
    assert.match(doctor.read(), /^cell cell-1 +FAILED +It does not take statements, or .*; 2 merchants/m)
    assert.match(doctor.read(), /^invariant_i02_currencies_balance +ok/m, 'of the cells that are up')
    assert.match(doctor.read(), /^1 of \d{2} checks failed\.$/m)
    const metrics = (await admin.get('/metrics')).text
    assert.match(metrics, /^cowry_database_up 1$/m)
    assert.match(metrics, /^cowry_cell_up\{cell="main"\} 1$/m)
    assert.match(metrics, /^cowry_cell_up\{cell="cell-1"\} 0$/m)
  })

  it('is named by the lists of operators, which have what the others have', async () => {
    const found = await admin.get(OPERATOR_CASES)
    assert.deepEqual(merchantsOf(dataOf(found)), [shopIn(0).uuid])
    assert.deepEqual(found.body.meta.unavailableCells, ['cell-1'])
    assert.equal(found.body.meta.total, 1)
    const log = await admin.get(`/admin/v1/audit?limit=100`)
    assert.ok(dataOf(log).length > 0)
    assert.deepEqual(log.body.meta.unavailableCells, ['cell-1'])
    const ofLost = await admin.get(`/admin/v1/audit?merchant=${shopIn(1).uuid}`)
    assert.ok(dataOf(ofLost).length > 0, 'the entries of the instance')
    assert.deepEqual(ofLost.body.meta.unavailableCells, ['cell-1'])
    for (const path of ['/ops/cases', '/ops/audit'])
      assert.match((await operator.get(path)).text, /The cells cell-1 do not answer\./, path)
  })

  it('does not hide the cases and the audit log of the others', async () => {
    const [{ uuid }] = dataOf(await admin.get(OPERATOR_CASES))
    assert.equal(dataOf(await admin.get(`${OPERATOR_CASES}/${uuid}`)).merchantUuid, shopIn(0).uuid)
    assert.equal((await operator.get(`/ops/cases/${uuid}`)).http, 200)
    assertApiError(await admin.send('GET', `${OPERATOR_CASES}/${lostCase}`), 'temporarily_unavailable')
    const log = await admin.get(`/admin/v1/audit?merchant=${shopIn(0).uuid}`)
    assert.ok(dataOf(log).length > 0)
    assert.equal('unavailableCells' in log.body.meta, false)
    assert.equal((await shopIn(0).api.get('/api/v1/audit')).http, 200)
    assertApiError(await shopIn(1).api.send('GET', '/api/v1/audit'), 'temporarily_unavailable')
    assertApiError(await admin.send('GET', '/admin/v1/audit/verify'), 'temporarily_unavailable')
    assertApiError(await admin.send('GET', '/admin/v1/audit/export'), 'temporarily_unavailable')
  })

  it('is named by the commands that list, and ends an export', async () => {
    for (const command of ['cases', 'audit'])
      for (const more of [[], ['--json']]) {
        const { code, out, err } = await cowry(command, 'list', ...more)
        assert.equal(code, 0, command)
        assert.ok(out.split('\n').length > 2, command)
        assert.equal(err, 'Not complete: these cells do not answer: cell-1.\n', command)
      }
    const { code, out, err } = await cowry('audit', 'export')
    assert.equal(code, 1)
    assert.match(err, /not complete, because these cells do not answer: cell-1\./)
    assert.equal(out, '', 'not a row that could be taken for the whole log')
  })

  it('gets no new merchant, also if it has the fewest', async () => {
    for (let count = 0; count < 4; count += 1)
      assert.equal((await admin.post('/admin/v1/merchants', { name: 'Full', cell: 'main' })).http, 201)
    const answer = await admin.post('/admin/v1/merchants', { name: 'Placed' })
    assert.equal(answer.http, 201, answer.text)
    assert.equal(dataOf(answer).cell, 'main')
  })

  it('is named by the refusal of a move into it, and of one out of it', async () => {
    for (const [cell, to] of [
      [0, 'cell-1'],
      [1, 'main'],
    ] as const) {
      const answer = await admin.post(`/admin/v1/merchants/${shopIn(cell).uuid}/move`, { cell: to })
      assert.equal(answer.http, 400, answer.text)
      assert.match(answer.text, /because of cell-1: it does not take statements/)
    }
  })

  it('is drained', async () => {
    const answer = await admin.post('/admin/v1/cells/cell-1/drain', {})
    assert.equal(answer.http, 200, answer.text)
    assert.equal(dataOf(answer).state, 'draining')
    const listed = dataOf(await admin.get('/admin/v1/cells'))
    assert.equal(listed.find(({ name }: { name: string }) => name === 'cell-1').state, 'draining')
    await saveCellState(cells.open(0), 'cell-1', 'active')
  })

  it('is used again as soon as it answers', async () => {
    proxy?.retarget(serverPort)
    await eventually(
      () => initiate(1),
      ({ http }) => http === 201,
      20_000,
    )
    assert.equal((await payWith(shopIn(1).api, 'card_success')).status, 'successful')
    assert.deepEqual((await readiness()).reasons, [])
    const { data, meta } = (await admin.get(OPERATOR_CASES)).body
    assert.deepEqual(new Set(merchantsOf(data)), new Set(shops.map(({ uuid }) => uuid)))
    assert.equal('unavailableCells' in meta, false)
  })
})
