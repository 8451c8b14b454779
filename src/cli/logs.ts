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
  sequence: number
  at: string
  level: LineLevel
  message: string
  fields: Record<string, string | number | boolean | null>
}

interface Lines {
  process: string
  oldest: number
  latest: number
  lines: Line[]
}

const POLL_MS = 1_000
const AT_ONCE = 500

export function addLogCommands(program: Command, shell: Shell): void {
  const logs = program.command('logs').description('Watch the log of a running service.')
  logs
    .command('tail')
    .description(
      'Show the last lines of the log and those that come. They are the memory of the one process that answers, its last 2,000 lines since it started: with several processes each has its own, and the whole log is what they write on their error output.',
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
  let known = await read(shell, options)
  printLines(terminal, options, known.lines)
  while (options.follow && !signal.aborted) {
    await clock.sleep(POLL_MS, signal)
    const before = known
    known = (await readOn(shell, options, before)) ?? before
  }
}

/** Prints what came since; undefined when the service is away. */
async function readOn(shell: Shell, options: TailOptions, known: Lines): Promise<Lines | undefined> {
  const after = known.lines.length === AT_ONCE ? (known.lines.at(-1)?.sequence ?? known.latest) : known.latest
  const fresh = await read(shell, options, after).catch(awaitRestart)
  if (!fresh) return undefined
  if (fresh.process !== known.process) {
    // Another process, whose lines begin anew.
    const all = await read(shell, options, 0)
    tell(shell.terminal, options, 'The service was started again.')
    printLines(shell.terminal, options, all.lines)
    return all
  }
  const lost = fresh.oldest - after - 1
  if (lost > 0) tell(shell.terminal, options, `${lost} lines went by too fast to be kept.`)
  printLines(shell.terminal, options, fresh.lines)
  return fresh
}

function awaitRestart(error: unknown): undefined {
  if (!isPassing(error)) throw error
}

async function read(shell: Shell, options: TailOptions, after?: number): Promise<Lines> {
  const { level, merchant, requestId, lines } = options
  const query = new URLSearchParams({ level, limit: String(after === undefined ? lines : AT_ONCE) })
  if (after !== undefined) query.set('after', String(after))
  if (merchant !== undefined) query.set('merchant', merchant)
  if (requestId !== undefined) query.set('requestId', requestId)
  const ask = (operator: OperatorClient) => operator.call('GET', `/admin/v1/logs?${query}`)
  // A boundary: the operators' API describes the answer in src/http/log-routes.ts.
  return (await shell.withOperator(ask)).data as Lines
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
