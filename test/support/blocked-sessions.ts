// Waits until a request of the service waits for a lock that the test holds.

import { systemClock } from '../../src/kit/clock.ts'
import { type Statement, sql, type Tx } from '../../src/kit/db/db.ts'

const countBlocked = sql<{ count: number }>`
select count(*)::integer as count
from pg_locks
where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))`

const selectIsCluster = sql<{
  isCluster: boolean
}>`select to_regclass('citus_lock_waits') is not null as "isCluster"`

// In a cluster the lock is on the node of the rows. Its view is of Citus, so this is not prepared elsewhere.
const countBlockedInCluster: Statement<{ count: number }> = {
  name: '',
  text: 'select count(*)::integer as count from citus_lock_waits where blocking_gpid = citus_backend_gpid()',
}

/** Waits until another session waits for a lock of the transaction. */
export async function untilBlocked(tx: Tx): Promise<void> {
  const [server] = await tx.query(selectIsCluster)
  const count = server?.isCluster ? countBlockedInCluster : countBlocked
  const until = Date.now() + MAX_BLOCKED_MS
  while ((await tx.query(count))[0]?.count === 0) {
    if (Date.now() > until) throw new Error('no session waits for the lock')
    await systemClock.sleep(10)
  }
}

// A busy machine takes seconds for a request.
const MAX_BLOCKED_MS = 20_000
