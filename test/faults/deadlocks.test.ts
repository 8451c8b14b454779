// F-22: PostgreSQL aborts a transaction as a deadlock victim or serialization failure; we retry it and the caller sees
// no error.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { systemClock } from '../../src/kit/clock.ts'
import { type Db, DbUnavailable, sql, type Tx } from '../../src/kit/db/db.ts'
import { createIdempotently } from '../../src/kit/db/idempotency.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { chargeBody, saveMethod } from '../support/builders.ts'
import { testDatabase } from '../support/database.ts'
import { HAS_LARGER_FORM, sized } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const db = await testDatabase({ after })
const app = { db, clock: systemClock, random: systemRandom(systemClock) }

const lockRow = sql<unknown>`select pg_advisory_xact_lock($1)`

describe('two requests that lock the same rows in opposite orders (F-22)', () => {
  it('two deadlocked requests both succeed, each once', async () => {
    let runs = 0
    let locked = 0
    const made: string[] = []
    const bothLocked = Promise.withResolvers<void>()
    const send = (first: number, second: number) => {
      const claim = { merchantId: randomUUID(), key: undefined, operation: 'POST /nowhere', input: {} }
      return createIdempotently(app, claim, {
        async make(tx: Tx, id) {
          runs += 1
          await tx.query(lockRow, [first])
          locked += 1
          // Each holds its first row before either requests its second one: a transaction that has only begun does not.
          if (locked === 2) bothLocked.resolve()
          await bothLocked.promise
          await tx.query(lockRow, [second])
          return id
        },
        find: async () => undefined,
      }).then(({ record }) => made.push(record))
    }
    await Promise.all([send(1, 2), send(2, 1)])
    assert.equal(runs, 3, 'one transaction was the deadlock victim and was retried')
    assert.equal(new Set(made).size, 2)
  })
})

const raiseSerializationFailure = sql<unknown>`do $$ begin raise exception 'conflict' using errcode = 'serialization_failure'; end $$`

// A rollback does not reset a sequence, so it counts how often the statement was started.
const lockRows = sql<{ begun: bigint }>`
select nextval('runs_of_the_test') as begun, pg_advisory_xact_lock(n)
from unnest($1::bigint[]) as n`
const countWaiting = sql<{ count: number }>`
select count(*)::integer as count
from pg_locks
where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`

describe('a statement without a transaction that is a deadlock victim (F-22)', () => {
  /**
   * Locks one row after the other, while another session holds the second and requests the first. Returns the numbers
   * that it drew.
   */
  async function lockInCycle(target: Db): Promise<bigint[]> {
    const statement = Promise.withResolvers<{ begun: bigint }[]>()
    await db.transaction(async (tx) => {
      // The first session to check for a deadlock becomes its victim; the long timeout ensures that it is the other
      // statement.
      await tx.script(`set local deadlock_timeout = '1min'; set local lock_timeout = '20s'`)
      await tx.query(lockRow, [1])
      target.query(lockRows, [[2, 1]]).then(statement.resolve, statement.reject)
      while ((await tx.query(countWaiting))[0]?.count === 0) await systemClock.sleep(10)
      await tx.query(lockRow, [2])
    })
    return (await statement.promise).map(({ begun }) => begun)
  }

  it('a deadlock victim without a transaction is retried', async () => {
    await db.script('create sequence runs_of_the_test; grant usage on sequence runs_of_the_test to public')
    assert.deepEqual(
      await lockInCycle(db),
      [3n, 4n],
      'two numbers were drawn before the abort, and two by the retry',
    )
  })

  it('a deadlock victim is retried under row-level security too', async () => {
    await db.script('alter sequence runs_of_the_test restart')
    assert.deepEqual(await lockInCycle(db.forMerchant(randomUUID())), [3n, 4n])
  })

  it('a statement fails as retryable when it is the deadlock victim each time', async () => {
    let runs = 0
    const work = db.transaction(async (tx) => {
      runs += 1
      await tx.query(raiseSerializationFailure)
    })
    await assert.rejects(work, (error) => error instanceof DbUnavailable && error.isRolledBack)
    assert.equal(runs, 3)
  })
})

const countDeadlocks = sql<{ count: number }>`
select deadlocks::integer as count
from pg_stat_database
where datname = current_database()`

const CHARGES_EACH = sized({ quick: 4, rest: 16, long: 64 })

describe('charges of the same few customers, recorded and completed at the same time (F-22)', () => {
  it('concurrent charges of the same customers never deadlock', HAS_LARGER_FORM, async (t) => {
    const service = await testService(t, { env: { COWRY_RATE_LIMIT: '0' } })
    const payers: { customer: object; token: string }[] = []
    for (let n = 0; n < 8; n += 1) {
      const customer = { email: `payer-${n}@example.com`, firstname: 'Amina', lastname: 'Odhiambo' }
      payers.push({ customer, token: await saveMethod(service.api, 'card_success', { customer }) })
    }
    // Each takes a different time, so that some are recorded while others are completed.
    const chargeInTurn = async (_: unknown, first: number) => {
      for (let n = 0; n < CHARGES_EACH; n += 1) {
        const payer = payers[(first * 3 + n * 5) % payers.length]
        assert.ok(payer)
        const { customer, token } = payer
        const { http, text } = await service.api.post(
          '/api/v1/charges/recurring',
          chargeBody(token, { customer }),
        )
        assert.equal(http, 201, text)
      }
    }
    await Promise.all(Array.from({ length: 32 }, chargeInTurn))
    // PostgreSQL publishes a deadlock in its statistics with the next statement of the victim, at most a second later.
    await systemClock.sleep(1_200)
    await service.api.get('/api/v1/charges')
    const [row] = await service.db.query(countDeadlocks)
    assert.equal(row?.count, 0)
  })
})
