// The register of archives, and what an archive needs to know before it is made.

import { type Db, sql } from '../kit/db/db.ts'
import type { ArchivedTable } from './tables.ts'

export interface ArchiveRow {
  before: Date
  table: ArchivedTable
  state: 'exported' | 'dropped'
  file: string
  sha256: string
  bytes: bigint
  rows: bigint
  droppedRows: bigint
}

const ARCHIVE_COLUMNS = `
before, table_name as "table", state, file, sha256, bytes, rows, dropped_rows as "droppedRows"`

const selectArchives = sql<ArchiveRow>`
select ${ARCHIVE_COLUMNS}
from archives
order by before, table_name`

export function listArchives(db: Db): Promise<ArchiveRow[]> {
  return db.query(selectArchives)
}

const insertArchive = sql<unknown>`
insert into archives (before, table_name, file, sha256, bytes, rows, exported_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (before, table_name) do update
set
  file = excluded.file,
  sha256 = excluded.sha256,
  bytes = excluded.bytes,
  rows = excluded.rows,
  exported_at = excluded.exported_at
where archives.state = 'exported' and archives.dropped_rows = 0
returning 1`

/** Registers a file that was written and read back. A file from which rows were deleted is never replaced. */
export async function saveArchive(
  db: Db,
  { before, table, file, sha256, bytes, rows }: Omit<ArchiveRow, 'state' | 'droppedRows'>,
  at: Date,
): Promise<void> {
  const saved = await db.query(insertArchive, [before, table, file, sha256, bytes, rows, at])
  if (saved.length === 0) throw new Error(`rows of ${file} were deleted already`)
}

const finishStatement = sql<unknown>`
update archives
set state = 'dropped', dropped_at = $3
where before = $1 and table_name = $2
returning 1`

export async function finishArchive(db: Db, before: Date, table: ArchivedTable, at: Date): Promise<void> {
  await db.query(finishStatement, [before, table, at])
}

export interface ArchivedMerchant {
  id: string
  archivedBefore: Date | null
  /** The time of its first event that is not archived. */
  oldest: Date | null
}

const selectMerchants = sql<ArchivedMerchant>`
select
  m.id, (select archived_before from archive_boundaries a where a.merchant_id = m.id) as "archivedBefore",
  (select created_at from events e where e.merchant_id = m.id order by created_at limit 1) as oldest
from merchants m
where m.id > $1
order by m.id
limit 1000`

const FIRST_ID = '00000000-0000-0000-0000-000000000000'

export async function* readMerchants(db: Db): AsyncGenerator<ArchivedMerchant> {
  let after = FIRST_ID
  for (;;) {
    const rows = await db.query(selectMerchants, [after])
    yield* rows
    const last = rows.at(-1)
    if (!last) return
    after = last.id
  }
}

const selectClock = sql<HistoryClock>`
select
  statement_timestamp() as now, (select at from balance_deltas order by id limit 1) as "unfoldedSince"`

export interface HistoryClock {
  /** The time of the database. */
  now: Date
  /** The time of the first posting that is in no balance yet. */
  unfoldedSince: Date | null
}

export async function readHistoryClock(db: Db): Promise<HistoryClock> {
  const [row] = await db.query(selectClock)
  if (!row) throw new Error('the clock of the history returned no row')
  return row
}

const selectMoving = sql<{ isMoving: boolean }>`
select exists (select from moving_merchants) as "isMoving"`

/** Whether a merchant is moved from or to this cell. */
export async function hasMovingMerchant(db: Db): Promise<boolean> {
  const [row] = await db.query(selectMoving)
  return row?.isMoving ?? false
}

const sealStatement = sql<unknown>`
with known as (
  select id
  from merchants
  where id = any ($1::uuid[])
)
insert into archive_boundaries as a (merchant_id, archived_before)
select id, $2::timestamptz
from known
on conflict (merchant_id) do update
set archived_before = greatest(a.archived_before, excluded.archived_before)
returning 1`

/** From now on no event before the boundary is replayed. A merchant that was moved since the export is left out. */
export async function sealMerchants(db: Db, merchantIds: readonly string[], before: Date): Promise<void> {
  await db.query(sealStatement, [merchantIds, before])
}

const selectSealTime = sql<{ at: string }>`select clock_timestamp()::text as at`

const selectRunning = sql<{ running: number }>`
select count(*)::integer as running
from pg_stat_activity
where datname = current_database()
  and application_name = 'cowry'
  and pid <> pg_backend_pid()
  and xact_start < $1::timestamptz`

/** The time of the database, as it writes it. */
export async function databaseTime(db: Db): Promise<string> {
  const [row] = await db.query(selectSealTime)
  return row?.at ?? 'now'
}

/** How many transactions of the service began before this time. */
export async function countTransactionsBefore(db: Db, at: string): Promise<number> {
  const [row] = await db.query(selectRunning, [at])
  return row?.running ?? 0
}
