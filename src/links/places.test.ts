import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { sql } from '../kit/db.ts'
import { type Room, takePaidPlace } from './place-queries.ts'
import { admissionOf } from './places.ts'

const room = (changes: Partial<Room>): Room => ({
  maxPayments: 2,
  isOver: false,
  paid: 0n,
  taken: 0n,
  isOwn: false,
  ...changes,
})

describe('whether a payment is let through', () => {
  it('depends on who has paid, who is paying and what the merchant wants', () => {
    const cases: [Partial<Room>, string][] = [
      [{}, 'admitted'],
      [{ taken: 1n, paid: 1n }, 'admitted'],
      [{ taken: 2n, paid: 1n }, 'busy'],
      [{ taken: 2n }, 'busy'],
      [{ taken: 2n, paid: 2n }, 'ended'],
      [{ taken: 3n, paid: 3n }, 'ended'],
      [{ taken: 2n, isOwn: true }, 'admitted'],
      [{ maxPayments: null, taken: 1_000n, paid: 900n }, 'admitted'],
      [{ isOver: true }, 'ended'],
      [{ isOver: true, isOwn: true, taken: 1n }, 'admitted'],
    ]
    for (const [changes, admission] of cases)
      assert.equal(admissionOf(room(changes)), admission, JSON.stringify(Object.keys(changes)))
    assert.equal(admissionOf(undefined), 'ended')
  })
})

const insertPaid = sql<unknown>`
insert into payment_link_places (merchant_id, payment_id, link_id, taken_at, reference, paid_minor, paid_at)
select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), 'order', 100, now() - n * interval '1 s'
from generate_series(1, $1::integer) as n`

const countPlaces = sql<{ places: number }>`
select count(*)::integer as places
from payment_link_places`

describe('paid places', () => {
  it('are taken one by one, whatever the planner believes about the table', async () => {
    const db = await testDatabase({ after })
    const places = async () => (await db.query(countPlaces))[0]?.places ?? 0
    for (const believed of [0, 1, 2, 4])
      for (const there of [2, 3, 10]) {
        // Nobody refers to anybody here: it is only about how many rows are taken.
        const fill = (count: number) =>
          db.transaction(async (tx) => {
            await tx.script('set local session_replication_role = replica')
            await tx.query(insertPaid, [count])
          })
        await db.script('delete from payment_link_places')
        await fill(believed)
        await db.script('vacuum analyze payment_link_places')
        await fill(there)
        const before = await places()
        assert.ok(await takePaidPlace(db))
        assert.equal(await places(), before - 1, `${believed} were known of, and there were ${before}`)
      }
  })
})
