// cowry logs tail: the log of a running service, line by line, from wherever the operator is.

import { type Command, Option } from 'commander'
import type { LineLevel } from '../../core/log-lines.ts'
import { LINE_LEVELS } from '../../kit/recent-lines.ts'
import type { OperatorClient } from '../operator-client.ts'
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

/** How far each process was read. */
type ReadPositions = Map<string, number>

const POLL_MS = 1_000
const MAX_LINES_PER_POLL = 500

export function addLogCommands(program: Command, shell: Shell): void {
  const logs = program.command('logs').description('Watch the log of a running service.')
  logs
    .command('tail')
    .description(
      'Show the last lines of the log and those that come: what the processes that share the port remember, 2,000 lines each since they started. The whole log is what they write on their error output.',
    )
    .addOption(
      new Option('--level <level>', 'this level and what is graver').choices(LINE_LEVELS).default('debug'),
    )
    .option('--merchant <uuid>', 'only lines about this merchant')
    .option('--request-id <id>', 'only lines about this request: the X-Request-Id of its answer')
    .option('--lines <number>', 'how many to begin with, up to 500', parseInteger, 20)
    .option('--no-follow', 'end after those')
    .option('--json', 'print one JSON document a line')
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

/** Prints what came since. While the service is away nothing does. */
async function pollLines(shell: Shell, options: TailOptions, positions: ReadPositions): Promise<void> {
  const fresh = await read(shell, options, positions).catch(ignoreTransient)
  if (!fresh) return
  const { terminal } = shell
  if (fresh.processes.some(({ process }) => !positions.has(process)))
    printNotice(terminal, options, NEW_PROCESS)
  for (const { process, oldest, next } of fresh.processes) {
    const after = positions.get(process) ?? oldest - 1
    if (oldest > after + 1)
      printNotice(terminal, options, `${oldest - after - 1} lines went by too fast to be kept.`)
    // The latest are at the end: a long watch over many restarts asks for those that may still be there.
    positions.delete(process)
    positions.set(process, next)
  }
  printLines(terminal, options, fresh.lines)
}

const NEW_PROCESS = 'A process that was not heard before answers: it was started, or is one of several.'

function ignoreTransient(error: unknown): undefined {
  if (!isTransient(error)) throw error
}

/** More than there can be workers; as many as the operation takes. */
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
  const request = (operator: OperatorClient) => operator.call('GET', `/admin/v1/logs?${query}`)
  // A boundary: the operators' API describes the answer in src/http/log-routes.ts.
  return (await shell.withOperator(request)).data as LogPage
}

function printLines(terminal: Terminal, options: TailOptions, lines: Line[]): void {
  for (const line of lines)
    terminal.out(`${options.json ? JSON.stringify(line) : renderLine(terminal, line)}\n`)
}

function printNotice(terminal: Terminal, { json }: TailOptions, message: string): void {
  terminal.out(`${json ? JSON.stringify({ notice: message }) : colorize(terminal, 'yellow', message)}\n`)
}

const LEVEL_COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const

/** The usual line of a request reads as one; everything else is its message and its fields. */
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
