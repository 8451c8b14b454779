// Group commit: concurrent callers share one statement and so one commit. While no batch runs, a caller starts one at
// once; while one runs, the next callers queue. With linger, a batch that several callers shared is followed by a short
// wait for more, and batchers of one database take turns. If a batch fails, each row is retried on its own so that one bad
// row does not fail the others.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'

export interface BatchOptions<Item, Result> {
  /** Returns one result per item, in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>
  maxSize: number
  /** The maximum number of concurrent batches. */
  concurrency: number
  /** A batch that has run this long no longer counts: it may hang. Absent: it counts until its end. */
  stalledAfterMs?: number
  /** Absent: the next batch starts as soon as the limit of concurrent batches allows. */
  linger?: Linger
  /** Errors after which each item is retried on its own; any other error rejects all callers. */
  shouldSplit: (error: unknown) => boolean
}

/** Per-statement overhead exceeds per-row cost, so a short linger raises throughput and lowers latency. */
export interface Linger {
  clock: Pick<Clock, 'now' | 'sleep'>
  /** How long callers are collected after a batch that several callers shared. */
  lingerMs: number
  /**
   * Starts another batch beside one that has run this long, and three times as long as usual: it may wait for the disk or
   * for a locked row.
   */
  overlapAfterMs: number
  /**
   * The linger ends early once so many callers are queued, and does not begin with half of them. Twice as many if batches
   * usually take longer than `overlapAfterMs`, as in a distributed database or where a commit waits for a distant standby.
   */
  batchTarget: number
  /** Shared by batchers that take turns. */
  turns?: Turns
}

/**
 * While a batch of one batcher runs, the callers of the others queue as its own do, so that all batches are larger: they share
 * processors. Not where batches usually take longer than `overlapAfterMs`: they wait, and could wait together.
 */
export interface Turns {
  /** By batch, its batcher. */
  running: Map<symbol, TakeTurn>
  takeTurns: TakeTurn[]
}

/** Starts a batch if callers wait. */
type TakeTurn = () => void

export const createTurns = (): Turns => ({ running: new Map(), takeTurns: [] })

/**
 * Measured in turns on two processors, against none: 25 % more requests per second of 16 and 24 callers. Against 3 ms and
 * a target of 16, the rate of initiates and charges was 1.06 and 1.13 times with 8 callers, 1.12 and 1.07 with 24, 1.1 and
 * 1.0 with 48. Two cells on Citus: charges 1.7 and initiates 1.5 times as many as without regard to the usual time. The two
 * statements of a charge in turns: 1.1 times as many charges of 24 callers.
 */
export function defaultLinger(clock: Linger['clock']): Linger {
  return { clock, lingerMs: 1, overlapAfterMs: 25, batchTarget: 12 }
}

