// A cell is removed from the register, and another one gets a new URL, while the service runs.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { insertMove } from '../../src/cells/moves/move-queries.ts'
import { areSeveral } from '../../src/kit/cells/cells.ts'
import { saveCellState } from '../../src/kit/cells/queries.ts'
import { assertApiError } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { dataOf } from '../support/cases.ts'
import { cellsCommand, plainAddress } from '../support/cells.ts'
import { NO_POOLER, testDatabaseUrl } from '../support/database.ts'
import { eventually, tempFolder } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const urls: string[] = []
const plain = plainAddress({ after })
const cellAddress = async (given: string) => {
  const url = await plain(given)
  urls.push(url)
  return url
}
const service = await testService({ after }, { cells: 3, cellAddress, isOwn: true })
const { admin, cells } = service
const cowry = cellsCommand(service, ADMIN_TOKEN)
const file = join(await tempFolder({ after }, 'cells-change'), 'url')

const WITHIN_MS = 20_000
const WAITING = `select count(*)::integer as waiting from pg_locks
where not granted and locktype in ('tuple', 'transactionid')`

const newShop = async (cell: string) => {
  const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: cell, cell }))
  const { apiKey } = dataOf(
    await admin.post(`/admin/v1/merchants/${uuid}/keys`, { name: 'x', scopes: ['*'] }),
  )
  return { uuid, api: service.apiWith(apiKey) }
}

const shop = await newShop('cell-1')

describe('the URL of a cell', NO_POOLER, () => {
  const setUrl = async (url: string, cell = 'cell-1') => {
    await writeFile(file, `${url}\n`)
    return cowry('set-url', cell, '--url-file', file)
  }

  it('is not changed to a database that is not this cell of this instance', async (t) => {
    const [first = '', second = ''] = urls
    for (const [url, reason] of [
      [
        second,
        /url leads to the cell cell-2: give the database of the cell cell-1, after it was moved there/,
      ],
      [await testDatabaseUrl(t), /url leads to a database that is no cell/],
      [service.databaseUrl, /url leads to a database that is no cell/],
      [
        first.replace(/[^/]+$/, 'none'),
        /url leads to no usable server: .* 3D000, because .*: check the name, and whether the database of the cell was copied there/,
      ],
      ['none', /url must be postgres:/],
    ] as const) {
      const { code, out } = await setUrl(url)
      assert.equal(code, 1, url)
      assert.match(out, reason)
    }
    assert.match(
      (await setUrl(first, 'main')).out,
      /the database of the instance: set its URL in DATABASE_URL/,
    )
    assert.match((await setUrl(first, 'none')).out, /names no cell/)
    assert.equal((await payWith(shop.api, 'card_success')).status, 'successful')
  })

  it('is not changed to a cell with the same name of another instance', async () => {
    const ofAnother = 'update cells set instance_id = gen_random_uuid()'
    const [first = ''] = urls
    const before = await cells
      .open(1)
      .query<{ id: string }>({ name: '', text: 'select instance_id as id from cells' })
    await cells.open(1).script(ofAnother)
    const { code, out } = await setUrl(first)
    await cells.open(1).script(`update cells set instance_id = '${before[0]?.id}'`)
    assert.equal(code, 1)
    assert.match(out, /url leads to a cell of another instance/)
  })

  it('is not changed to one whose user lacks rights', async () => {
    const [first = ''] = urls
    const cell = cells.open(1)
    const given = new URL(first)
    const user = `${given.pathname.slice(1)}_user`
    const own = new URL(first)
    own.username = user
    own.password = 'hush'
    await cell.script(`create role ${user} login password 'hush'`)
    try {
      for (const [script, reason] of [
        ['select', /url leads to a database whose user may not /],
        [
          `grant select on all tables in schema public to ${user}`,
          /whose user does not own the tables of the cell/,
        ],
        [`grant "${given.username}" to ${user}`, /whose user is not a member of the role cowry_merchant/],
        [`grant cowry_merchant to ${user}`, undefined],
      ] as const) {
        await cell.script(script)
        const { code, out } = await setUrl(own.href)
        if (reason) assert.match(out, reason)
        else assert.equal(code, 0, out)
        assert.doesNotMatch(out, /hush/)
      }
    } finally {
      const { code, out } = await setUrl(first)
      assert.equal(code, 0, out)
      await cells.open(1).script(`drop owned by ${user}; drop role ${user}`)
    }
    assert.equal((await payWith(shop.api, 'card_success')).status, 'successful')
  })

  it('is used by a running process without a restart', async () => {
    const before = cells.open(1)
    const [first = ''] = urls
    const { code, out } = await setUrl(first.replace('127.0.0.1', 'localhost'))
    assert.equal(code, 0, out)
    assert.match(out, /^URL changed\.\n$/m)
    assert.notEqual(cells.open(1), before)
    assert.equal((await payWith(shop.api, 'card_success')).status, 'successful')
    assert.match((await cowry('status')).out, /^cell-1 +active +\d+ +up$/m)
  })
})

