// cowry archive …: writes finished history to files, deletes it from the database, and checks the files.

import { type Command, InvalidArgumentError } from 'commander'
import { verifyArchives } from '../../archive/verify.ts'
import { type JsonOption, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError, renderTable } from '../terminal.ts'

interface RunOptions extends JsonOption {
  dir: string
  before?: Date
  cell?: string
  exportOnly?: boolean
  compact?: boolean
}

export function addArchiveCommands(program: Command, shell: Shell): void {
  const archive = program
    .command('archive')
    .description('Write finished history to files and delete it from the database.')
  addRun(archive, shell)
  addList(archive, shell)
  addVerify(archive, shell)
}

function addRun(archive: Command, shell: Shell): void {
  withJson(archive.command('run'))
    .description(
      'Archive whole months: events, statement lines, settlements, and moves but the last of each payment. Files are written and read back before anything is deleted. It is safe beside a running service; after an interruption run it again.',
    )
    .requiredOption('--dir <folder>', 'where the archives are; keep copies of it')
    .option(
      '--before <month>',
      'the first month that stays, as YYYY-MM (default: by COWRY_ARCHIVE_AFTER_MONTHS)',
      month,
    )
    .option('--cell <name>', 'only this cell')
    .option('--export-only', 'write the files of the oldest month, and delete nothing yet')
    .option('--compact', 'give the space back to the file system: locks each table while it is written again')
    .action(async ({ json, dir, before, cell, exportOnly = false, compact = false }: RunOptions) => {
      const onProgress = (line: string) => void (json || shell.terminal.err(`${line}\n`))
      const options = { dir, before, cell, exportOnly, compact, onProgress }
      const months = await shell.entryPoints.archive(shell.env, options)
      const count = months.length === 1 ? '1 month was' : `${months.length} months were`
      const message = `${count} ${exportOnly ? 'exported' : 'archived'}.`
      const rows = months.flatMap(({ cell: name, before: end, dropped }) =>
        dropped.map(({ table, rows: count, kept }) => [name, end.slice(0, 7), table, `${count}`, `${kept}`]),
      )
      shell.show({ status: 'success', message, data: months }, { json }, () =>
        [renderTable(['CELL', 'BEFORE', 'TABLE', 'DELETED', 'KEPT'], rows), `${message}\n`].join('\n'),
      )
    })
}

function month(text: string): Date {
  const time = new Date(`${text}-01T00:00:00Z`)
  if (!/^\d{4}-\d{2}$/.test(text) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('It must be a month, such as 2026-01.')
  return time
}

function addList(archive: Command, shell: Shell): void {
  withJson(archive.command('list'))
    .description('List the files of the archives, and how far they are.')
    .action(async (options: JsonOption) => {
      const files = await shell.entryPoints.listArchives(shell.env)
      const message = `${files.length} files.`
      shell.show({ status: 'success', message, data: files }, options, () =>
        renderTable(
          ['FILE', 'STATE', 'ROWS', 'DELETED', 'BYTES'],
          files.map(({ file, state, rows, droppedRows, bytes }) => [
            ...[file, state, String(rows), String(droppedRows)],
            String(bytes),
          ]),
        ),
      )
    })
}

function addVerify(archive: Command, shell: Shell): void {
  withJson(archive.command('verify'))
    .description(
      'Check the files of archives against their manifests, without the database. Exits with 1 if one differs.',
    )
    .argument('<folder>', 'the folder of all archives, or of one')
    .action(async (folder: string, options: JsonOption) => {
      const files = await verifyArchives(folder).catch((error: Error) => {
        throw new CommandError('invalid_folder', `The folder cannot be read: ${error.message}`)
      })
      const bad = files.filter(({ problem }) => problem !== null)
      const message = `${files.length - bad.length} of ${files.length} files are as their manifest says.`
      const table = renderTable(
        ['FOLDER', 'FILE', 'ROWS', 'RESULT'],
        files.map((file) => [file.folder, file.file, String(file.rows), file.problem ?? 'ok']),
      )
      const envelope = { status: 'success' as const, message, data: files }
      if (bad.length > 0 || files.length === 0)
        throw new CommandError('archive_damaged', `${table}\n${message}`, {
          ...envelope,
          status: 'error',
          error: { code: 'archive_damaged' },
        })
      shell.show(envelope, options, () => `${table}\n${message}\n`)
    })
}
