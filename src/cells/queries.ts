// Statements that register a cell: in the instance, and in the database of the cell, which says itself which cell it is.

import type { CellRow } from '../kit/cells/queries.ts'
import { ADVISORY_LOCKS } from '../kit/db/advisory-locks.ts'
import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow, requireRow } from '../kit/db/rows.ts'

const insertCellStatement = sql<unknown>`
insert into cells (number, name, sealed, state, created_at)
values ($1, $2, $3, $4, $5)`

export async function insertCell(tx: Tx, cell: CellRow): Promise<void> {
  const { number, name, sealed, state, createdAt } = cell
  await tx.query(insertCellStatement, [number, name, sealed, state, createdAt])
}

export interface OwnCell {
  number: number
  name: string
  /** Null in a cell that was added before instances had ids. */
  instanceId: string | null
}

const insertOwnCell = sql<unknown>`
insert into cells (number, name, sealed, state, created_at, instance_id)
values ($1, $2, '', $3, $4, $5)`

/** In the database of the cell, where the row has no URL. */
export async function saveOwnCell(cell: Tx, row: CellRow, instanceId: string): Promise<void> {
  const { number, name, state, createdAt } = row
  await cell.query(insertOwnCell, [number, name, state, createdAt, instanceId])
}

const selectOwnCell = sql<OwnCell>`
select number, name, instance_id as "instanceId"
from cells
order by number
limit 1`

/** Undefined in a database that is no cell. */
export async function readOwnCell(cell: Tx): Promise<OwnCell | undefined> {
  return firstRow(cell, selectOwnCell, [])
}

const selectOwnsTables = sql<{ ownsTables: boolean }>`
select not exists (
  select
  from pg_class
  where relnamespace = current_schema()::regnamespace
    and relkind in ('r', 'p')
    and not pg_has_role(relowner, 'usage')
) as "ownsTables"`

/** Whether the user has the rights of the owner of every table. */
export async function ownsTables(cell: Tx): Promise<boolean> {
  return requireRow(await cell.query(selectOwnsTables)).ownsTables
}

const saveInstanceStatement = sql<{ id: string }>`
insert into placement as p (is_only, epoch, instance_id)
values (true, 0, $1)
on conflict (is_only) do update
set instance_id = coalesce(p.instance_id, excluded.instance_id)
returning instance_id as id`

/** The id of the instance; the first caller gives it. */
export async function saveInstanceId(instance: Tx, id: string): Promise<string> {
  return requireRow(await instance.query(saveInstanceStatement, [id])).id
}

const selectInstance = sql<{ id: string | null }>`
select instance_id as id
from placement
where is_only`

/** Undefined in a database that was never the one of an instance. */
export async function readInstanceId(db: Tx): Promise<string | undefined> {
  return (await db.query(selectInstance))[0]?.id ?? undefined
}

interface Contents {
  /** Tables and views of the schema, except those of extensions. */
  hasTables: boolean
  isMigrated: boolean
  hasRegister: boolean
}

const selectContents = sql<Contents>`
select
  exists (
    select
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace
      and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
  ) as "hasTables",
  to_regclass('schema_migrations') is not null as "isMigrated",
  to_regclass('cells') is not null as "hasRegister"`

const selectHasMerchants = sql<{ hasMerchants: boolean }>`
select (select id from merchants order by id limit 1) is not null as "hasMerchants"`

const selectIsOwnCell = sql<{ isCell: boolean }>`
select exists (select from cells where sealed = '' and state <> 'removed') as "isCell"`

/** What is in a database that may be older than this version. */
export async function readContents(
  db: Tx,
): Promise<'nothing' | 'other tables' | 'no merchants' | 'a cell' | 'merchants'> {
  const { hasTables, isMigrated, hasRegister } = requireRow(await db.query(selectContents))
  if (!hasTables) return 'nothing'
  if (!isMigrated) return 'other tables'
  if (hasRegister && requireRow(await db.query(selectIsOwnCell)).isCell) return 'a cell'
  return requireRow(await db.query(selectHasMerchants)).hasMerchants ? 'merchants' : 'no merchants'
}

const lockRegister = sql<unknown>`select pg_advisory_xact_lock(${ADVISORY_LOCKS.cells})`
// One database may have several cells, each in a schema.
const ownSchema = `${ADVISORY_LOCKS.cells}, hashtext(coalesce(current_schema(), '') || $1::text)`
const lockSchema = sql<unknown>`select pg_advisory_xact_lock(${ownSchema})`
const tryLockSchema = sql<{ isFree: boolean }>`
select pg_try_advisory_xact_lock(${ownSchema}) as "isFree"`

const selectNextNumber = sql<{ number: number }>`
select coalesce(max(number), 0) + 1 as number
from cells`

/** The number of the next cell, for one caller at a time. */
export async function nextCellNumber(tx: Tx): Promise<number> {
  await tx.query(lockRegister)
  return requireRow(await tx.query(selectNextNumber)).number
}

/** In the database of the cell: for one caller at a time, of any instance. */
export async function lockClaims(cell: Tx): Promise<void> {
  await cell.query(lockSchema, [''])
}

const renumberStatement = sql<unknown>`
update cells
set number = $1
where sealed = ''`

/** The number of a cell that was not registered may have been given to another one. */
export async function renumberOwnCell(cell: Tx, number: number): Promise<void> {
  await cell.query(renumberStatement, [number])
}

/** Advisory locks are of one database. The mark is random, so that no other caller has the lock. */
export function isSameSchema(one: Db, other: Db, mark: string): Promise<boolean> {
  return one.transaction(async (tx) => {
    await tx.query(lockSchema, [mark])
    return !requireRow(await other.query(tryLockSchema, [mark])).isFree
  })
}

const lockCellStatement = sql<Pick<CellRow, 'state'>>`
select state
from cells
where number = $1
for update`

const removeStatement = sql<unknown>`
update cells
set state = 'removed', sealed = ''
where number = $1`

interface Use extends Pick<CellRow, 'state'> {
  hasMerchants: boolean
  /** Of merchants that go there or leave it, until the copy that is not used is deleted. */
  hasMoves: boolean
}

const selectUse = sql<Omit<Use, 'state'>>`
select
  (select merchant_id from merchant_cells where cell = $1 order by merchant_id limit 1) is not null as "hasMerchants",
  (
    select merchant_id from merchant_moves where step <> 'done' and $1 in (from_cell, to_cell) order by leased_until limit 1
  ) is not null as "hasMoves"`

/** Waits for merchants that are being placed in the cell. */
export async function readUse(tx: Tx, number: number): Promise<Use> {
  const { state } = requireRow(await tx.query(lockCellStatement, [number]))
  return { state, ...requireRow(await tx.query(selectUse, [number])) }
}

/** The row stays, without the URL. */
export async function markRemoved(tx: Tx, number: number): Promise<void> {
  await tx.query(removeStatement, [number])
}

const saveUrlStatement = sql<unknown>`
update cells
set sealed = $2
where number = $1 and state <> 'removed'
returning 1`

/** False if the cell was removed. */
export async function saveUrl(tx: Tx, number: number, sealed: string): Promise<boolean> {
  return (await tx.query(saveUrlStatement, [number, sealed])).length > 0
}

const identifyStatement = sql<unknown>`
update cells
set instance_id = $1
where sealed = '' and instance_id is null`

/** Of a cell that was added before instances had ids. */
export async function identifyOwnCell(cell: Tx, instanceId: string): Promise<void> {
  await cell.query(identifyStatement, [instanceId])
}
