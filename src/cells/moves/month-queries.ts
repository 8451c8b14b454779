// Logs whose months are partitions, which are dropped whole: the new cell needs those of the old one. Rows without the
// partition of their month would be in the one for all others, and never be dropped.

import { type Db, sql, type Tx } from '../../kit/db/db.ts'
import { COPYING, SHORT_LOCKS } from './guard-queries.ts'

export interface OldestMonth {
  table: string
  /** The column of the time. */
  key: string
  begins: Date
}

const selectOldestMonths = sql<OldestMonth>`
select p.relname as "table", a.attname as key, min(to_date(right(c.relname, 6), 'YYYYMM')::timestamp at time zone 'UTC') as begins
from pg_partitioned_table t
join pg_class p on p.oid = t.partrelid
join pg_attribute a on a.attrelid = p.oid and a.attnum = t.partattrs[0]
join pg_inherits i on i.inhparent = p.oid
join pg_class c on c.oid = i.inhrelid
where p.relname = any ($1::text[])
  and p.relnamespace = current_schema()::regnamespace
  and c.relname ~ '_[0-9]{6}$'
group by p.relname, a.attname`

export function listOldestMonths(db: Db, tables: readonly string[]): Promise<OldestMonth[]> {
  return db.query(selectOldestMonths, [tables])
}

const addMonthsStatement = sql<unknown>`
select maintain_month_partitions($1::text, $2::text, $3::timestamptz, '-infinity')`

/** Adds the partitions that are missing from this month on, and drops none. Triggers of other moves do not fire. */
export async function addMonths(tx: Tx, { table, key, begins }: OldestMonth): Promise<void> {
  await tx.script(`${COPYING};\n${SHORT_LOCKS}`)
  await tx.query(addMonthsStatement, [table, key, begins])
}
