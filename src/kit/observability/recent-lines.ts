// The last log lines of this process, in memory, so that an operator can read them without access to its files. The
// log's allow-list of fields holds here too.

import { LOG_LINES, type LogKey } from '../../core/log-lines.ts'
import type { LineLevel } from '../../core/logs/line.ts'
import type { Clock } from '../clock.ts'
import { allowedFields, type Log, type LogFields, type LogLevel } from './log.ts'

export interface LogLine {
  /** Increases by one with each line of the process. */
  sequence: number
  at: Date
  level: LineLevel
  key: LogKey
  message: string
  fields: LogFields
}

export interface LineQuery {
  /** The first lines after this one; absent: the latest. */
  after?: number
  /** This level and more severe ones. */
  level: LineLevel
  limit: number
  merchantId?: string
  requestId?: string
}

/** The same query for several processes at once. */
export interface ProcessLinesQuery extends Omit<LineQuery, 'after'> {
  /**
   * The last sequence read of each process; a process that is not named is read from its beginning. Null: the latest
   * lines.
   */
  after: Readonly<Record<string, number>> | null
}

/** The kept lines of one process, as JSON-safe data. */
export interface ProcessLines {
  /** A new id after a restart, when the sequences begin again. */
  process: string
  /** The range of sequences that are kept. */
  oldest: number
  latest: number
  /** The sequence from which the reader continues. */
  next: number
  lines: (Omit<LogLine, 'at'> & { at: string })[]
}

export interface RecentLines {
  add(key: LogKey, fields?: LogFields): void
  /** Oldest first. */
  read(query: LineQuery): LogLine[]
  /** The range of kept sequences. It is empty if the oldest is greater than the latest. */
  extent(): { oldest: number; latest: number }
}

export const LINE_LEVELS: readonly LineLevel[] = ['debug', 'info', 'warn', 'error']

/** An hour of a quiet service and seconds of a busy one; with stacks a few megabytes at most. */
const MAX_LINES = 2_000
/** The maximum length of a text in a line. Stacks are the longest, and their beginning says the most. */
const MAX_TEXT = 2_000

export function createRecentLines(clock: Clock, maxLines = MAX_LINES): RecentLines {
  const lines: LogLine[] = []
  let latest = 0
  return {
    add(key, fields = {}) {
      const { level, message } = LOG_LINES[key]
      latest += 1
      lines.push({ sequence: latest, at: clock.now(), level, key, message, fields: truncateTexts(fields) })
      if (lines.length > maxLines) lines.shift()
    },
    read(query) {
      // Every request adds lines and few are read, so the fields are filtered on reading.
      const wanted = lines
        .filter((line) => isRecent(line, query))
        .map((line) => ({ ...line, fields: allowedFields(line.fields) }))
        .filter(({ fields }) => isAbout(fields, query))
      return query.after === undefined ? wanted.slice(-query.limit) : wanted.slice(0, query.limit)
    },
    extent: () => ({ oldest: latest - lines.length + 1, latest }),
  }
}

export function readProcessLines(
  recent: RecentLines,
  process: string,
  { after, ...query }: ProcessLinesQuery,
): ProcessLines {
  const found = recent.read({ ...query, after: after ? (after[process] ?? 0) : undefined })
  const extent = recent.extent()
  const isWhole = !after || found.length < query.limit
  const next = isWhole ? extent.latest : (found.at(-1)?.sequence ?? extent.latest)
  return {
    process,
    ...extent,
    next,
    lines: found.map((line) => ({ ...line, at: line.at.toISOString() })),
  }
}

function isRecent(line: LogLine, { after = 0, level }: LineQuery): boolean {
  return line.sequence > after && LINE_LEVELS.indexOf(line.level) >= LINE_LEVELS.indexOf(level)
}

function isAbout(fields: LogFields, { merchantId, requestId }: LineQuery): boolean {
  return (
    (merchantId === undefined || fields.merchantId === merchantId) &&
    (requestId === undefined || fields.requestId === requestId)
  )
}

/** The fields themselves if no text is too long, as in nearly every line. */
function truncateTexts(fields: LogFields): LogFields {
  if (!Object.values(fields).some(isTooLong)) return fields
  const truncated = Object.entries(fields).map(([name, value]) => [
    name,
    isTooLong(value) ? value.slice(0, MAX_TEXT) : value,
  ])
  return Object.fromEntries(truncated)
}

const isTooLong = (value: LogFields[keyof LogFields]): value is string =>
  typeof value === 'string' && value.length > MAX_TEXT

/** A log that also keeps its lines from this level on. */
export function withRecentLines(log: Log, recent: RecentLines, level: LogLevel): Log {
  const first = level === 'silent' ? LINE_LEVELS.length : LINE_LEVELS.indexOf(level)
  return {
    write(key, fields) {
      if (LINE_LEVELS.indexOf(LOG_LINES[key].level) >= first) recent.add(key, fields)
      log.write(key, fields)
    },
  }
}
