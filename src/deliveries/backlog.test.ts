import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { BACKLOG_LIMIT } from '../kit/observability/backlog.ts'
import { readDeliveryBacklog } from './backlog.ts'

const db = await testDatabase({ after })
const now = new Date('2026-05-01T12:00:00.000Z')

/** Inserts waiting deliveries of one endpoint. The digit begins its merchant's id; `since` is when they were created. */
const wait = (count: number, digit: string, since: string) =>
  db.script(`
    insert into deliveries (merchant_id, event_id, endpoint_id, resource_type, resource_id, version, due_at, created_at)
    select
      '${digit.repeat(8)}-0000-7000-8000-000000000000', gen_random_uuid(), '${digit.repeat(8)}-0000-7000-8000-000000000001',
      'payment', gen_random_uuid(), 1, '2026-05-01T11:59:00Z', '${since}'
    from generate_series(1, ${count})`)

describe('the backlog of deliveries', () => {
  it('reports the oldest pending delivery also beyond the count limit', async () => {
    await wait(Number(BACKLOG_LIMIT), '1', '2026-05-01T11:58:00Z')
    await wait(1, '9', '2026-05-01T09:00:00Z')
    const backlog = await readDeliveryBacklog(db, now)
    assert.equal(backlog.pending, Number(BACKLOG_LIMIT))
    assert.deepEqual(backlog.oldestPendingAt, new Date('2026-05-01T09:00:00Z'))
  })
})
