// F-22: a transaction that the database gives up for the sake of another is run again, and its caller never learns of it.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { type Db, sql, type Tx } from '../../src/kit/db.ts'
import { createOnce } from '../../src/kit/idempotency.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { testDatabase } from '../support/database.ts'

const db: Db = await testDatabase({ after })
const app = { db, clock: systemClock, random: systemRandom(systemClock) }

const lockRow = sql<unknown>`select pg_advisory_xact_lock($1)`

describe('two requests that lock the same in opposite orders (F-22)', () => {
  it('both succeed, each once', async () => {
    let runs = 0
    const made: string[] = []
    const bothBegan = Promise.withResolvers<void>()
    const send = (first: number, second: number) => {
      const claim = { merchantId: randomUUID(), key: undefined, operation: 'POST /nowhere', input: {} }
      return createOnce(app, claim, {
        async make(tx: Tx, id) {
          runs += 1
          await tx.query(lockRow, [first])
          if (runs === 2) bothBegan.resolve()
          await bothBegan.promise
          await tx.query(lockRow, [second])
          return id
        },
        find: async () => undefined,
      }).then(({ record }) => made.push(record))
    }
    await Promise.all([send(1, 2), send(2, 1)])
    assert.equal(runs, 3, 'one of them was given up and ran again')
    assert.equal(new Set(made).size, 2)
  })
})
