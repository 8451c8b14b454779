// Group commit: requests that wait at the same moment share one statement and so one commit. While nothing is under
// way a caller goes at once, alone; while a batch is, the next callers gather, and with linger for a moment after one that
// several shared. A row that fails in company is tried again alone, so that it spoils nobody's batch.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'

export interface BatchOptions<Item, Result> {
  /** Answers one result per item, in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>
  maxSize: number
  /** How many batches may be under way at once. */
  concurrency: number
  /** Absent: the next begins as soon as there is room for it. */
  linger?: Linger
  /** An error after which each item is tried alone; any other is everybody's. */
  shouldSplit: (error: unknown) => boolean
}

/** A statement costs more than its rows, so that pending a moment for company makes everybody faster, also who waits. */
export interface Linger {
  clock: Pick<Clock, 'sleep'>
  /** How long callers gather after a batch that was not one caller's alone. */
  lingerMs: number
  /** Another begins beside one when that has taken this long: it may wait for a disk, or for a row that is locked. */
  overlapAfterMs: number
  /** So many are company batchTarget: they wait no longer. */
  batchTarget: number
}

/** Measured with 16 and 24 requests at once on two processors: a quarter more of them per second, a quarter sooner. */
export function defaultLinger(clock: Linger['clock']): Linger {
  return { clock, lingerMs: 3, overlapAfterMs: 25, batchTarget: 16 }
}

interface PendingItem<Item, Result> {
  item: Item
  /** Of those that will be the first of a batch: of every one it would cost more than the rest of this. */
  asyncContext: ReturnType<typeof AsyncLocalStorage.snapshot> | undefined
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export function createBatcher<Item, Result>(
  options: BatchOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const { concurrency, maxSize, linger } = options
  const queue: PendingItem<Item, Result>[] = []
  let inFlight = 0
  let scheduled = false
  /** The last batch that was begun, while the next one waits for it. */
  let latestBatch: symbol | undefined

  const pump = (): void => {
    scheduled = false
    while (queue.length > 0 && inFlight < concurrency && !shouldLinger()) {
      const batch = queue.splice(0, maxSize)
      // Part of a request in it: otherwise it would be part of whichever began the batch before.
      const { asyncContext } = batch.find((pending) => pending.asyncContext) ?? {}
      const run = linger ? flushAndLinger : flush
      void (asyncContext ? asyncContext(run, batch) : run(batch))
    }
  }

  const shouldLinger = () =>
    latestBatch !== undefined && linger !== undefined && queue.length < linger.batchTarget

  const flush = async (batch: PendingItem<Item, Result>[]): Promise<void> => {
    inFlight += 1
    try {
      await runBatch(options, batch)
    } finally {
      inFlight -= 1
      pump()
    }
  }

  const flushAndLinger = async (batch: PendingItem<Item, Result>[]): Promise<void> => {
    if (!linger) return
    const { clock, lingerMs, overlapAfterMs } = linger
    const self = Symbol()
    const stopLingering = () => {
      if (latestBatch === self) latestBatch = undefined
      pump()
    }
    latestBatch = self
    const ended = new AbortController()
    void clock.sleep(overlapAfterMs, ended.signal).then(() => ended.signal.aborted || stopLingering())
    await flush(batch)
    ended.abort()
    // Who was alone has shown no company to wait for.
    if (batch.length > 1 || queue.length > 0) await clock.sleep(lingerMs)
    stopLingering()
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      const asyncContext = queue.length % maxSize === 0 ? AsyncLocalStorage.snapshot() : undefined
      queue.push({ item, asyncContext, resolve, reject })
      if (scheduled) return
      scheduled = true
      // One turn of the event loop lets requests that arrived together travel together.
      setImmediate(pump)
    })
}

async function runBatch<Item, Result>(
  options: BatchOptions<Item, Result>,
  batch: PendingItem<Item, Result>[],
): Promise<void> {
  try {
    const results = await options.run(batch.map((pending) => pending.item))
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

// Several, so that the one that waits makes nobody else wait; few, because each has a connection that others want too.
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
