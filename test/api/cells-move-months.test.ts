// A log whose months are partitions is moved into the partitions of the same months, also of months before the new cell.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { insertMove } from '../../src/cells/moves/move-queries.ts'
import { maintainPartitions } from '../../src/deliveries/maintenance-queries.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import { dataOf } from '../support/cases.ts'
import { plainAddress } from '../support/cells.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService(
  { after },
  {
    ...{ cells: 2, cellAddress: plainAddress({ after }), isOwn: true },
    // The jobs of the service drop none of them.
    env: { COWRY_DELIVERY_RETENTION_DAYS: '365' },
  },
)
const { admin, cells } = service
const WITHIN_MS = 120_000
const MONTHS = 3

const addMonthsStatement = sql<unknown>`
select maintain_month_partitions('delivery_attempts', 'started_at', now() - make_interval(months => $1), '-infinity')`

const insertOld = sql<unknown>`
insert into delivery_attempts (merchant_id, event_id, endpoint_id, fence, started_at, url, signature, http_status, duration_ms)
select $1, $2, $2, 1, now() - make_interval(months => n), 'https://example.com', 'v1,x', 200, 1
from generate_series(0, $3::integer) n`

const selectPartitions = sql<{ partition: string; count: number }>`
select tableoid::regclass::text as partition, count(*)::integer as count
from delivery_attempts
where merchant_id = $1
group by 1
order by 1`

const partitionsIn = (db: Db, merchantId: string) => db.query(selectPartitions, [merchantId])

describe('the attempt log of a merchant that is moved', () => {
  it('has a partition for each of its months in the new cell, so that old ones are dropped there', async () => {
    const [source, target] = [cells.open(0), cells.open(1)]
    const { uuid } = dataOf(await admin.post('/admin/v1/merchants', { name: 'Old', cell: 'main' }))
    await source.query(addMonthsStatement, [MONTHS])
    await source.query(insertOld, [uuid, randomUUID(), MONTHS])
    const before = await partitionsIn(source, uuid)
    assert.equal(before.length, MONTHS + 1)
    assert.ok(!before.some(({ partition }) => partition.endsWith('_default')))
    await insertMove(source, { merchantId: uuid, toCell: 1, keepSeconds: 1 }, new Date())
    await eventually(
      async () => dataOf(await admin.get(`/admin/v1/merchants/${uuid}/move`)),
      ({ step, problem }) => step === 'done' || problem !== null,
      WITHIN_MS,
    )
    assert.equal(await cells.of(uuid), 1)
    assert.deepEqual(await partitionsIn(target, uuid), before)
    await maintainPartitions(target, 33)
    const kept = await partitionsIn(target, uuid)
    assert.ok(kept.length < before.length)
    assert.ok(!kept.some(({ partition }) => partition === before[0]?.partition))
  })
})
