// A commit whose wait for the synchronous standby was cancelled, or cut short by a crash of the primary, is seen on this
// server and may be on no other. Whoever answers for such a record without writing anything would acknowledge what a failover
// takes away, so it first makes sure that the standby has it.

import { sql, type Tx } from './db.ts'

// A message in the log that nobody reads: its commit waits for the standby like any other, and comes after all before it.
// Where there is no synchronous standby, nothing is written.
const writeReplicationMessage = sql<{ lsn: string | null }>`
select case
  when current_setting('synchronous_standby_names') <> ''
    then pg_logical_emit_message(true, 'cowry', ''::text)::text
end as lsn`

/** Resolves, in a transaction with its commit, when the standby has all that can be seen here. */
export async function awaitStandby(tx: Tx): Promise<void> {
  await tx.query(writeReplicationMessage)
}
