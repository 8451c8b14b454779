// The statements by which a cell refuses the merchants that have left it, for as long as they are elsewhere.

import { sql, type Tx } from '../../kit/db/db.ts'
import { SHORT_LOCKS } from './guard-queries.ts'
import type { MovedTable } from './tables.ts'

const saveStatement = sql<unknown>`
insert into departed_merchants (merchant_id, departed_at)
values ($1, $2)
on conflict (merchant_id) do nothing`

export async function saveDeparted(cell: Tx, merchantId: string, now: Date): Promise<void> {
  await cell.query(saveStatement, [merchantId, now])
}

const GUARD = 'departed_merchant'

// A foreign key whose columns are never null needs another row of the merchant, which is deleted with the copy.
const selectUnguarded = sql<{ table: string }>`
select c.relname as "table"
from pg_class c
where c.relnamespace = current_schema()::regnamespace
  and c.relname = any ($1::text[])
  and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = '${GUARD}')
  and not exists (
    select
    from pg_constraint k
    join pg_class p on p.oid = k.confrelid and p.relname = any ($1::text[])
    where k.conrelid = c.oid and k.contype = 'f' and p.oid <> c.oid
      and not exists (
        select
        from pg_attribute a
        where a.attrelid = c.oid and a.attnum = any (k.conkey) and not a.attnotnull
      )
  )
order by c.relname`

// The instance has the keys of its own operations for every merchant. A key does nothing by itself. Postings need their
// entry, by a trigger.
const NEED_NO_GUARD: ReadonlySet<string> = new Set(['idempotency_keys', 'postings'])

/** The tables that take rows of a merchant without other rows, and do not refuse those that have left yet. */
export async function listUnguarded(cell: Tx, tables: readonly MovedTable[]): Promise<string[]> {
  const names = tables.map(({ name }) => name).filter((name) => !NEED_NO_GUARD.has(name))
  return (await cell.query(selectUnguarded, [names])).map(({ table }) => table)
}

export async function addDepartedGuard(tx: Tx, table: string): Promise<void> {
  await tx.script(`${SHORT_LOCKS};
create or replace trigger ${GUARD} before insert on ${table} for each row execute function refuse_departed_merchant()`)
}
