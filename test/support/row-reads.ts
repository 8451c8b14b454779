import { sql, type Tx } from '../../src/kit/db/db.ts'

const selectReads = sql<{ reads: number }>`
select (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as reads
from pg_stat_xact_user_tables
where relname = $1`

/**
 * Rows of a table that this connection has read since it last flushed its statistics: only differences are meaningful.
 */
export async function readsOf(tx: Tx, table: string): Promise<number> {
  const [row] = await tx.query(selectReads, [table])
  if (!row) throw new Error(`there is no table ${table}`)
  return row.reads
}
