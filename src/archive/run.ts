// Archives the closed months of one cell, the oldest first. Killed at any step, it goes on from there when it runs again.

import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { type DroppedTable, dropArchive } from './drop.ts'
import { exportArchive } from './export.ts'
import { withLock } from './lock-queries.ts'
import { ArchiveRefused } from './refusal.ts'
import {
  type ArchiveRow,
  hasMovingMerchant,
  listArchives,
  readHistoryClock,
  readMerchants,
} from './register-queries.ts'
import { ARCHIVED_TABLES } from './tables.ts'

export interface ArchiveRun {
  db: Db
  clock: Clock
  cell: string
  dir: string
  before: Date
  /** Writes the files of one month, and deletes nothing. */
  exportOnly: boolean
  onProgress(line: string): void
}

export interface ArchivedMonth {
  before: string
  dropped: DroppedTable[]
}

export function archiveMonths(run: ArchiveRun): Promise<ArchivedMonth[]> {
  return withLock(run.db, () => archiveLocked(run))
}

async function archiveLocked(run: ArchiveRun): Promise<ArchivedMonth[]> {
  const { now, unfoldedSince } = await readHistoryClock(run.db)
  if (run.before > monthsBefore(now, 1))
    throw new ArchiveRefused('The last whole month before this one stays.')
  if (unfoldedSince !== null && unfoldedSince < run.before)
    throw new ArchiveRefused('Postings of these months are in no balance yet: let the service fold them.')
  const done: ArchivedMonth[] = []
  for (const before of await openMonths(run)) {
    const job = { ...run, before, now }
    await requireNoMove(run.db)
    run.onProgress(`before ${before.toISOString().slice(0, 7)}`)
    await exportArchive(job)
    const dropped = run.exportOnly ? [] : await dropArchive(job)
    done.push({ before: before.toISOString(), dropped })
    if (run.exportOnly) break
    await makeSpaceReusable(run.db)
  }
  return done
}

/** A cell has a copy of a merchant that works in another cell, until its move has ended. */
async function requireNoMove(db: Db): Promise<void> {
  if (await hasMovingMerchant(db))
    throw new ArchiveRefused('A merchant is being moved from or to this cell: wait until its move has ended.')
}

/** The ends of the months that are not archived yet, up to the named one. One that is exported but not dropped goes first. */
async function openMonths({ db, before }: ArchiveRun): Promise<Date[]> {
  const oldest = await oldestEvent(db, before)
  const archives = await listArchives(db)
  const isDropped = (month: Date) =>
    archives.some((one) => one.before.getTime() === month.getTime() && one.state === 'dropped') &&
    archives.every((one) => one.before.getTime() !== month.getTime() || one.state === 'dropped')
  const months = archives.filter((one) => !isDropped(one.before)).map((one) => one.before.getTime())
  for (let month = monthsBefore(oldest, -1); month <= before; month = monthsBefore(month, -1))
    months.push(month.getTime())
  return [...new Set(months)]
    .toSorted((one, other) => one - other)
    .map((time) => new Date(time))
    .filter((month) => month <= before && !isDropped(month))
}

async function oldestEvent(db: Db, before: Date): Promise<Date> {
  let found = before
  for await (const { oldest } of readMerchants(db)) if (oldest !== null && oldest < found) found = oldest
  return found
}

/** The beginning of the month, in UTC, so many months before that of the time. */
export function monthsBefore(time: Date, months: number): Date {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() - months, 1))
}

const TABLES = [...ARCHIVED_TABLES, 'ledger_entries']

/** New rows take the place of those that were deleted. The tables do not become smaller. */
async function makeSpaceReusable(db: Db): Promise<void> {
  for (const table of TABLES) await runVacuum(db, `vacuum (analyze) ${table}`)
}

/** The handle has one connection, so the setting is that of the next statement. A lock is still waited for briefly only. */
async function runVacuum(db: Db, text: string): Promise<void> {
  await db.script('set statement_timeout = 0')
  try {
    await db.script(text)
  } finally {
    await db.script('reset statement_timeout')
  }
}

/** Gives the space back to the file system. Each table is locked while it is written again. */
export async function compactTables(db: Db, onProgress: (line: string) => void): Promise<void> {
  for (const table of TABLES) {
    await runVacuum(db, `vacuum (full, analyze) ${table}`)
    onProgress(`${table}: compacted`)
  }
}

export function listFiles(db: Db): Promise<ArchiveRow[]> {
  return listArchives(db)
}
