// Composes the databases for `cowry archive`: one connection to each cell, beside running services.

import { join } from 'node:path'
import { ArchiveRefused } from '../archive/refusal.ts'
import { archiveMonths, compactTables, listFiles, monthsBefore } from '../archive/run.ts'
import type { ArchivedMonth, ArchiveOptions, RegisteredFile } from '../cli/shell.ts'
import { CommandError } from '../cli/terminal.ts'
import type { Config } from '../config.ts'
import type { Cells } from '../kit/cells/cells.ts'
import { systemClock } from '../kit/clock.ts'
import { findRunningPostgres } from '../kit/embedded-postgres.ts'
import { createLog, errorFields } from '../kit/observability/log.ts'
import { systemRandom } from '../kit/random.ts'
import { openCells } from './cells.ts'
import { COMMAND, openDatabase } from './database.ts'
import type { Stops } from './parts.ts'

/** Runs the work with the cells of the settings, of a running service or of a stopped one. */
async function withCells<Result>(config: Config, work: (cells: Cells) => Promise<Result>): Promise<Result> {
  const stops: Stops = []
  const [clock, log] = [systemClock, createLog('warn')]
  try {
    const databaseUrl = config.databaseUrl ?? findRunningPostgres(join(config.dataDir, 'postgres')) ?? null
    const own = { ...config, databaseUrl, poolSize: 1 }
    const db = await openDatabase(own, COMMAND, log, stops)
    return await work(
      await openCells({ config: own, clock, log, random: systemRandom(clock), db, stops }, COMMAND),
    )
  } finally {
    for (const stop of stops.reverse())
      await stop().catch((error: unknown) => log.write('service.stop_failed', errorFields(error)))
  }
}

export function runArchive(config: Config, options: ArchiveOptions): Promise<ArchivedMonth[]> {
  const before = options.before ?? boundaryOf(config)
  return withCells(config, async (cells) => {
    const done: ArchivedMonth[] = []
    for (const number of chosenCells(cells, options.cell)) {
      const [db, cell] = [cells.open(number), cells.nameOf(number)]
      const { dir, exportOnly, onProgress } = options
      const run = {
        db,
        clock: systemClock,
        cell,
        dir,
        before,
        exportOnly,
        onProgress: inCell(cell, onProgress),
      }
      const months = await archiveMonths(run).catch(refused)
      if (options.compact && !exportOnly) await compactTables(db, run.onProgress)
      done.push(...months.map((month) => ({ cell, ...month })))
    }
    return done
  })
}

const inCell = (cell: string, onProgress: (line: string) => void) => (line: string) =>
  onProgress(`${cell}: ${line}`)

function boundaryOf({ archiveAfterMonths }: Config): Date {
  if (archiveAfterMonths === null)
    throw new CommandError(
      'no_boundary',
      'Name the first month that stays with --before, or set COWRY_ARCHIVE_AFTER_MONTHS.',
    )
  return monthsBefore(systemClock.now(), archiveAfterMonths)
}

function chosenCells(cells: Cells, name: string | undefined): number[] {
  const numbers = cells.numbers.filter((number) => name === undefined || cells.nameOf(number) === name)
  if (numbers.length === 0) throw new CommandError('cell_not_found', `There is no cell ${name}.`)
  return numbers
}

function refused(error: unknown): never {
  if (error instanceof ArchiveRefused) throw new CommandError('archive_refused', error.message)
  throw error
}

export function listAllArchives(config: Config): Promise<RegisteredFile[]> {
  return withCells(config, async (cells) => {
    const files: RegisteredFile[] = []
    for (const number of cells.numbers)
      for (const { before, bytes, rows, droppedRows, ...row } of await listFiles(cells.open(number))) {
        const counts = { bytes: Number(bytes), rows: Number(rows), droppedRows: Number(droppedRows) }
        files.push({ cell: cells.nameOf(number), before: before.toISOString(), ...row, ...counts })
      }
    return files
  })
}
