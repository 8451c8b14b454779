// The statements in a cell that record the changes of a merchant that is moved, and that let its writes wait for the switch.

import { ADVISORY_LOCKS } from '../../kit/db/advisory-locks.ts'
import { sql, type Tx } from '../../kit/db/db.ts'
import { isLateOnly, type MovedTable } from './tables.ts'

/**
 * For a session that copies: no trigger fires and no foreign key is checked, times are written alike by every server, rows
 * are read in their order, and a statement may take long.
 */
export const COPYING = `
set local session_replication_role = replica;
set local timezone = 'UTC';
set local datestyle = 'ISO, YMD';
set local intervalstyle = 'postgres';
set local extra_float_digits = 1;
set local max_parallel_workers_per_gather = 0;
set local statement_timeout = 0`

/** While writes wait, nothing may take long; if this process stalls, the server ends the transaction, and they go on. */
export const SWITCHING = `
set local lock_timeout = 300;
set local idle_in_transaction_session_timeout = 1000`

const saveStateStatement = sql<{ isNew: boolean }>`
insert into moving_merchants as m (merchant_id, state, fence)
values ($1, $2, $3)
on conflict (merchant_id) do update
set state = excluded.state, fence = excluded.fence
where m.fence <= excluded.fence
returning xmax = 0 as "isNew"`

export type MovingState = 'outgoing' | 'closing' | 'gone' | 'incoming'

export interface Guarded {
  merchantId: string
  fence: number
}

/** `new`: the merchant had no state in the cell. `refused`: a later run has begun. */
export async function saveMovingState(
  db: Tx,
  { merchantId, fence }: Guarded,
  state: MovingState,
): Promise<'new' | 'changed' | 'refused'> {
  const [saved] = await db.query(saveStateStatement, [merchantId, state, fence])
  if (!saved) return 'refused'
  return saved.isNew ? 'new' : 'changed'
}

const closeStatement = sql<unknown>`
update moving_merchants
set state = 'closing'
where merchant_id = $1 and fence = $2
returning 1`

/** False if a later run has begun, or has ended the move. */
export async function closeMerchant(tx: Tx, { merchantId, fence }: Guarded): Promise<boolean> {
  return (await tx.query(closeStatement, [merchantId, fence])).length > 0
}

const lockStateStatement = sql<unknown>`
select
from moving_merchants
where merchant_id = $1 and state = $2 and fence = $3
for update`

/** False if the merchant has another state by now, or if a later run has begun. */
export async function lockMovingState(
  tx: Tx,
  { merchantId, fence }: Guarded,
  state: MovingState,
): Promise<boolean> {
  return (await tx.query(lockStateStatement, [merchantId, state, fence])).length > 0
}

const lockFenceStatement = sql<{ isLater: boolean }>`
select fence > $2 as "isLater"
from moving_merchants
where merchant_id = $1
for update`

/** False if a later run has begun. The merchant may have no state in the cell any more. */
export async function lockFence(tx: Tx, { merchantId, fence }: Guarded): Promise<boolean> {
  return !(await tx.query(lockFenceStatement, [merchantId, fence]))[0]?.isLater
}

const lockWritesStatement = sql<unknown>`
select pg_advisory_xact_lock(${ADVISORY_LOCKS.movingMerchant}, hashtext($1))`

/** Waits for the transactions that have written for the merchant, and lets later ones wait. */
export async function lockWrites(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(lockWritesStatement, [merchantId])
}

export interface Change {
  id: bigint
  table: string
  key: Record<string, unknown>
}

const selectChanges = sql<Change>`
select id, table_name as "table", key
from move_changes
where merchant_id = $1
order by id
limit $2`

export function listChanges(db: Tx, merchantId: string, limit: number): Promise<Change[]> {
  return db.query(selectChanges, [merchantId, limit])
}

const selectUnrecorded = sql<{ key: string }>`
select key
from unnest($3::text[]) key
where key::jsonb not in (select c.key from move_changes c where c.merchant_id = $1 and c.table_name = $2)`

/** Those of the keys without a change. */
export async function listUnrecorded(
  db: Tx,
  merchantId: string,
  table: string,
  keys: readonly string[],
): Promise<string[]> {
  return (await db.query(selectUnrecorded, [merchantId, table, keys])).map(({ key }) => key)
}

const deleteChangesStatement = sql<unknown>`
delete from move_changes
where merchant_id = $1 and id = any ($2::bigint[])`

export async function deleteChanges(db: Tx, merchantId: string, ids: readonly bigint[]): Promise<void> {
  await db.query(deleteChangesStatement, [merchantId, ids])
}

// The changes that a later run needs stay.
const deleteStateStatement = sql<unknown>`
with ended as (
  delete from moving_merchants
  where merchant_id = $1 and fence = $2
  returning merchant_id
)
delete from move_changes
where merchant_id = $1 and exists (select from ended)`

/** Once the move has ended. Does nothing if a later run has begun. */
export async function deleteMovingState(db: Tx, { merchantId, fence }: Guarded): Promise<void> {
  await db.query(deleteStateStatement, [merchantId, fence])
}

const selectGuards = sql<{ table: string }>`
select c.relname as "table"
from pg_trigger t
join pg_class c on c.oid = t.tgrelid
where t.tgname = $1 and t.tgparentid = 0 and c.relnamespace = current_schema()::regnamespace`

const writeGuard = (merchantId: string) => `moving_${merchantId}`
const deleteGuard = (merchantId: string) => `moving_${merchantId}_delete`

export async function listGuarded(db: Tx, merchantId: string): Promise<string[]> {
  return (await db.query(selectGuards, [deleteGuard(merchantId)])).map(({ table }) => table)
}

// Waits for the writers of the table, and they wait for it; so it gives up soon, and is tried again.
export const SHORT_LOCKS = 'set local lock_timeout = 200'

/** After it, no transaction is left that has written without the guard. */
export async function addGuard(tx: Tx, table: MovedTable, merchantId: string): Promise<void> {
  const { name, key } = table
  const columns = isLateOnly(table) ? [] : key.map((column) => column.name)
  const args = [merchantId, name, ...columns].map((one) => `'${one}'`).join(', ')
  const run = `for each row when (%.merchant_id = '${merchantId}') execute function guard_moving_merchant(${args})`
  await tx.script(`${SHORT_LOCKS};
create or replace trigger "${writeGuard(merchantId)}" before insert or update on ${name} ${run.replace('%', 'new')};
create or replace trigger "${deleteGuard(merchantId)}" before delete on ${name} ${run.replace('%', 'old')}`)
}

export async function dropGuard(tx: Tx, table: string, merchantId: string): Promise<void> {
  await tx.script(`${SHORT_LOCKS};
drop trigger if exists "${writeGuard(merchantId)}" on ${table};
drop trigger if exists "${deleteGuard(merchantId)}" on ${table}`)
}

const selectIsDistributed = sql<{ is: boolean }>`
select current_setting('citus.propagate_set_commands', true) is not null as is`

export async function isDistributed(db: Tx): Promise<boolean> {
  return (await db.query(selectIsDistributed))[0]?.is ?? false
}
