// Waits until a request of the service waits for a lock that the test holds.

import { systemClock } from '../../src/kit/clock.ts'
import { sql, type Tx } from '../../src/kit/db/db.ts'

const countBlocked = sql<{ count: number }>`
select count(*)::integer as count
from pg_locks
where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))`

/** Waits until another session waits for a lock of the transaction. */
export async function untilBlocked(tx: Tx): Promise<void> {
  const until = Date.now() + MAX_BLOCKED_MS
  while ((await tx.query(countBlocked))[0]?.count === 0) {
    if (Date.now() > until) throw new Error('no session waits for the lock')
    await systemClock.sleep(10)
  }
}

// A busy machine takes seconds for a request.
const MAX_BLOCKED_MS = 20_000
