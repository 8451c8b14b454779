// Structured logs with an allow-list of fields: no other field can be logged, so no body, key, token or e-mail can
// leak. One line per request, at its end.

import { type DestinationStream, pino } from 'pino'
import { containsCardNumber } from '../../core/card-number.ts'
import { LOG_LINES, type LogKey } from '../../core/log-lines.ts'
import type { LineLevel } from '../../core/logs/line.ts'

const FIELDS = [
  'requestId',
  'method',
  'route',
  'http',
  'durationMs',
  'merchantId',
  'keyId',
  'operatorId',
  'address',
  'paymentId',
  'attemptId',
  'refundId',
  'endpointId',
  'eventId',
  'gateway',
  'outcome',
  'reason',
  'errorCode',
  'job',
  'cell',
  'count',
  'port',
  'pid',
  'version',
  'status',
  'error',
  'stack',
  'sqlState',
] as const

type LogField = (typeof FIELDS)[number]
export type LogFields = Partial<Record<LogField, string | number | boolean | null | undefined>>

/** Level and message of a line follow from its key (core/log-lines.ts). */
export interface Log {
  write(key: LogKey, fields?: LogFields): void
}

export type LogLevel = LineLevel | 'silent'

const ALLOWED: ReadonlySet<string> = new Set(FIELDS)

export function createLog(level: LogLevel, destination: DestinationStream = pino.destination(2)): Log {
  const sink = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
  return {
    write(key, fields = {}) {
      const { level: at, message } = LOG_LINES[key]
      if (sink.isLevelEnabled(at)) sink[at]({ key, ...allowedFields(fields) }, message)
    },
  }
}

export interface LogOutput extends DestinationStream {
  /** Called with the number of dropped lines as soon as the output accepts lines again. */
  onDropped(report: (count: number) => void): void
  /** Flushes the buffer, and returns whether that succeeded in time; nothing is written afterwards. */
  end(timeoutMs: number): Promise<boolean>
}

// A few thousand lines: a reader that is briefly behind misses none.
const MAX_BUFFERED_BYTES = 1_048_576

// Each write wakes another thread, which costs a request more than the rest of its line.
const COLLECT_MS = 10
const MAX_COLLECTED = 16_384

/**
 * Writes the lines of a few milliseconds together, and buffers them for a slow reader. A full buffer drops and counts
 * lines: the log never blocks the service.
 */
export function openLogOutput(fd: number, maxBufferedBytes = MAX_BUFFERED_BYTES): LogOutput {
  const stream = pino.destination({ dest: fd, sync: false, maxLength: maxBufferedBytes })
  let collected = ''
  let timer: NodeJS.Timeout | undefined
  let dropped = 0
  stream.on('drop', (lines: string) => {
    dropped += lines.split('\n').length - 1
  })
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (collected !== '') stream.write(collected)
    collected = ''
  }
  // A full disk: the line stays in the buffer and is written with the next one, or dropped.
  stream.on('error', () => undefined)
  return {
    write(line) {
      collected += line
      if (collected.length >= MAX_COLLECTED) flush()
      else timer ??= setTimeout(flush, COLLECT_MS)
    },
    onDropped(report) {
      stream.on('drain', () => {
        if (dropped === 0) return
        const count = dropped
        dropped = 0
        report(count)
      })
    },
    async end(timeoutMs) {
      flush()
      const isFlushed = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), timeoutMs)
        stream.once('finish', () => {
          clearTimeout(timer)
          resolve(true)
        })
        stream.end()
      })
      if (!isFlushed) stream.destroy()
      return isFlushed
    },
  }
}

// The type forbids other fields; the filter also holds for an object with more of them.
export function allowedFields(fields: LogFields): LogFields {
  const allowed: Record<string, LogFields[LogField]> = {}
  for (const name of Object.keys(fields)) {
    const value = fields[name as LogField]
    if (value !== undefined && ALLOWED.has(name))
      allowed[name] = UNTRUSTED_FIELDS.has(name) ? redactSecrets(value) : value
  }
  return allowed
}

/** Fields that may hold text from outside: a caller's request id, or a database error that repeats a value. */
const UNTRUSTED_FIELDS: ReadonlySet<string> = new Set<LogField>(['requestId', 'reason', 'error', 'stack'])
const OUR_ID = /^[0-9a-f-]{36}$/
const SECRET = /cowry_(?:test|live)_|rtk_|whsec_|sk_(?:test|live)_/

/** The last safeguard: a text that looks like a card number or a secret is not written. */
export function redactSecrets<Value>(value: Value): Value | 'withheld' {
  if (typeof value !== 'string' || OUR_ID.test(value)) return value
  return SECRET.test(value) || containsCardNumber(value) ? 'withheld' : value
}

/** The fields of an error: its message and its stack, never the values that it concerned. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return { error: error.message, stack: error.stack, sqlState: code }
}
