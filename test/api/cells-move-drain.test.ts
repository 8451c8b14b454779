// A cell is drained while another one, to which a merchant of it is moved, does not answer.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { MOST_DELAYED } from '../../src/cells/limits.ts'
import { insertMove, saveProblem } from '../../src/cells/moves/move-queries.ts'
import { saveCellState } from '../../src/kit/cells/queries.ts'
import type { Db } from '../../src/kit/db/db.ts'
import { dataOf } from '../support/cases.ts'
import { cellsCommand, plainAddress } from '../support/cells.ts'
import { NO_POOLER } from '../support/database.ts'
import { eventually } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const CLOSED_PORT = 9
const WITHIN_MS = 120_000

const proxies: { proxy: TcpProxy; port: number }[] = []
const addressOf = plainAddress({ after })
const service = await testService(
  { after },
  {
    ...{ cells: 3, isOwn: true, acquireTimeoutMs: 1_000 },
    cellAddress: async (url) => {
      const through = new URL(await addressOf(url))
      const port = Number(through.port)
      const proxy = await startTcpProxy({ after }, port)
      proxies.push({ proxy, port })
      through.port = String(proxy.port)
      return through.href
    },
  },
)
const { admin, cells } = service
const cowry = cellsCommand(service, ADMIN_TOKEN)

/** Of the second cell. */
function setUp(isUp: boolean): void {
  const lost = proxies[1]
  assert.ok(lost)
  lost.proxy.retarget(isUp ? lost.port : CLOSED_PORT)
  if (!isUp) lost.proxy.reset()
}

const newIn = async (cell: string): Promise<string> =>
  dataOf(await admin.post('/admin/v1/merchants', { name: 'Drained', cell })).uuid
const moveOf = async (uuid: string) => dataOf(await admin.get(`/admin/v1/merchants/${uuid}/move`))

/** After the drain has shown its first line. */
async function clean(instance: Db, merchantId: string): Promise<void> {
  await setTimeout(2_000)
  await instance.script(`update merchant_moves set step = 'done' where merchant_id = '${merchantId}'`)
}

describe('a drain while another cell does not answer', NO_POOLER, () => {
  before(() =>
    cells
      .open(0)
      .script(
        "insert into cells (number, name, sealed, state, created_at) values (9, 'left-1', '', 'removed', now())",
      ),
  )

  it('moves the other merchants to cells that answer, and the command ends with those that wait', async () => {
    const [waiting, other] = [await newIn('cell-1'), await newIn('cell-1')]
    // The cell that is down would be the first choice.
    for (let count = 0; count < 3; count += 1) await newIn('main')
    setUp(false)
    await insertMove(cells.open(0), { merchantId: waiting, toCell: 2, keepSeconds: 1 }, new Date())
    await eventually(
      () => moveOf(waiting),
      ({ problem }) => problem !== null,
      WITHIN_MS,
    )
    const { code, out } = await cowry('drain', 'cell-1')
    assert.equal(code, 1)
    assert.match(
      out,
      new RegExp(
        `These merchants are not moved yet: ${waiting}\\. Cells that do not take statements: cell-2\\.`,
      ),
    )
    assert.equal((await moveOf(other)).to, 'main')
    assert.equal(await cells.of(other), 0)
    const listed = dataOf(await admin.get('/admin/v1/cells'))
    assert.deepEqual(
      listed.map(({ delayed }: { delayed: string[] }) => delayed),
      [[], [waiting], [], []],
    )
  })

  it('begins no more moves when many wait, and the command ends then, too', async () => {
    const instance = cells.open(0)
    await saveCellState(instance, 'cell-1', 'active')
    const waiting: string[] = []
    for (let count = 0; count < MOST_DELAYED; count += 1) waiting.push(await newIn('cell-1'))
    const far = new Date(Date.now() + 600_000)
    for (const merchantId of waiting) {
      const move = await insertMove(instance, { merchantId, toCell: 2, keepSeconds: 1 }, far)
      assert.ok(move)
      await saveProblem(instance, move, { problem: 'down', isRefused: false }, far)
    }
    const another = await newIn('cell-1')
    const { code, out } = await cowry('drain', 'cell-1')
    assert.equal(code, 1)
    assert.match(out, /These merchants are not moved yet: /)
    assert.equal(await cells.of(another), 1)
    // Merchants without data.
    const ids = [...waiting, another].map((id) => `'${id}'`).join()
    await instance.script(`delete from merchant_moves where merchant_id in (${ids});
delete from merchant_cells where merchant_id in (${ids})`)
  })

  it('shows which merchant waits until the old copy of its last move is deleted', async () => {
    const instance = cells.open(0)
    await saveCellState(instance, 'cell-1', 'active')
    const waiting = await newIn('cell-1')
    await instance.script(`insert into merchant_moves
(merchant_id, from_cell, to_cell, step, fence, keep_seconds, leased_until, copied_rows, created_at)
values ('${waiting}', 0, 1, 'clean', 0, 60, now() + interval '1 hour', 0, now())`)
    const draining = cowry('drain', 'cell-1')
    const cleaned = clean(instance, waiting)
    const { out } = await draining
    await cleaned
    assert.match(
      out,
      new RegExp(
        `merchants left; of these wait until the old copy of their last move is deleted: ${waiting}`,
      ),
    )
  })

  it('ends when that cell answers again', async () => {
    setUp(true)
    const { code, out } = await cowry('drain', 'cell-1')
    assert.equal(code, 0, out)
    assert.match(out, /^cell-1 +draining +0 +up$/m)
  })
})
