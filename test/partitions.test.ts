// Partition maintenance of delivery_attempts: future months exist in advance, old months are dropped as a whole, and an
// insert never fails because its month is missing.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { maintainPartitions } from '../src/deliveries/maintenance-queries.ts'
import { sql } from '../src/kit/db/db.ts'
import { checkInvariants } from '../src/kit/db/invariants.ts'
import { testDatabase } from './support/database.ts'

const db = await testDatabase({ after })

const insertAttempt = sql`
insert into delivery_attempts (
  merchant_id, event_id, endpoint_id, fence, started_at, url, signature, http_status, duration_ms
)
values ($1, $1, $1, 1, now() + $2::integer * interval '1 day', 'https://example.com', 'v1', 200, 5)`

const selectAttempts = sql<{ month: string; days: number }>`
select tableoid::regclass::text as month, round(extract(epoch from started_at - now()) / 86400)::integer as days
from delivery_attempts
order by started_at`

const selectPartitions = sql<{ name: string }>`
select inhrelid::regclass::text as name
from pg_inherits
where inhparent = 'delivery_attempts'::regclass
order by 1`

const writeAttempt = (days: number) => db.query(insertAttempt, [randomUUID(), days])
const attemptDays = async () => (await db.query(selectAttempts)).map(({ days }) => days)
const partitionNames = async () => (await db.query(selectPartitions)).map(({ name }) => name)

describe('the month partitions of delivery_attempts', () => {
  it('take rows of their month; the default partition takes rows of other months', async () => {
    for (const days of [-400, 0, 5, 400]) await writeAttempt(days)
    const rows = await db.query(selectAttempts)
    assert.deepEqual(
      rows.map(({ month }) => month.endsWith('_default')),
      [true, false, false, true],
    )
  })

  it('are created once, also by several processes at the same time', async () => {
    const before = await partitionNames()
    assert.equal(before.length, 4, 'this month, the next two, and the default partition')
    await db.script(`drop table ${before[1]}, ${before[2]}`)
    const changes = await Promise.all([1, 2, 3, 4].map(() => maintainPartitions(db, 35)))
    assert.deepEqual(changes.toSorted(), [0, 0, 0, 2])
    assert.deepEqual(await partitionNames(), before)
  })

  it('take over rows that were inserted before they existed', async () => {
    const [month = ''] = await partitionNames()
    await db.script(`drop table ${month}`)
    await writeAttempt(0)
    assert.equal(await maintainPartitions(db, 35), 1)
    const rows = await db.query(selectAttempts)
    assert.equal(rows.find(({ days }) => days === 0)?.month, month)
  })

  it('are dropped as a whole after the retention period, and not before', async () => {
    await db.script(
      `select maintain_month_partitions('delivery_attempts', 'started_at', now() - interval '70 days', '-infinity')`,
    )
    for (const days of [-68, -33]) await writeAttempt(days)
    assert.ok((await partitionNames()).length >= 6)
    await maintainPartitions(db, 35)
    const days = await attemptDays()
    assert.ok(!days.includes(-68) && days.includes(-33), String(days))
    assert.equal(await maintainPartitions(db, 35), 0)
  })

  it('are reported by cowry doctor when none was created for weeks', async () => {
    const violations = async () =>
      (await checkInvariants(db)).find(({ name }) => name === 'invariant_g01_partitions_exist')?.violations
    assert.equal(await violations(), 0)
    await db.script(`
      do $$
      declare
        month text;
      begin
        for month in
          select inhrelid::regclass::text
          from pg_inherits
          where inhparent = 'delivery_attempts'::regclass and inhrelid::regclass::text !~ 'default'
        loop
          execute format('drop table %s', month);
        end loop;
      end
      $$`)
    assert.equal(await violations(), 1)
    await maintainPartitions(db, 35)
    assert.equal(await violations(), 0)
  })
})
