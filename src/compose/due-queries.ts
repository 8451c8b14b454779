// The statement that polls for the background jobs of all slices: which of them may have due work. It reads the tables of
// many slices, because one statement costs an idle service less than one for each job.

import { type Db, sql } from '../kit/db/db.ts'

// By the name of the job. Each finds a row whenever the job would claim one, by an index: not with exists(), which drops
// the order, so that the planner may read a whole table. A row that cannot be claimed only costs the claim.
const DUE_ROWS = {
  'resolve-attempts': 'from attempts where due_at <= $1 order by due_at',
  'expire-checkouts': 'from payments where due_at <= $1 order by due_at',
  'resolve-refunds': 'from refunds where due_at <= $1 order by due_at',
  'refund-duplicates': 'from attempts where refund_due_at <= $1 order by refund_due_at',
  'look-up-refunds': 'from attempts where refund_lookup_due_at <= $1 order by refund_lookup_due_at',
  'count-link-payments': 'from payment_link_slots where paid_at is not null order by paid_at',
  'expire-links': 'from payment_links where due_at <= $1 order by due_at',
  'expire-transfers': 'from p2p_transfers where due_at <= $1 order by due_at',
  'settle-money': 'from pending_settlements where due_at <= $1 order by due_at',
  'fold-balances': 'from balance_deltas order by id',
  // Any pending delivery: their index is by endpoint, and has no order by time alone.
  'deliver-events': 'from deliveries where due_at is not null order by merchant_id, endpoint_id, due_at',
  'replay-events': "from webhook_replays where status = 'queued' order by last_run_at",
  'dead-letter-deliveries': "from webhook_endpoints where status <> 'enabled' order by disabled_at",
}

/** The jobs that claim only if the statement finds a row for them. */
export const POLLED_JOBS = Object.keys(DUE_ROWS)

const probes = Object.values(DUE_ROWS).map((rows) => `(select true ${rows} limit 1)`)
const findDueJobsStatement = sql<{ isDue: (true | null)[] }>`
select array[
  ${probes.join(',\n  ')}
] as "isDue"`

/** The names of the jobs that may have due work. */
export async function findDueJobs(db: Db, now: Date): Promise<Set<string>> {
  const [row] = await db.query(findDueJobsStatement, [now])
  return new Set(POLLED_JOBS.filter((_, index) => row?.isDue[index]))
}
