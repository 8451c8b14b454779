import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { type ConnectedDb, DbUnavailable, type Statement, sql } from '../db/db.ts'
import {
  type CellMap,
  currentCell,
  groupByCell,
  inCellOf,
  inCellOfValue,
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
const follow = async () => 0
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
    const write = perCell({ ...TWO, follow }, () => {
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
      apart: () => namedDb(name),
    }
  }
  const routed = routedDb({ follow, open: (cell) => namedDb(`cell ${cell}`) })

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

describe('work for a merchant that is moved meanwhile', () => {
  const moved = () =>
    Object.assign(new pg.DatabaseError('moved', 0, 'error'), { code: 'CW001', detail: 'a1' })
  const cells = { ...TWO, follow: async () => 1, successorsOf: (cell: number) => (cell === 0 ? [1] : []) }
  const refusing = { query: async () => Promise.reject(moved()) }
  const accepting = { query: async () => ['in cell 1'] }
  // A boundary: only this method is called.
  const routed = routedDb({
    follow: cells.follow,
    open: (cell) => (cell === 0 ? refusing : accepting) as unknown as ConnectedDb,
  })

  it('goes on in the new cell, also with its later statements', async () => {
    await inCellOf(TWO, 'a1', async () => {
      assert.deepEqual(await routed.query(selectOne), ['in cell 1'])
      assert.equal(currentCell(), 1)
    })
  })

  it('goes on in the new cell if the process was paused, also with what it only reads', async (t) => {
    let paused = 0
    t.mock.method(performance, 'now', () => paused)
    let cell = 0
    const places = { ...TWO, of: async () => cell }
    const seen: number[] = []
    const answering = routedDb({
      follow: cells.follow,
      // A boundary: only this method is called.
      open: (number) => ({ query: async () => seen.push(number) }) as unknown as ConnectedDb,
    })
    await inCellOf(places, 'a1', async () => {
      await answering.query(selectOne)
      cell = 1
      paused += 4_999
      await answering.query(selectOne)
      paused += 1
      await answering.query(selectOne)
    })
    assert.deepEqual(seen, [0, 0, 1])
  })

  it('goes on where it was if its merchant cannot be looked up after a pause', async (t) => {
    let paused = 0
    t.mock.method(performance, 'now', () => paused)
    const places = { ...TWO, of: async () => (paused === 0 ? 1 : Promise.reject(new Error('no answer'))) }
    await inCellOf(places, 'a1', async () => {
      paused = 60_000
      assert.deepEqual(await routed.query(selectOne), ['in cell 1'])
    })
  })

  it('fails in a context of several merchants, which stays where it is', async () => {
    await runInCell(0, async () => {
      await assert.rejects(routed.query(selectOne), /moved/)
      assert.equal(currentCell(), 0)
    })
  })

  it('is written by the queue of the new cell, from any context', async () => {
    const write = perCell(cells, () => async (item: string) => {
      if (currentCell() === 0) throw moved()
      return `${item} in cell ${currentCell()}`
    })
    assert.equal(await runInCell(0, () => write('one')), 'one in cell 1')
  })

  it('is repeated if it only reads', async () => {
    const seen: (number | undefined)[] = []
    let cell = 0
    const places = { ...TWO, of: async () => cell }
    const read = async () => {
      seen.push(currentCell())
      cell = 1
    }
    await inCellOf(places, 'a1', read, { isRead: true })
    assert.deepEqual(seen, [0, 1])
    cell = 0
    await inCellOf(places, 'a1', read)
    assert.deepEqual(seen, [0, 1, 0])
  })

  it('finds a value of the old cell where its merchant is now', async () => {
    const places = { ...cells, nameOf: String, of: async () => 1 }
    const find = async () => (currentCell() === 1 ? 'a1' : undefined)
    assert.equal(await inCellOfValue(places, 0, find, async () => currentCell()), 1)
    assert.equal(
      await inCellOfValue(
        places,
        0,
        async () => undefined,
        async () => currentCell(),
      ),
      0,
    )
  })

  it('finds such a value also while the old cell does not answer', async () => {
    const places = { ...cells, nameOf: String, of: async () => 1 }
    const findIn = (has: boolean) => async () => {
      if (currentCell() === 0) throw new DbUnavailable(new Error('down'))
      return has ? 'a1' : undefined
    }
    const work = async () => currentCell()
    assert.equal(await inCellOfValue(places, 0, findIn(true), work), 1)
    await assert.rejects(inCellOfValue(places, 0, findIn(false), work), DbUnavailable)
  })
})
