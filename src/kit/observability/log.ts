// Structured logs with an allow-list of fields: what is not named here cannot be logged, so no body, key, token or
// e-mail can slip in. One line per request, at its end.

import { type DestinationStream, pino } from 'pino'
import { containsCardNumber } from '../../core/card-number.ts'
import { type LineLevel, LOG_LINES, type LogKey } from '../../core/log-lines.ts'

const FIELDS = [
  'requestId',
  'method',
  'route',
  'http',
  'durationMs',
  'merchantId',
  'keyId',
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
      sink[at]({ key, ...allowedFields(fields) }, message)
    },
  }
}

export interface LogOutput extends DestinationStream {
  /** Calls back with how many lines were lost, as soon as somebody takes lines again. */
  onDropped(report: (count: number) => void): void
  /** Writes what waits, and answers whether anybody took it in time; afterwards nothing is written any more. */
  end(timeoutMs: number): Promise<boolean>
}

// Some thousand lines: a reader that is behind for a moment misses none.
const MAX_BUFFERED_BYTES = 1_048_576

/** Lines wait for a reader that is slow, and are dropped and counted when too many do: the log never stops the service. */
export function openLogOutput(fd: number, maxBufferedBytes = MAX_BUFFERED_BYTES): LogOutput {
  const stream = pino.destination({ dest: fd, sync: false, maxLength: maxBufferedBytes })
  let dropped = 0
  stream.on('drop', () => {
    dropped += 1
  })
  // A full disk: the line stays and is written with the next one, or dropped with the others.
  stream.on('error', () => undefined)
  return {
    write: (line) => void stream.write(line),
    onDropped(report) {
      stream.on('drain', () => {
        if (dropped === 0) return
        const count = dropped
        dropped = 0
        report(count)
      })
    },
    async end(timeoutMs) {
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

// The type forbids other fields; the filter holds also where an object with more of them is passed on.
export function allowedFields(fields: LogFields): LogFields {
  const allowed: Record<string, LogFields[LogField]> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (ALLOWED.has(name)) allowed[name] = UNTRUSTED_FIELDS.has(name) ? redactSecrets(value) : value
  }
  return allowed
}

/** These may hold words from outside: a caller names its request, and a database repeats what it could not read. */
const UNTRUSTED_FIELDS: ReadonlySet<string> = new Set<LogField>(['requestId', 'reason', 'error', 'stack'])
const OUR_ID = /^[0-9a-f-]{36}$/
const SECRET = /cowry_(?:test|live)_|rtk_|whsec_|sk_(?:test|live)_/

/** The last net: what looks like a card number or a secret is not written, whoever sent it. */
function redactSecrets<Value>(value: Value): Value | 'withheld' {
  if (typeof value !== 'string' || OUR_ID.test(value)) return value
  return SECRET.test(value) || containsCardNumber(value) ? 'withheld' : value
}

/** What an error may report the log: its words and where it came from, never the values it was about. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return { error: error.message, stack: error.stack, sqlState: code }
}
