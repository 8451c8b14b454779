// cowry logs tail: follows the log of a running service over the operators' API.

import { type Command, Option } from 'commander'
import type { LineLevel } from '../../core/logs/line.ts'
import { LINE_LEVELS } from '../../kit/observability/recent-lines.ts'
import { parseInteger } from '../options.ts'
import { isTransient } from '../service-client.ts'
import type { Shell } from '../shell.ts'
import { colorize, type Terminal } from '../terminal.ts'

interface TailOptions {
  json?: boolean
  level: LineLevel
  merchant?: string
  requestId?: string
  lines: number
  follow: boolean
}

interface Line {
  process: string
  sequence: number
  at: string
  level: LineLevel
  message: string
  fields: Record<string, string | number | boolean | null>
}

interface LogPage {
  processes: { process: string; oldest: number; latest: number; next: number }[]
  lines: Line[]
}

/** The read position in each process. */
type ReadPositions = Map<string, number>

const POLL_MS = 1_000
const MAX_LINES_PER_POLL = 500

export function addLogCommands(program: Command, shell: Shell): void {
  const logs = program.command('logs').description('Follow the log of a running service.')
  logs
    .command('tail')
    .description(
      'Show the latest log lines and follow new ones. Each process that shares the port keeps its last 2,000 lines since it started. The complete log is on the standard error of the processes.',
    )
    .addOption(new Option('--level <level>', 'the minimum level').choices(LINE_LEVELS).default('debug'))
    .option('--merchant <uuid>', 'only lines about this merchant')
    .option('--request-id <id>', 'only lines about this request: the X-Request-Id of its response')
    .option('--lines <number>', 'the number of lines to begin with, up to 500', parseInteger, 20)
    .option('--no-follow', 'exit after these lines')
    .option('--json', 'print one JSON document per line')
    .action((options: TailOptions) => tail(shell, options))
}

async function tail(shell: Shell, options: TailOptions): Promise<void> {
  const { terminal, clock } = shell
  const signal = shell.untilInterrupted()
  const first = await read(shell, options)
  const positions: ReadPositions = new Map(first.processes.map(({ process, next }) => [process, next]))
  printLines(terminal, options, first.lines)
  while (options.follow && !signal.aborted) {
    await clock.sleep(POLL_MS, signal)
    await pollLines(shell, options, positions)
  }
}

/** Prints the lines since the last poll. Skips the poll while the service is unreachable. */
async function pollLines(shell: Shell, options: TailOptions, positions: ReadPositions): Promise<void> {
  const fresh = await read(shell, options, positions).catch(ignoreTransient)
  if (!fresh) return
  const { terminal } = shell
  if (fresh.processes.some(({ process }) => !positions.has(process)))
    printNotice(terminal, options, NEW_PROCESS)
  for (const { process, oldest, next } of fresh.processes) {
    const after = positions.get(process) ?? oldest - 1
    if (oldest > after + 1)
      printNotice(terminal, options, `${oldest - after - 1} lines were dropped before they could be read.`)
    // The latest processes are last: after many restarts only those may still run.
    positions.delete(process)
    positions.set(process, next)
  }
  printLines(terminal, options, fresh.lines)
}

const NEW_PROCESS = 'A new process responds: it was started, or it is one of several.'

function ignoreTransient(error: unknown): undefined {
  if (!isTransient(error)) throw error
}

/** More than the maximum number of workers; the operation accepts as many. */
const MAX_PROCESSES = 70

async function read(shell: Shell, options: TailOptions, positions?: ReadPositions): Promise<LogPage> {
  const { level, merchant, requestId, lines } = options
  const query = new URLSearchParams({ level, limit: String(positions ? MAX_LINES_PER_POLL : lines) })
  if (positions?.size) {
    const parts = [...positions].slice(-MAX_PROCESSES).map(([process, next]) => `${process}:${next}`)
    query.set('after', parts.join(','))
  }
  if (merchant !== undefined) query.set('merchant', merchant)
  if (requestId !== undefined) query.set('requestId', requestId)
  // A boundary: src/http/log-routes.ts describes the response.
  return (await shell.callOperator('GET', `/admin/v1/logs?${query}`)).data as LogPage
}

function printLines(terminal: Terminal, options: TailOptions, lines: Line[]): void {
  for (const line of lines)
    terminal.out(`${options.json ? JSON.stringify(line) : renderLine(terminal, line)}\n`)
}

function printNotice(terminal: Terminal, { json }: TailOptions, message: string): void {
  terminal.out(`${json ? JSON.stringify({ notice: message }) : colorize(terminal, 'yellow', message)}\n`)
}

const LEVEL_COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const

/** A request line is shortened; every other line shows its message and its fields. */
function renderLine(terminal: Terminal, { at, level, message, fields }: Line): string {
  const { method, route, http, durationMs, stack, ...rest } = fields
  const isRequest = message === 'request'
  const summary = isRequest
    ? `${method} ${route} ${colorize(terminal, Number(http) < 400 ? 'green' : 'red', String(http))} ${durationMs} ms`
    : message
  const shown = isRequest ? rest : { ...fields, stack: undefined }
  const details = Object.entries(shown).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${name}=${value}`],
  )
  const head = `${colorize(terminal, 'gray', at.slice(11, 23))} ${colorize(terminal, LEVEL_COLOURS[level], level.padEnd(5))} ${summary}`
  const suffix = details.length > 0 ? ` ${colorize(terminal, 'gray', details.join(' '))}` : ''
  return `${head}${suffix}${typeof stack === 'string' ? `\n${colorize(terminal, 'gray', stack)}` : ''}`
}
