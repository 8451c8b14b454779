// The log for a terminal: each JSON line becomes a line for people. Everywhere else the log stays JSON, for collectors.

import { styleText } from 'node:util'
import type { LineLevel } from '../../core/logs/line.ts'
import type { LogOutput } from './log.ts'

const COLOURS = { debug: 'gray', info: 'cyan', warn: 'yellow', error: 'red' } as const satisfies Record<
  LineLevel,
  string
>

// pino's numbers of the levels.
const LEVELS: Readonly<Record<number, LineLevel>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }

interface Line {
  level: number
  time: string
  key: string
  msg: string
  stack?: string
  [field: string]: unknown
}

export function prettyOutput(output: LogOutput, hasColours: boolean): LogOutput {
  return { ...output, write: (line) => output.write(prettyLine(line, hasColours)) }
}

/** Time of day, level, message, key and fields; a stack follows on lines of its own. */
export function prettyLine(json: string, hasColours: boolean): string {
  // A boundary: our own logger has written the line.
  const { level, time, key, msg, stack, ...fields } = JSON.parse(json) as Line
  const name = LEVELS[level] ?? 'info'
  const style = (format: Parameters<typeof styleText>[0], text: string) =>
    hasColours ? styleText(format, text, { validateStream: false }) : text
  const pairs = Object.entries(fields).map(([field, value]) => `${field}=${fieldText(value)}`)
  const head = [
    style('gray', new Date(time).toTimeString().slice(0, 8)),
    style(COLOURS[name], name.toUpperCase().padEnd(5)),
    msg,
    style('gray', [key, ...pairs].join(' ')),
  ].join(' ')
  const frames = stack === undefined ? [] : stack.split('\n').slice(1)
  return [head, ...frames.map((frame) => style('gray', visible(frame))), ''].join('\n')
}

function fieldText(value: unknown): string {
  const text = String(value)
  return /^[\w.:/@+-]+$/.test(text) ? text : visible(JSON.stringify(text))
}

/** A field may hold a caller's text: escapes every character that could control the terminal. */
function visible(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}]/gu,
    (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  )
}