describe('a cell', () => {
  const remove = (name: string, ...more: string[]) => cowry('remove', name, ...more)

  it('is not removed while it is active, has merchants, or is part of a move that has not ended', async () => {
    assert.match((await remove('main')).out, /names the database of the instance/)
    assert.match((await remove('none')).out, /names no cell/)
    assert.match((await remove('cell-1')).out, /names an active cell: use cowry cells drain cell-1 first/)
    await saveCellState(service.db, 'cell-1', 'added')
    assert.match(
      (await remove('cell-1')).out,
      /names a cell with merchants: use cowry cells drain cell-1 first/,
    )
    await saveCellState(service.db, 'cell-2', 'draining')
    await insertMove(
      cells.open(0),
      { merchantId: shop.uuid, toCell: 2, keepSeconds: 60 },
      new Date(Date.now() + 600_000),
    )
    const { code, out } = await remove('cell-2')
    await cells.open(0).script('delete from merchant_moves')
    await saveCellState(service.db, 'cell-1', 'active')
    assert.equal(code, 1)
    assert.match(out, /names a cell with moves that have not ended/)
  })

  it('is not removed if it is activated at that moment', async (t) => {
    await saveCellState(service.db, 'cell-2', 'added')
    const own = cells.open(0).apart(2)
    t.after(() => own.close())
    const removed = await own.transaction(async (tx) => {
      await tx.script("update cells set state = 'active' where name = 'cell-2'")
      const one = remove('cell-2')
      await eventually(
        () => own.query<{ waiting: number }>({ name: '', text: WAITING }),
        ([row]) => row?.waiting === 1,
        WITHIN_MS,
      )
      return { one }
    })
    const { code, out } = await removed.one
    assert.equal(code, 1, out)
    assert.match(out, /names an active cell: use cowry cells drain cell-2 first/)
    await saveCellState(service.db, 'cell-2', 'draining')
  })

  it('is removed when it is empty, stays in the list, and is not down', async () => {
    const { code, out } = await remove('cell-2', '--json')
    assert.equal(code, 0, out)
    const { message, data } = JSON.parse(out)
    assert.equal(message, 'Cell removed.')
    assert.deepEqual(data, {
      name: 'cell-2',
      state: 'removed',
      merchants: 0,
      refused: [],
      delayed: [],
      waiting: [],
      isKnown: false,
      isUp: false,
    })
    assert.deepEqual(cells.numbers, [0, 1])
    assert.throws(() => cells.open(2), /was removed/)
    const status = await cowry('status')
    assert.equal(status.code, 0, status.out)
    assert.match(status.out, /^cell-2 +removed +0 +-$/m)
    const ready = await admin.get('/readyz')
    assert.equal(ready.http, 200)
    assert.doesNotMatch(ready.text, /cell-2/)
    assert.doesNotMatch((await admin.get('/metrics')).text, /cell-2/)
    assert.equal(
      dataOf(await admin.get('/admin/v1/invariants')).every(
        (one: { violations: number }) => one.violations === 0,
      ),
      true,
    )
  })

  it('cannot be used again, nor its name or number', async () => {
    assert.match((await remove('cell-2')).out, /names a cell that was removed/)
    assert.match((await cowry('activate', 'cell-2')).out, /names a cell that was removed/)
    assert.match((await cowry('drain', 'cell-2')).out, /names a cell that was removed/)
    const placed = await admin.post('/admin/v1/merchants', { name: 'Lost', cell: 'cell-2' })
    assert.deepEqual(assertApiError(placed, 'validation_failed'), ['cell: not_allowed'])
    const move = { merchantId: shop.uuid, toCell: 2, keepSeconds: 60 }
    assert.equal(await insertMove(cells.open(0), move, new Date()), undefined)
    await writeFile(file, urls[1] ?? '')
    assert.match(
      (await cowry('add', 'cell-2', '--url-file', file)).out,
      /name is the name of a cell that was removed, and is not given again/,
    )
    assert.match(
      (await cowry('add', 'cell-3', '--url-file', file)).out,
      /is the database of the cell cell-2, which was removed: .* give an empty one/,
    )
    await writeFile(file, await testDatabaseUrl({ after }))
    const added = await cowry('add', 'cell-3', '--url-file', file)
    assert.equal(added.code, 0, added.out)
    const unknown = await cowry('status')
    assert.equal(unknown.code, 1)
    assert.match(unknown.out, /^cell-3 +added +0 +not known yet$/m)
    assert.match(unknown.out, /before these cells were added: cell-3\. Start every process again\./)
    assert.doesNotMatch(unknown.out, /DOWN|do not take statements/)
    assert.match(
      (await cowry('add', 'West_4', '--url-file', file)).out,
      /name must be 1 to 31 lower-case letters, digits and hyphens, and begin with a letter or a digit/,
    )
    const moved = (to: string) => cowry('move', shop.uuid, '--to', to)
    assert.match((await moved('nope')).out, /cell names no cell: cowry cells list shows/)
    assert.match((await moved('cell-2')).out, /cell names a cell that was removed/)
    assert.match((await moved('cell-3')).out, /cell must be an active cell: activate it first/)
    const rows = { name: '', text: "select number from cells where name = 'cell-3'" }
    assert.deepEqual(await service.db.query(rows), [{ number: 3 }])
  })

  it('leaves the first cell alone when it was the last one, and everything works', async () => {
    const main = await newShop('main')
    await saveCellState(service.db, 'cell-1', 'draining')
    await cells.open(0).script('delete from merchant_cells')
    const { code, out } = await remove('cell-1')
    assert.equal(code, 0, out)
    assert.deepEqual(cells.numbers, [0])
    assert.equal(areSeveral(cells), true)
    assert.equal((await payWith(main.api, 'card_success')).status, 'successful')
    assert.equal((await admin.get('/readyz')).http, 200)
  })
})
