// If the wait for the synchronous standby was cancelled, or the primary crashed during it, a commit is visible on this
// server and may be missing on the standby. A response that only reads such a record would acknowledge data that a
// failover loses, so it first waits for the standby.

import { sql, type Tx } from './db.ts'

// An empty WAL message: its commit waits for the standby like any other, and follows all earlier ones. Without a
// synchronous standby nothing is written.
const writeReplicationMessage = sql<{ lsn: string | null }>`
select case
  when current_setting('synchronous_standby_names') <> ''
    then pg_logical_emit_message(true, 'cowry', ''::text)::text
end as lsn`

/** Resolves, at the commit of its transaction, when the standby has everything that is visible here. */
export async function awaitStandby(tx: Tx): Promise<void> {
  await tx.query(writeReplicationMessage)
}
