// cowry cells …: the databases with the data of merchants.

import { text as readAll } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { MOST_DELAYED } from '../../cells/limits.ts'
import { readGivenFile } from '../given-file.ts'
import { type JsonOption, withJson } from '../options.ts'
import type { Shell } from '../shell.ts'
import { CommandError, type Envelope, renderRecord, renderTable } from '../terminal.ts'

interface Cell {
  name: string
  state: string
  merchants: number
  refused: string[]
  delayed: string[]
  waiting: string[]
  isKnown: boolean
  isUp: boolean
}

const URL_FILE =
  'a file with the URL of the database; - reads it from standard input, so that it is in no file and no shell history'

export function addCellCommands(program: Command, shell: Shell): void {
  const cells = program
    .command('cells')
    .description(
      'Manage the cells, which are the databases with the data of merchants, and move merchants between them.',
    )
  addAdd(cells, shell)
  addActivate(cells, shell)
  addList(cells, shell)
  addStatus(cells, shell)
  addMove(cells, shell)
  addDrain(cells, shell)
  addSetUrl(cells, shell)
  addRemove(cells, shell)
}

function addAdd(cells: Command, shell: Shell): void {
  withJson(cells.command('add'))
    .description(
      'Add an empty PostgreSQL database: it is migrated and registered. The user of its URL must own it, and be a member of the role cowry_merchant or be allowed to create it. Then start every process of the service again, and activate the cell.',
    )
    .argument('<name>', 'its name: lower-case letters, digits and hyphens')
    .requiredOption('--url-file <file>', URL_FILE)
    .option(
      '--citus',
      'the URL is of the coordinator of a Citus cluster, and the cell becomes a distributed schema there',
    )
    .action(async (name: string, options: JsonOption & { urlFile: string; citus?: true }) => {
      const url = (await readText(options.urlFile)).trim()
      const body = { name, url, isCitus: options.citus }
      const response = await shell.callOperator('POST', '/admin/v1/cells', body)
      shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
    })
}

function addActivate(cells: Command, shell: Shell): void {
  withJson(cells.command('activate'))
    .description(
      'Place new merchants in the cell. Every process must have been started since it was added; the message names one that was not.',
    )
    .argument('<name>', 'the name of the cell')
    .action(async (name: string, options: JsonOption) => {
      const path = `/admin/v1/cells/${encodeURIComponent(name)}/activate`
      const response = await shell.callOperator('POST', path)
      shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
    })
}

function addList(cells: Command, shell: Shell): void {
  withJson(cells.command('list'))
    .description(
      'List the cells, with their state, how many merchants they have (up to 100,000), and whether the process that answers can use them.',
    )
    .action(async (options: JsonOption) => {
      const response = await shell.callOperator('GET', '/admin/v1/cells')
      shell.show(response, options, () => render(cellsOf(response)))
    })
}

function addStatus(cells: Command, shell: Shell): void {
  withJson(cells.command('status'))
    .description(
      'Check that every cell takes statements, but for removed ones. Exits with 1 if one does not.',
    )
    .action(async (options: JsonOption) => {
      const response = await shell.callOperator('GET', '/admin/v1/cells')
      const down = downCells(response)
      const table = render(cellsOf(response))
      if (down.length > 0) throw cellsDown(table, response, down)
      shell.show(response, options, () => table)
    })
}

/** One that was removed is not expected to take statements. */
const downCells = (response: Envelope) =>
  cellsOf(response).filter(({ state, isUp }) => state !== 'removed' && !isUp)

interface Move {
  to: string
  step: 'copy' | 'clean' | 'done'
  copiedRows: number
  switchAttempts: number
  pauseMs: number | null
  problem: string | null
  isRefused: boolean
  isCancelled: boolean
}

interface MoveOptions extends JsonOption {
  to?: string
  keepSeconds?: string
  cancel?: true
}

// Often enough to watch, and rarely enough for the operators' API.
const WATCH_MS = 500

