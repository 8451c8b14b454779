import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { currentCell } from '../kit/cells/cells.ts'
import { systemClock } from '../kit/clock.ts'
import { type Db, DbUnavailable } from '../kit/db/db.ts'
import { createChangeFeed } from './change-feed.ts'

describe('the feed of changes', () => {
  it('reports the changes of the cells that answer while another one does not', async () => {
    const row = { id: 'ffffffff', merchantId: 'a1', type: 'payment.successful' }
    // A boundary: the feed only reads.
    const db = {
      query: async () => {
        if (currentCell() === 1) throw new DbUnavailable(new Error('down'))
        return [row]
      },
    } as unknown as Db
    const lines: string[] = []
    const log = { write: (key: string) => void lines.push(key) }
    const cells = { numbers: [0, 1], of: async (id: string) => (id === 'b1' ? 1 : 0) }
    const clock = { ...systemClock, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) }
    const feed = createChangeFeed({ db, cells, clock, log })
    const reported = Promise.withResolvers<string>()
    const ends = [
      feed.subscribe('b1', new Date(0), () => assert.fail('of the cell that is down')),
      feed.subscribe('a1', new Date(0), ({ id }) => reported.resolve(id)),
    ]
    const timeout = setTimeout(() => reported.reject(new Error('nothing was reported')), 5_000)
    try {
      assert.equal(await reported.promise, row.id)
      assert.ok(lines.includes('live.read_failed'))
    } finally {
      clearTimeout(timeout)
      for (const end of ends) end()
    }
  })
})
