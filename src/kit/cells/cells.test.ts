import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ConnectedDb, type Statement, sql } from '../db/db.ts'
import {
  type CellMap,
  currentCell,
  groupByCell,
  inCellOf,
  inEveryCell,
  inNamedCell,
  iterateInCell,
  loadByCell,
  ONE_CELL,
  perCell,
  routedDb,
  runInCell,
} from './cells.ts'

const TWO: CellMap = { numbers: [0, 1], of: async (merchantId) => (merchantId.startsWith('b') ? 1 : 0) }
const selectOne = sql<{ one: number }>`select 1 as one`

describe('the context of a cell', () => {
  it('is that of the merchant, of a value, or of each cell in turn', async () => {
    assert.equal(await inCellOf(TWO, 'b1', async () => currentCell()), 1)
    assert.equal(
      inNamedCell(TWO, 1, () => currentCell()),
      1,
    )
    assert.deepEqual(await inEveryCell(TWO, async () => currentCell()), [0, 1])
  })

  it('is cell 0 for a value that names none of the cells', () => {
    assert.equal(
      inNamedCell(TWO, 7, () => currentCell()),
      0,
    )
  })

  it('does not exist where there is one cell', async () => {
    assert.equal(await inCellOf(ONE_CELL, 'b1', async () => currentCell()), undefined)
    assert.deepEqual(await inEveryCell(undefined, async () => currentCell()), [undefined])
  })

  it('is kept for the pieces of a file that are made later', async () => {
    async function* pieces() {
      yield currentCell()
      await Promise.resolve()
      yield currentCell()
    }
    const seen: unknown[] = []
    for await (const piece of iterateInCell(1, pieces())) seen.push(piece)
    assert.deepEqual(seen, [1, 1])
  })
})

describe('work over merchants of several cells', () => {
  it('is done once in each cell, and its results are in the order of the merchants', async () => {
    const calls: [number | undefined, readonly string[]][] = []
    const load = async (ids: readonly string[]) => {
      calls.push([currentCell(), ids])
      return ids.map((id) => `${id}!`)
    }
    assert.deepEqual(await loadByCell(TWO, ['b1', 'a1', 'b2', 'b1'], load), ['b1!', 'a1!', 'b2!', 'b1!'])
    assert.deepEqual(calls, [
      [1, ['b1', 'b2', 'b1']],
      [0, ['a1']],
    ])
    assert.deepEqual(await groupByCell(ONE_CELL, ['a1', 'b1'], (id) => id), new Map([[0, ['a1', 'b1']]]))
  })

  it('has one queue of a batched writer for each cell, and none outside of a cell', async () => {
    let queues = 0
    const write = perCell(TWO, () => {
      queues += 1
      const queue = queues
      return async (item: string) => `${item} in queue ${queue}`
    })
    assert.equal(await runInCell(1, () => write('one')), 'one in queue 2')
    assert.equal(await runInCell(0, () => write('two')), 'two in queue 1')
    await assert.rejects(write('three'), /outside of a cell/)
  })
})

describe('the routed handle', () => {
  const namedDb = (name: string): ConnectedDb => {
    const handle = (scope: string) => ({
      query: async () => [`${name}${scope}`] as never[],
      script: async () => undefined,
      transaction: async () => `${name}${scope}` as never,
      close: async () => undefined,
    })
    return {
      ...handle(''),
      forMerchant: (id) => handle(` for ${id}`),
      audited: (actor) => handle(` by ${actor}`),
      poolStats: () => ({ total: 0, idle: 0, waiting: 0 }),
      writeCount: () => 0,
    }
  }
  const routed = routedDb({ open: (cell) => namedDb(`cell ${cell}`) })

  it('sends statements and transactions to the cell of the context, with their scope', async () => {
    const read = (db: Pick<ConnectedDb, 'query'>) => db.query(selectOne as Statement<unknown>)
    assert.deepEqual(await runInCell(1, () => read(routed)), ['cell 1'])
    assert.deepEqual(await runInCell(1, () => read(routed.forMerchant('m'))), ['cell 1 for m'])
    assert.deepEqual(await runInCell(0, () => read(routed.audited('a'))), ['cell 0 by a'])
    assert.equal(await runInCell(0, () => routed.transaction(async () => undefined)), 'cell 0')
  })

  it('refuses a statement outside of a cell, and names it', async () => {
    await assert.rejects(routed.query(selectOne), /outside of a cell:\nselect 1 as one/)
    await assert.rejects(
      routed.transaction(async () => undefined),
      /outside of a cell/,
    )
  })
})