interface PendingItem<Item, Result> {
  item: Item
  /**
   * Captured only for items that may become the first of a batch: doing it for every item would cost more than the
   * rest.
   */
  asyncContext: ReturnType<typeof AsyncLocalStorage.snapshot> | undefined
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export function createBatcher<Item, Result>(
  options: BatchOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const { concurrency, maxSize, linger, stalledAfterMs } = options
  const { turns } = linger ?? {}
  const queue: PendingItem<Item, Result>[] = []
  let inFlight = 0
  let scheduled = false
  let isOwnTurn = false
  /** The batch that started last, while the next one waits for it. */
  let latestBatch: symbol | undefined
  /** How long a batch usually takes. */
  let averageMs = 0

  const pump = (): void => {
    scheduled = false
    while (queue.length > 0 && inFlight < concurrency && !shouldLinger()) {
      const batch = queue.splice(0, maxSize)
      // Runs in the async context of one of its requests; otherwise it would inherit that of the batch before.
      const { asyncContext } = batch.find((pending) => pending.asyncContext) ?? {}
      const run = linger ? flushAndLinger : flush
      void (asyncContext ? asyncContext(run, batch) : run(batch))
    }
  }

  const shouldLinger = () => {
    if (!linger || queue.length >= targetOf(linger)) return false
    return latestBatch !== undefined || (!isOwnTurn && areQuick(linger) && doOthersRun())
  }

  const targetOf = (own: Linger) => (areQuick(own) ? own.batchTarget : own.batchTarget * 2)

  const areQuick = ({ overlapAfterMs }: Linger) => averageMs <= overlapAfterMs

  const doOthersRun = () => [...(turns?.running.values() ?? [])].some((other) => other !== takeTurn)

  /** After a batch of another: also beside the next one of it, so that one with full batches lets the others run. */
  const takeTurn = () => {
    isOwnTurn = true
    pump()
    isOwnTurn = false
  }

  const endTurn = (batch: symbol) => {
    if (turns?.running.delete(batch)) for (const other of turns.takeTurns) if (other !== takeTurn) other()
  }

  const flush = async (batch: PendingItem<Item, Result>[], ended?: () => void): Promise<void> => {
    inFlight += 1
    let isCounted = true
    const leave = () => {
      if (isCounted) inFlight -= 1
      isCounted = false
      pump()
    }
    const stalled = stalledAfterMs === undefined ? undefined : setTimeout(leave, stalledAfterMs)
    try {
      await runBatch(options, batch, () => {
        leave()
        ended?.()
      })
    } finally {
      clearTimeout(stalled)
      leave()
    }
  }

  const flushAndLinger = async (batch: PendingItem<Item, Result>[]): Promise<void> => {
    if (!linger) return
    const { clock, lingerMs, overlapAfterMs } = linger
    const self = Symbol()
    const stopLingering = () => {
      if (latestBatch === self) latestBatch = undefined
      pump()
      endTurn(self)
    }
    latestBatch = self
    turns?.running.set(self, takeTurn)
    let isRunning = true
    const ended = () => {
      isRunning = false
      endTurn(self)
    }
    const startedAt = clock.now().getTime()
    const overlapMs = Math.max(overlapAfterMs, averageMs * OVERLAP_AFTER_TIMES)
    // Not cancelled when the batch ends: aborting a sleep costs more than a batch of one.
    void clock.sleep(overlapMs).then(() => isRunning && stopLingering())
    await flush(batch, ended)
    ended()
    averageMs = averageOf(averageMs, clock.now().getTime() - startedAt)
    // After a batch of one there is no sign of concurrency, and half a batch is worth its statement: nothing to wait for.
    const isHalfFull = queue.length >= targetOf(linger) / 2
    if (!isHalfFull && (batch.length > 1 || queue.length > 0)) await clock.sleep(lingerMs)
    stopLingering()
  }

  turns?.takeTurns.push(takeTurn)
  return (item) =>
    new Promise<Result>((resolve, reject) => {
      const asyncContext = queue.length % maxSize === 0 ? AsyncLocalStorage.snapshot() : undefined
      queue.push({ item, asyncContext, resolve, reject })
      if (scheduled) return
      scheduled = true
      // One turn of the event loop, so that requests that arrived together share a batch.
      setImmediate(pump)
    })
}

// Under load most batches take less than three times the average.
const OVERLAP_AFTER_TIMES = 3
// A batch that waits for a locked row counts as this long, so that the next ones wait for at most 300 ms.
const MAX_COUNTED_MS = 100
const AVERAGED_BATCHES = 8

/** The exponential moving average of the durations of batches. */
function averageOf(averageMs: number, durationMs: number): number {
  const counted = Math.min(Math.max(durationMs, 0), MAX_COUNTED_MS)
  return averageMs + (counted - averageMs) / AVERAGED_BATCHES
}

/**
 * `ended` starts the next batches before the callers of this one go on, so that the database works in the meantime. It must
 * not throw.
 */
async function runBatch<Item, Result>(
  options: BatchOptions<Item, Result>,
  batch: PendingItem<Item, Result>[],
  ended?: () => void,
): Promise<void> {
  try {
    const results = await options.run(batch.map((pending) => pending.item))
    ended?.()
    for (const [index, pending] of batch.entries()) {
      // A boundary: run promises one result per item, and undefined may be a result.
      pending.resolve(results[index] as Result)
    }
  } catch (error) {
    if (batch.length === 1 || !options.shouldSplit(error)) {
      for (const pending of batch) pending.reject(error)
      return
    }
    await runItemsSeparately(options, batch)
  }
}

// Several, so that one slow item does not delay the others; few, because each takes a connection.
const SEPARATE_CONCURRENCY = 4

async function runItemsSeparately<Item, Result>(
  options: BatchOptions<Item, Result>,
  batch: PendingItem<Item, Result>[],
): Promise<void> {
  const remaining = batch.values()
  const runNext = async () => {
    for (const pending of remaining) await runBatch(options, [pending])
  }
  await Promise.all(Array.from({ length: SEPARATE_CONCURRENCY }, runNext))
}