function addMove(cells: Command, shell: Shell): void {
  withJson(cells.command('move'))
    .description(
      'Move a merchant to another cell while it works, and wait until it works there. The old copy is deleted later. If the command is interrupted, the move goes on; run it again to watch it. With --cancel, cancels a move that has not switched.',
    )
    .argument('<merchant>', 'the UUID of the merchant')
    .option('--to <cell>', 'the name of an active cell, or main')
    .option(
      '--keep-seconds <seconds>',
      'how long the old copy is kept after the switch, at least 60 (default: 300)',
    )
    .addOption(
      new Option(
        '--cancel',
        'cancel a move that has not switched: the merchant stays where it is, and the copy is deleted; refused after the switch',
      ).conflicts(['to', 'keepSeconds']),
    )
    .action(async (merchant: string, options: MoveOptions, command: Command) => {
      if (options.to === undefined && !options.cancel) command.error('error: give --to <cell> or --cancel')
      const path = `/admin/v1/merchants/${encodeURIComponent(merchant)}/move`
      const response = await (options.cancel ? cancelMove : startMove)(shell, path, options)
      shell.show(response, options, () => renderRecord(response.data as Record<string, unknown>))
    })
}

async function startMove(shell: Shell, path: string, options: MoveOptions): Promise<Envelope> {
  const keep = options.keepSeconds === undefined ? {} : { keepSeconds: Number(options.keepSeconds) }
  const started = await shell.callOperator('POST', path, { cell: options.to, ...keep })
  const response = await watchMove(shell, path, started, options)
  if ((response.data as Move).isCancelled) throw moveCancelled(response)
  return response
}

async function cancelMove(shell: Shell, path: string, options: MoveOptions): Promise<Envelope> {
  const cancelled = await shell.callOperator('POST', `${path}/cancel`)
  return watchMove(shell, path, cancelled, options)
}

/** Prints a line whenever something has changed, until the merchant works in the new cell, or the copy is deleted. */
async function watchMove(
  shell: Shell,
  path: string,
  started: Envelope,
  { json }: JsonOption,
): Promise<Envelope> {
  let last = ''
  for (let response = started; ; response = await shell.callOperator('GET', path)) {
    const move = response.data as Move
    if (move.step !== 'copy') return response
    if (move.isRefused) throw moveRefused(response, move)
    const line = [progressOf(move), move.problem].filter(Boolean).join('; ')
    if (line !== last && !json) shell.terminal.err(`${line}\n`)
    last = line
    await shell.clock.sleep(WATCH_MS)
  }
}

function progressOf({ copiedRows, switchAttempts, isCancelled }: Move): string {
  if (isCancelled) return 'the copy is being deleted'
  const attempts = switchAttempts === 0 ? '' : `, ${switchAttempts} switches ended`
  return `${copiedRows} rows copied${attempts}`
}

function moveCancelled(response: Envelope): CommandError {
  const message = 'The merchant works in the old cell: the move was cancelled.'
  const envelope = { ...response, status: 'error' as const, message, error: { code: 'move_cancelled' } }
  return new CommandError('move_cancelled', message, envelope)
}

function moveRefused(response: Envelope, { problem }: Move): CommandError {
  const message = `The merchant works in the old cell, and is not moved: ${problem}.`
  const envelope = { ...response, status: 'error' as const, message, error: { code: 'move_refused' } }
  return new CommandError('move_refused', message, envelope)
}

function addDrain(cells: Command, shell: Shell): void {
  withJson(cells.command('drain'))
    .description(
      'Place no new merchants in a cell, move those that it has to the active cells, one after another, and wait until it has none, or only such as cannot be moved. It takes about 2 s for each merchant; one that was moved into the cell a moment ago waits until its old copy is deleted. If the command is interrupted, the moves go on.',
    )
    .argument('<name>', 'the name of the cell')
    .action(async (name: string, options: JsonOption) => {
      await shell.callOperator('POST', `/admin/v1/cells/${encodeURIComponent(name)}/drain`)
      await watchDrain(shell, name, options)
    })
}

/** So long a drain may stand still before the command ends; the job goes on. */
const DELAYED_POLLS = 30

async function watchDrain(shell: Shell, name: string, options: JsonOption): Promise<void> {
  let last = -1
  let lastLine = ''
  for (let delays = 0; ; ) {
    const response = await shell.callOperator('GET', '/admin/v1/cells')
    const cell = cellsOf(response).find((one) => one.name === name)
    if (!cell || cell.merchants === 0) return shell.show(response, options, () => render(cellsOf(response)))
    const { merchants, refused, delayed, isUp } = cell
    if (merchants <= refused.length) throw drainRefused(response, refused)
    const isBlocked = cellsOf(response).flatMap((one) => one.delayed).length >= MOST_DELAYED
    const isDelayed =
      merchants === last && (!isUp || isBlocked || merchants <= refused.length + delayed.length)
    delays = isDelayed ? delays + 1 : 0
    if (delays === DELAYED_POLLS) throw drainDelayed(response, cell)
    const line = leftOf(cell)
    if (line !== lastLine && !options.json) shell.terminal.err(`${line}\n`)
    lastLine = line
    last = merchants
    await shell.clock.sleep(WATCH_MS)
  }
}

