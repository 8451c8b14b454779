// Deletes what an archive contains. The files are read again, and a row is deleted only if it equals its line.

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../kit/clock.ts'
import { dropBatch, type WantedRow } from './drop-queries.ts'
import { type ArchiveJob, folderOf } from './export.ts'
import { type Cells, readFile } from './file.ts'
import { readManifest } from './manifest.ts'
import { ArchiveRefused } from './refusal.ts'
import {
  type ArchiveRow,
  countTransactionsBefore,
  databaseTime,
  finishArchive,
  listArchives,
  sealMerchants,
} from './register-queries.ts'
import { ARCHIVED_TABLES, type ArchivedTable, columnNames, digestedText, keyNames, TABLES } from './tables.ts'
import { problemOf } from './verify.ts'

export interface DroppedTable {
  table: ArchivedTable
  rows: number
  /** Rows that stay, because an event was replayed since. */
  kept: number
}

type DropJob = ArchiveJob & { clock: Clock }

/** Deletes the rows of every table that is not dropped yet. */
export async function dropArchive(job: DropJob): Promise<DroppedTable[]> {
  const archives = (await listArchives(job.db)).filter(
    ({ before }) => before.getTime() === job.before.getTime(),
  )
  if (archives.every(({ state }) => state === 'dropped')) return []
  await seal(job, await requireIntact(job, archives))
  const dropped: DroppedTable[] = []
  for (const table of ARCHIVED_TABLES) {
    const archive = archives.find((one) => one.table === table)
    if (archive?.state === 'exported') dropped.push(await dropTable(job, archive))
  }
  return dropped
}

/** The files must be those that were registered, and as their manifest says. Returns the merchants in them. */
async function requireIntact(job: ArchiveJob, archives: readonly ArchiveRow[]): Promise<string[]> {
  const folder = folderOf(job)
  const { files } = await readManifest(folder).catch((error: unknown) => {
    throw new ArchiveRefused(`${folder} has no manifest that can be read.`, { cause: error })
  })
  const merchants = new Set<string>()
  for (const { table, sha256 } of archives) {
    const at = columnNames(table).indexOf('merchant_id')
    const entry = files.find((file) => file.table === table)
    const problem =
      entry?.sha256 === sha256
        ? await problemOf(folder, entry, (cells) => merchants.add(cells[at] ?? ''))
        : 'It is not the file that was registered.'
    if (problem !== null) throw new ArchiveRefused(`${folder}: ${table}: ${problem} Nothing was deleted.`)
  }
  return [...merchants]
}

const POLL_MS = 200
const MAX_POLLS = 300

/** A replay of an event that began before the boundary was known may still be running. */
async function seal(job: DropJob, merchants: readonly string[]): Promise<void> {
  await sealMerchants(job.db, merchants, job.before)
  const sealedAt = await databaseTime(job.db)
  for (let polls = 0; (await countTransactionsBefore(job.db, sealedAt)) > 0; polls += 1) {
    if (polls === MAX_POLLS)
      throw new ArchiveRefused('A transaction of the service has not ended for a minute.')
    await job.clock.sleep(POLL_MS)
  }
}

// One statement deletes so many rows, within some tens of milliseconds.
const BATCH_ROWS = 1_000

async function dropTable(job: ArchiveJob, archive: ArchiveRow): Promise<DroppedTable> {
  const { table, before } = archive
  let dropped = Number(archive.droppedRows)
  for await (const batch of batchesOf(table, join(job.dir, archive.file))) {
    dropped += await dropBatch(job.db, before, table, batch)
    job.onProgress(`${table}: ${dropped} of ${archive.rows} rows deleted`)
  }
  await finishArchive(job.db, before, table, job.now)
  return { table, rows: dropped, kept: Number(archive.rows) - dropped }
}

async function* batchesOf(table: ArchivedTable, path: string): AsyncGenerator<WantedRow[]> {
  const columns = columnNames(table)
  const { together } = TABLES[table]
  let batch: WantedRow[] = []
  for await (const cells of readFile(path, columns)) {
    const row = wantedOf(table, columns, cells)
    const isNext = together === undefined || row[together] !== batch.at(-1)?.[together]
    if (batch.length >= BATCH_ROWS && isNext) {
      yield batch
      batch = []
    }
    batch.push(row)
  }
  if (batch.length > 0) yield batch
}

function wantedOf(table: ArchivedTable, columns: readonly string[], cells: Cells): WantedRow {
  const key = keyNames(table).map((name) => [name, cells[columns.indexOf(name)] ?? null] as const)
  const digest = createHash('md5').update(digestedText(table, cells)).digest('hex')
  return { ...Object.fromEntries(key), digest }
}
