// Output of commands: tables and records for people, one JSON document for scripts.

import type { Readable } from 'node:stream'
import { styleText } from 'node:util'

/** Where a command writes; tests pass their own. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** What a command reads; absent means standard input. */
  input?: Readable
  /** Whether the terminal shows colours; absent means no. */
  hasColours?: boolean
}

export const systemTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  // hasColors honours NO_COLOR and the terminal type.
  hasColours: process.stdout.isTTY === true && process.stdout.hasColors(),
}

// These commands keep running when their output is closed.
const SERVICES = ['serve', 'sandbox']

/** Handles EPIPE: the reader of our output may exit early, as `head` does. A command then exits without an error. */
export function handleEpipe(argv: readonly string[]): void {
  const isService = SERVICES.includes(argv[0] ?? '')
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      if (!isService) process.exit(0)
    })
  }
}

type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'gray' | 'bold'

/** Colours the text if the terminal shows colours. */
export function colorize(terminal: Pick<Terminal, 'hasColours'>, colour: Colour, text: string): string {
  return terminal.hasColours === true ? styleText(colour, text, { validateStream: false }) : text
}

/** The text as one word of a POSIX shell. */
export function quoteWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The envelope of the API; --json prints it. */
export interface Envelope {
  status: 'success' | 'error'
  message: string
  data: unknown
  [field: string]: unknown
}

/** The cells that do not answer, whose rows a list of operators lacks. */
export function unavailableCellsOf({ meta }: Envelope): readonly string[] {
  // A boundary: every list of the API has this meta.
  return (meta as { unavailableCells?: string[] } | undefined)?.unavailableCells ?? []
}

/** A command failed for a reason that the user can correct. */
export class CommandError extends Error {
  readonly envelope: Envelope

  constructor(code: string, message: string, envelope?: Envelope) {
    super(message)
    this.name = 'CommandError'
    this.envelope = envelope ?? { status: 'error', message, data: null, error: { code } }
  }
}

type Cell = string | number | null | undefined

/** Each column is as wide as its widest cell. */
export function renderTable(heads: string[], rows: Cell[][]): string {
  const texts = [heads, ...rows].map((row) => row.map((cell) => String(cell ?? '–')))
  const widths = heads.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)))
  return texts
    .map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
}

export function renderRecord(record: Record<string, unknown>): string {
  const names = Object.keys(record)
  const width = Math.max(...names.map((name) => name.length))
  return names.map((name) => `${name.padEnd(width)}  ${renderValue(record[name])}\n`).join('')
}

function renderValue(value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (Array.isArray(value)) return value.length > 0 ? value.map(renderValue).join(', ') : '–'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
