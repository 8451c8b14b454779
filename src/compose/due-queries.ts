// The statement that polls for the background jobs of all slices: when each next has due work. It reads the tables of
// many slices, because one statement costs an idle service less than one for each job.

import { type Db, sql } from '../kit/db/db.ts'

// By the name of the job: its first due time, or $1, the current time, where a row is always due. Each finds a row
// whenever the job would claim one, by an index: not with min(), which drops the order, so that the planner may read a
// whole table. A row that cannot be claimed only costs the claim.
const DUE_TIMES = {
  'resolve-attempts': 'due_at from attempts where due_at is not null order by due_at',
  'expire-checkouts': 'due_at from payments where due_at is not null order by due_at',
  'resolve-refunds': 'due_at from refunds where due_at is not null order by due_at',
  'refund-duplicates': 'refund_due_at from attempts where refund_due_at is not null order by refund_due_at',
  'look-up-refunds':
    'refund_lookup_due_at from attempts where refund_lookup_due_at is not null order by refund_lookup_due_at',
  'look-for-provider-refunds': 'due_at from refund_lookups order by due_at',
  'count-link-payments': '$1::timestamptz from payment_link_slots where paid_at is not null order by paid_at',
  'expire-links': 'due_at from payment_links where due_at is not null order by due_at',
  'expire-transfers': 'due_at from p2p_transfers where due_at is not null order by due_at',
  'settle-money': 'due_at from pending_settlements order by due_at',
  'fold-balances': '$1::timestamptz from balance_deltas order by id',
  // Any pending delivery: their index is by endpoint, and has no order by time alone.
  'deliver-events':
    '$1::timestamptz from deliveries where due_at is not null order by merchant_id, endpoint_id, due_at',
  'replay-events': "$1::timestamptz from webhook_replays where status = 'queued' order by last_run_at",
  'dead-letter-deliveries':
    "$1::timestamptz from webhook_endpoints where status <> 'enabled' order by disabled_at",
}

/** The jobs that claim only when the statement finds a row for them. */
export const POLLED_JOBS = Object.keys(DUE_TIMES)

const probes = Object.values(DUE_TIMES).map((row) => `(select ${row} limit 1)`)
const findDueTimesStatement = sql<{ times: (Date | null)[] }>`
select array[
  ${probes.join(',\n  ')}
] as times`

/** By the name of the job: when it has due work; absent if it has none. */
export async function findDueTimes(db: Db, now: Date): Promise<Map<string, Date>> {
  const [row] = await db.query(findDueTimesStatement, [now])
  const times = POLLED_JOBS.map((name, index) => [name, row?.times[index]] as const)
  return new Map(times.filter((one): one is [string, Date] => one[1] instanceof Date))
}
