// Writes the request log after the responses, in batches. What was not written when a process crashes is lost: it is a help
// for developers, not a record of money. The audit log has every change.

import { sanitizeText } from '../core/sanitize-text.ts'
import {
  areSeveral,
  type CellMap,
  currentCell,
  groupByCell,
  inCellOf,
  runInCell,
} from '../kit/cells/cells.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import { type Db, DbUnavailable } from '../kit/db/db.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'
import { insertRequests } from './queries.ts'
import type { CompletedApiRequest, RecordRequest, RequestRow } from './request.ts'

export interface RequestLog {
  record: RecordRequest
  /** Writes what is left. */
  stop(): Promise<void>
}

const FLUSH_MS = 1_000
const MINUTE_MS = 60_000

/** Per merchant, process and minute, once for successful requests and once for failed ones: a flood of either hides no other. */
export const KEPT_PER_MINUTE = 300

/** While the database does not answer. */
const MOST_WAITING = 10_000

export function createRequestLog(app: {
  db: Db
  cells?: CellMap
  clock: Clock
  random: Random
  log: Log
}): RequestLog {
  const { db, cells, clock, random, log } = app
  const stopping = new AbortController()
  const admits = createSampler(clock)
  let waiting: RequestRow[] = []
  let flushing: Promise<void> | undefined

  const report = (count: number, error: unknown) =>
    log.write('request_log.write_failed', { count, ...errorFields(error) })
  const attempt = (rows: readonly RequestRow[], work: () => Promise<unknown>): Promise<unknown> =>
    work().catch((error: unknown) => report(rows.length, error))

  /** One line of the log reports all rows that are not written. After a cell did not answer, its rows are not tried. */
  const insertEach = async (rows: readonly RequestRow[]): Promise<void> => {
    const errors: unknown[] = []
    const unavailable = new Map<number | undefined, DbUnavailable>()
    for (const row of rows)
      await inCellOf(cells, row.merchantId, async () => {
        const known = unavailable.get(currentCell())
        if (known) throw known
        await insertRequests(db, [row]).catch((error: unknown) => {
          if (error instanceof DbUnavailable && !error.isRolledBack) unavailable.set(currentCell(), error)
          throw error
        })
      }).catch((error: unknown) => errors.push(error))
    if (errors.length > 0) report(errors.length, errors[0])
  }

  // If a row is refused, or its merchant is moved meanwhile, each row is written on its own.
  const insert = (rows: readonly RequestRow[], run: () => Promise<unknown>) =>
    attempt(rows, () =>
      run().catch((error: unknown) => {
        if (error instanceof DbUnavailable) throw error
        return insertEach(rows)
      }),
    )
  const insertIn = (cell: number, rows: readonly RequestRow[]) =>
    insert(rows, () => runInCell(cell, () => insertRequests(db, rows)))

  const write = async (rows: readonly RequestRow[]): Promise<void> => {
    if (!areSeveral(cells)) return void (await insert(rows, () => insertRequests(db, rows)))
    await attempt(rows, async () => {
      const byCell = await groupByCell(cells, rows, ({ merchantId }) => merchantId)
      await Promise.all([...byCell].map(([cell, some]) => insertIn(cell, some)))
    })
  }

  const flush = async (): Promise<void> => {
    while (waiting.length > 0) {
      await clock.sleep(FLUSH_MS, stopping.signal)
      const rows = waiting
      waiting = []
      await write(rows)
    }
    flushing = undefined
  }

  return {
    record(merchantId, http, describe) {
      if (waiting.length >= MOST_WAITING || !admits(merchantId, http)) return
      waiting.push({ id: random.uuid(), ...withStorableTexts(describe()) })
      flushing ??= flush()
    },
    async stop() {
      stopping.abort()
      await flushing
    },
  }
}

/** The client chose these texts. */
function withStorableTexts(request: CompletedApiRequest): CompletedApiRequest {
  const { errorFields, reference } = request
  return {
    ...request,
    errorFields: errorFields && sanitizeText(errorFields),
    reference: reference && sanitizeText(reference),
  }
}

/** Keeps the first requests of each minute. */
function createSampler(clock: Clock): (merchantId: string, http: number) => boolean {
  const counts = new Map<string, number>()
  let until = clock.now()
  return (merchantId, http) => {
    const now = clock.now()
    if (now >= until) {
      counts.clear()
      until = addMs(now, MINUTE_MS)
    }
    const key = `${merchantId}:${http >= 400}`
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return count <= KEPT_PER_MINUTE
  }
}