/** A merchant that has just been moved into the cell holds the drain for minutes. */
function leftOf({ merchants, waiting }: Cell): string {
  const left = `${merchants} merchants left`
  if (waiting.length === 0) return left
  return `${left}; of these wait until the old copy of their last move is deleted: ${waiting.join(', ')}`
}

function drainDelayed(response: Envelope, { name, refused, delayed, isUp }: Cell): CommandError {
  const down = downCells(response)
  const sentences = [
    isUp ? `These merchants are not moved yet: ${delayed.join(', ')}.` : `${name} does not take statements.`,
    down.length > 0 && `Cells that do not take statements: ${down.map((cell) => cell.name).join(', ')}.`,
    refused.length > 0 && `These are not moved: ${refused.join(', ')}.`,
    'The job goes on. For the problem of a merchant, use cowry cells move.',
  ]
  const message = sentences.filter(Boolean).join(' ')
  const envelope = { ...response, status: 'error' as const, message, error: { code: 'drain_delayed' } }
  return new CommandError('drain_delayed', message, envelope)
}

function addSetUrl(cells: Command, shell: Shell): void {
  withJson(cells.command('set-url'))
    .description(
      'Change the URL of a cell, such as its host or its password. The database must be the same cell of this instance. Every process uses the new URL within seconds, without a restart.',
    )
    .argument('<name>', 'the name of the cell')
    .requiredOption('--url-file <file>', URL_FILE)
    .option('--citus', 'the URL is of the coordinator of a Citus cluster, as when the cell was added')
    .action(async (name: string, options: JsonOption & { urlFile: string; citus?: true }) => {
      const url = (await readText(options.urlFile)).trim()
      const path = `/admin/v1/cells/${encodeURIComponent(name)}/url`
      const response = await shell.callOperator('POST', path, { url, isCitus: options.citus })
      shell.show(response, options, () => renderChange(response))
    })
}

function addRemove(cells: Command, shell: Shell): void {
  withJson(cells.command('remove'))
    .description(
      'Remove a cell that has no merchants and no moves from the register: use cowry cells drain first, and wait until the old copies are deleted. Its database is left as it is. Its name and number are not given again.',
    )
    .argument('<name>', 'the name of the cell')
    .action(async (name: string, options: JsonOption) => {
      const path = `/admin/v1/cells/${encodeURIComponent(name)}/remove`
      const response = await shell.callOperator('POST', path)
      shell.show(response, options, () => renderChange(response))
    })
}

const renderChange = ({ message, data }: Envelope) =>
  `${renderRecord(data as Record<string, unknown>)}\n${message}\n`

function drainRefused(response: Envelope, refused: readonly string[]): CommandError {
  const message = `These merchants are not moved: ${refused.join(', ')}. For the problem, use cowry cells move.`
  const envelope = { ...response, status: 'error' as const, message, error: { code: 'move_refused' } }
  return new CommandError('move_refused', message, envelope)
}

// A boundary: the operators' API describes its records in src/cells/routes.ts.
const cellsOf = ({ data }: Pick<Envelope, 'data'>) => data as Cell[]

function cellsDown(table: string, response: Envelope, down: readonly Cell[]): CommandError {
  const namesOf = (isKnown: boolean) =>
    down
      .filter((cell) => cell.isKnown === isKnown)
      .map(({ name }) => name)
      .join(', ')
  const [lost, unknown] = [namesOf(true), namesOf(false)]
  const message = [
    lost && `These cells do not take statements: ${lost}.`,
    unknown &&
      `The process that answers was started before these cells were added: ${unknown}. Start every process again.`,
  ]
    .filter(Boolean)
    .join('\n')
  const envelope = { ...response, status: 'error' as const, message, error: { code: 'cells_down' } }
  return new CommandError('cells_down', `${table}\n${message}`, envelope)
}

function render(cells: readonly Cell[]): string {
  const rows = cells.map(({ name, state, merchants, isKnown, isUp }) => [
    name,
    state,
    String(merchants),
    state === 'removed' ? '-' : isUp ? 'up' : isKnown ? 'DOWN' : 'not known yet',
  ])
  return renderTable(['NAME', 'STATE', 'MERCHANTS', 'STATUS'], rows)
}

async function readText(file: string): Promise<string> {
  return file === '-' ? readAll(process.stdin) : (await readGivenFile(file)).toString()
}
