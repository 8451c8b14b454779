// What commands print: tables and records for people, one JSON document for scripts.

import { styleText } from 'node:util'

/** Where a command writes; a test hands in its own. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Whether a person watches who sees colours; absent is no. */
  hasColours?: boolean
}

export const systemTerminal: Terminal = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  // Honours NO_COLOR and terminals that have none.
  hasColours: process.stdout.isTTY === true && process.stdout.hasColors(),
}

// These go on working when nobody reads what they say any more.
const SERVICES = ['serve', 'sandbox']

/** Whoever reads us may leave before the end, as `head` does. A command has nobody left to tell then, and ends quietly. */
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

/** The text in a colour for a person, and as it is for everybody else. */
export function colorize(terminal: Pick<Terminal, 'hasColours'>, colour: Colour, text: string): string {
  return terminal.hasColours === true ? styleText(colour, text, { validateStream: false }) : text
}

/** The envelope of the API, which is also what --json prints. */
export interface Envelope {
  status: 'success' | 'error'
  message: string
  data: unknown
  [field: string]: unknown
}

/** A command failed in a way that its user can do something about. */
export class CommandError extends Error {
  readonly envelope: Envelope

  constructor(code: string, message: string, envelope?: Envelope) {
    super(message)
    this.name = 'CommandError'
    this.envelope = envelope ?? { status: 'error', message, data: null, error: { code } }
  }
}

type Cell = string | number | null | undefined

/** Columns as wide as their widest cell. */
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
