import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { currentCell } from '../kit/cells/cells.ts'
import { systemClock } from '../kit/clock.ts'
import { type Db, DbUnavailable } from '../kit/db/db.ts'
import { createChangeFeed } from './change-feed.ts'

describe('the feed of changes', () => {
  const down = async () => {
    throw new DbUnavailable(new Error('down'))
  }
  const silent = () => new Promise<never>(() => undefined)

  for (const [what, ofOther, key] of [
    ['fails', down, 'live.read_failed'],
    ['does not answer', silent, undefined],
  ] as const)
    it(`reports the changes of the other cells, again and again, while one ${what}`, async () => {
      let reads = 0
      // A boundary: the feed only reads.
      const db = {
        query: async () => {
          if (currentCell() === 1) return ofOther()
          reads += 1
          return [{ id: `ffffffff${reads}`, merchantId: 'a1', type: 'payment.successful' }]
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
        feed.subscribe('a1', new Date(0), ({ id }) => id.endsWith('3') && reported.resolve(id)),
      ]
      const timeout = setTimeout(() => reported.reject(new Error('nothing was reported')), 5_000)
      try {
        assert.equal(await reported.promise, 'ffffffff3')
        assert.equal(lines[0], key)
      } finally {
        clearTimeout(timeout)
        for (const end of ends) end()
      }
    })
})
