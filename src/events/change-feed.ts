// What changes, for the open pages of this process: one statement every two seconds reads the outbox for all merchants with
// an open page, however many pages there are. Nothing is read while no page is open.

import { uuidV7 } from '../core/ids.ts'
import { type CellMap, groupByCell, inNamedCell } from '../kit/cells/cells.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import { type ChangeRow, readChanges } from './read-queries.ts'

export type Change = Pick<ChangeRow, 'id' | 'type' | 'resourceType' | 'resourceId' | 'version'>

export interface ChangeFeed {
  /** Reports the events of the merchant after the time, at most once each. Returns the function that ends it. */
  subscribe(merchantId: string, after: Date, report: (change: Change) => void): () => void
}

const POLL_MS = 2_000
const MOST_CHANGES = 100

/** A transaction may commit after a later one: each poll reads this period again. An earlier start is not possible. */
const OVERLAP_MS = 15_000

interface Subscriber {
  merchantId: string
  afterId: string
  reported: Set<string>
  report: (change: Change) => void
}

/** The handle must not be scoped to one merchant. */
export function createChangeFeed(app: { db: Db; cells?: CellMap; clock: Clock; log: Log }): ChangeFeed {
  const { db, cells, clock, log } = app
  const subscribers = new Set<Subscriber>()
  /** The cells that have not answered the last read yet. */
  const reading = new Set<number>()
  let polling: AbortController | undefined

  const logFailure = (error: unknown) => log.write('live.read_failed', errorFields(error))

  const poll = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await clock.sleep(POLL_MS, signal)
      if (!signal.aborted) await readOnce().catch(logFailure)
    }
  }

  const readOnce = async (): Promise<void> => {
    const merchantIds = [...new Set([...subscribers].map(({ merchantId }) => merchantId))]
    const from = firstIdAt(addMs(clock.now(), -OVERLAP_MS))
    const byCell = await groupByCell(cells, merchantIds, (id) => id)
    for (const [cell, ids] of byCell) if (!reading.has(cell)) void readCell(cell, ids, from)
  }

  /** Not waited for: a cell that does not answer holds up no page of another. */
  const readCell = async (cell: number, merchantIds: readonly string[], from: string): Promise<void> => {
    reading.add(cell)
    try {
      const rows = await inNamedCell(cells, cell, () => readChanges(db, merchantIds, from, MOST_CHANGES))
      reportAll(merchantIds, rows.toReversed())
    } catch (error) {
      logFailure(error)
    } finally {
      reading.delete(cell)
    }
  }

  const reportAll = (merchantIds: readonly string[], rows: readonly ChangeRow[]): void => {
    for (const subscriber of subscribers) {
      if (!merchantIds.includes(subscriber.merchantId)) continue
      const own = rows.filter(
        ({ merchantId, id }) => merchantId === subscriber.merchantId && id > subscriber.afterId,
      )
      const isReported = subscriber.reported
      subscriber.reported = new Set(own.map(({ id }) => id))
      for (const { merchantId: _merchant, ...change } of own)
        if (!isReported.has(change.id)) subscriber.report(change)
    }
  }

  return {
    subscribe(merchantId, after, report) {
      const subscriber = { merchantId, afterId: firstIdAt(after), reported: new Set<string>(), report }
      subscribers.add(subscriber)
      if (!polling) {
        polling = new AbortController()
        void poll(polling.signal)
      }
      return () => {
        subscribers.delete(subscriber)
        if (subscribers.size > 0) return
        polling?.abort()
        polling = undefined
      }
    },
  }
}

const firstIdAt = (time: Date) => uuidV7(time, new Uint8Array(10))
