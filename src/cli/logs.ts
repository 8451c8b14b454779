// cowry logs tail: the log of a running service, line by line, from wherever the operator is.

import { type Command, Option } from 'commander'
import { LINE_LEVELS, type LineLevel } from '../kit/recent-lines.ts'
import type { OperatorClient } from './operator-client.ts'
import { wholeNumber } from './options.ts'
import { isPassing } from './service-client.ts'
import type { Shell } from './shell.ts'
import { paint, type Terminal } from './terminal.ts'

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

interface Reading {
  processes: { process: string; oldest: number; latest: number; next: number }[]
  lines: Line[]
}

/** How far each process was read. */
type ReadSoFar = Map<string, number>

const POLL_MS = 1_000
const AT_ONCE = 500

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
    .option('--lines <number>', 'how many to begin with, up to 500', wholeNumber, 20)
    .option('--no-follow', 'end after those')
    .option('--json', 'print one JSON document a line')
    .action((options: TailOptions) => tail(shell, options))
}

async function tail(shell: Shell, options: TailOptions): Promise<void> {
  const { terminal, clock } = shell
  const signal = shell.untilInterrupted()
  const first = await read(shell, options)
  const soFar: ReadSoFar = new Map(first.processes.map(({ process, next }) => [process, next]))
  printLines(terminal, options, first.lines)
  while (options.follow && !signal.aborted) {
    await clock.sleep(POLL_MS, signal)
    await readOn(shell, options, soFar)
  }
}

/** Prints what came since. While the service is away nothing does. */
async function readOn(shell: Shell, options: TailOptions, soFar: ReadSoFar): Promise<void> {
  const fresh = await read(shell, options, soFar).catch(awaitRestart)
  if (!fresh) return
  const { terminal } = shell
  if (fresh.processes.some(({ process }) => !soFar.has(process))) tell(terminal, options, NEW_PROCESS)
  for (const { process, oldest, next } of fresh.processes) {
    const after = soFar.get(process) ?? oldest - 1
    if (oldest > after + 1)
      tell(terminal, options, `${oldest - after - 1} lines went by too fast to be kept.`)
    // The latest are at the end: a long watch over many restarts asks for those that may still be there.
    soFar.delete(process)
    soFar.set(process, next)
  }
  printLines(terminal, options, fresh.lines)
}

const NEW_PROCESS = 'A process that was not heard before answers: it was started, or is one of several.'

function awaitRestart(error: unknown): undefined {
  if (!isPassing(error)) throw error
}

/** More than there can be workers; as many as the operation takes. */
const MOST_PROCESSES = 70

async function read(shell: Shell, options: TailOptions, soFar?: ReadSoFar): Promise<Reading> {
  const { level, merchant, requestId, lines } = options
  const query = new URLSearchParams({ level, limit: String(soFar ? AT_ONCE : lines) })
  if (soFar?.size) {
    const parts = [...soFar].slice(-MOST_PROCESSES).map(([process, next]) => `${process}:${next}`)
    query.set('after', parts.join(','))
  }
  if (merchant !== undefined) query.set('merchant', merchant)
  if (requestId !== undefined) query.set('requestId', requestId)
  const ask = (operator: OperatorClient) => operator.call('GET', `/admin/v1/logs?${query}`)
  // A boundary: the operators' API describes the answer in src/http/log-routes.ts.
  return (await shell.withOperator(ask)).data as Reading
}

function printLines(terminal: Terminal, options: TailOptions, lines: Line[]): void {
  for (const line of lines)
    terminal.out(`${options.json ? JSON.stringify(line) : renderLine(terminal, line)}\n`)
}

function tell(terminal: Terminal, { json }: TailOptions, words: string): void {
  terminal.out(`${json ? JSON.stringify({ note: words }) : paint(terminal, 'yellow', words)}\n`)
}

const LEVEL_COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const

/** The usual line of a request reads as one; everything else is its message and its fields. */
function renderLine(terminal: Terminal, { at, level, message, fields }: Line): string {
  const { method, route, http, durationMs, stack, ...rest } = fields
  const isRequest = message === 'request'
  const words = isRequest
    ? `${method} ${route} ${paint(terminal, Number(http) < 400 ? 'green' : 'red', String(http))} ${durationMs} ms`
    : message
  const shown = isRequest ? rest : { ...fields, stack: undefined }
  const details = Object.entries(shown).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${name}=${value}`],
  )
  const head = `${paint(terminal, 'gray', at.slice(11, 23))} ${paint(terminal, LEVEL_COLOURS[level], level.padEnd(5))} ${words}`
  const tailing = details.length > 0 ? ` ${paint(terminal, 'gray', details.join(' '))}` : ''
  return `${head}${tailing}${typeof stack === 'string' ? `\n${paint(terminal, 'gray', stack)}` : ''}`
}
