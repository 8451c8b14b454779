// Writes the files of an archive, reads them back, and registers them.

import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { uuidV7 } from '../core/ids.ts'
import { addMs } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { type Cells, writeFile } from './file.ts'
import { makeFolder, syncFolder } from './folder.ts'
import { requireLock } from './lock-queries.ts'
import { describeFile, type FileEntry, writeManifest } from './manifest.ts'
import { readPages } from './page-queries.ts'
import { ArchiveRefused } from './refusal.ts'
import { type ArchiveRow, listArchives, readMerchants, saveArchive } from './register-queries.ts'
import { ARCHIVED_TABLES, type ArchivedTable, columnNames } from './tables.ts'

export interface ArchiveJob {
  db: Db
  /** The name of the cell. */
  cell: string
  before: Date
  /** Where archives are; each has its own folder in it. */
  dir: string
  now: Date
  onProgress(line: string): void
}

/** Such as west-1/before-2026-01, below the folder of all archives. */
const nameOf = ({ cell, before }: ArchiveJob) => join(cell, `before-${before.toISOString().slice(0, 7)}`)
export const folderOf = (job: ArchiveJob) => join(job.dir, nameOf(job))

// Payments and entries that ended long after they were made are looked for so far back before the last archive.
const LOOK_BACK_MS = 92 * 24 * 3_600_000

/** Makes the files that are not registered yet. */
export async function exportArchive(job: ArchiveJob): Promise<void> {
  const { db, before } = job
  const folder = folderOf(job)
  if ((await listRegistered(job)).length === ARCHIVED_TABLES.length) return
  await makeFolder(folder, job.dir)
  const files: FileEntry[] = []
  for (const table of ARCHIVED_TABLES) files.push(await exportTable(job, folder, table))
  await requireReplaceable(job)
  for (const { file } of files) await rename(join(folder, partOf(file)), join(folder, file))
  await writeManifest(folder, { format: 1, cell: job.cell, before: before.toISOString(), files })
  await syncFolder(folder)
  for (const { table, file, sha256, bytes, rows } of files) {
    const counts = { bytes: BigInt(bytes), rows: BigInt(rows) }
    await saveArchive(db, { before, table, file: join(nameOf(job), file), sha256, ...counts }, job.now)
  }
}

async function listRegistered({ db, before }: ArchiveJob): Promise<ArchiveRow[]> {
  return (await listArchives(db)).filter((row) => row.before.getTime() === before.getTime())
}

/** A connection that was lost has lost the lock too, and another run may have deleted what its files contain. */
async function requireReplaceable(job: ArchiveJob): Promise<void> {
  await requireLock(job.db)
  if ((await listRegistered(job)).some(({ state, droppedRows }) => state === 'dropped' || droppedRows > 0n))
    throw new ArchiveRefused(`Another run has archived ${nameOf(job)}.`)
}

/** A file has its own name only when every file of the archive is complete. */
const partOf = (file: string) => `${file}.part`

async function exportTable(job: ArchiveJob, folder: string, table: ArchivedTable): Promise<FileEntry> {
  const file = `${table}.csv.gz`
  const written = { rows: 0 }
  await writeFile(join(folder, partOf(file)), columnNames(table), counted(readAll(job, table), written))
  const entry = { ...(await describeFile(folder, table, partOf(file))), file }
  if (entry.rows !== written.rows) throw new Error(`${file} has ${entry.rows} rows, not ${written.rows}`)
  job.onProgress(`${table}: ${entry.rows} rows, ${entry.bytes} bytes written`)
  return entry
}

async function* counted(pages: AsyncIterable<Cells[]>, written: { rows: number }): AsyncGenerator<Cells[]> {
  for await (const rows of pages) {
    written.rows += rows.length
    yield rows
  }
}

async function* readAll({ db, before }: ArchiveJob, table: ArchivedTable): AsyncGenerator<Cells[]> {
  for await (const { id, archivedBefore } of readMerchants(db)) {
    const fromId = archivedBefore === null ? idAt(new Date(0)) : idAt(addMs(archivedBefore, -LOOK_BACK_MS))
    yield* readPages(db, table, { merchantId: id, before, fromId, beforeId: idAt(before) })
  }
}

const idAt = (time: Date) => uuidV7(time, new Uint8Array(10))
