import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { sql } from '../kit/db/db.ts'
import { claimPaidSlot, type SlotUsage } from './slot-queries.ts'
import { capacityOf } from './slots.ts'

const slotUsage = (changes: Partial<SlotUsage>): SlotUsage => ({
  maxPayments: 2,
  isClosed: false,
  paid: 0n,
  reserved: 0n,
  hasSlot: false,
  ...changes,
})

describe('the capacity check of a link', () => {
  it('follows from the paid and reserved slots, the limit of the link and its state', () => {
    const cases: [Partial<SlotUsage>, string][] = [
      [{}, 'available'],
      [{ reserved: 1n, paid: 1n }, 'available'],
      [{ reserved: 2n, paid: 1n }, 'busy'],
      [{ reserved: 2n }, 'busy'],
      [{ reserved: 2n, paid: 2n }, 'ended'],
      [{ reserved: 3n, paid: 3n }, 'ended'],
      [{ reserved: 2n, hasSlot: true }, 'available'],
      [{ maxPayments: null, reserved: 1_000n, paid: 900n }, 'available'],
      [{ isClosed: true }, 'ended'],
      [{ isClosed: true, hasSlot: true, reserved: 1n }, 'available'],
    ]
    for (const [changes, capacity] of cases)
      assert.equal(capacityOf(slotUsage(changes)), capacity, JSON.stringify(Object.keys(changes)))
    assert.equal(capacityOf(undefined), 'ended')
  })
})

const insertPaid = sql<unknown>`
insert into payment_link_slots (merchant_id, payment_id, link_id, reserved_at, reference, paid_minor, paid_at)
select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), 'order', 100, now() - n * interval '1 s'
from generate_series(1, $1::integer) as n`

const countSlots = sql<{ slots: number }>`
select count(*)::integer as slots
from payment_link_slots`

describe('paid slots of links', () => {
  it('are claimed one by one with every plan of the claim', async (t) => {
    const db = await testDatabase(t)
    const slots = async () => (await db.query(countSlots))[0]?.slots ?? 0
    for (const analyzedRows of [0, 1, 2, 4])
      for (const actualRows of [2, 3, 10]) {
        // The rows violate their foreign keys; only the number of claimed rows matters.
        const fill = (count: number) =>
          db.transaction(async (tx) => {
            await tx.script('set local session_replication_role = replica')
            await tx.query(insertPaid, [count])
          })
        await db.script('delete from payment_link_slots')
        await fill(analyzedRows)
        await db.script('vacuum analyze payment_link_slots')
        await fill(actualRows)
        const before = await slots()
        assert.ok(await claimPaidSlot(db))
        assert.equal(
          await slots(),
          before - 1,
          `${analyzedRows} rows at the last analyze, ${before} rows now`,
        )
      }
  })
})
