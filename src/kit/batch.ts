// Group commit: requests that wait at the same moment share one statement and so one commit. While nothing is under
// way a caller goes at once, alone; while a batch is, the next callers gather, and with patience for a moment after one that
// several shared. A row that fails in company is tried again alone, so that it spoils nobody's batch.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from './clock.ts'

export interface BatchOptions<Item, Result> {
  /** Answers one result per item, in the order of the items. */
  run: (items: readonly Item[]) => Promise<readonly Result[]>
  maxSize: number
  /** How many batches may be under way at once. */
  concurrency: number
  /** Absent: the next begins as soon as there is room for it. */
  patience?: Patience
  /** An error after which each item is tried alone; any other is everybody's. */
  isolates: (error: unknown) => boolean
}

/** A statement costs more than its rows, so that waiting a moment for company makes everybody faster, also who waits. */
export interface Patience {
  clock: Pick<Clock, 'sleep'>
  /** How long callers gather after a batch that was not one caller's alone. */
  gatherMs: number
  /** Another begins beside one when that has taken this long: it may wait for a disk, or for a row that is locked. */
  besideAfterMs: number
  /** So many are company enough: they wait no longer. */
  enough: number
}

/** Measured with 16 and 24 requests at once on two processors: a quarter more of them per second, a quarter sooner. */
export function patienceOf(clock: Patience['clock']): Patience {
  return { clock, gatherMs: 3, besideAfterMs: 25, enough: 16 }
}

interface Waiting<Item, Result> {
  item: Item
  /** Of those that will be the first of a batch: of every one it would cost more than the rest of this. */
  within: ReturnType<typeof AsyncLocalStorage.snapshot> | undefined
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export function createBatcher<Item, Result>(
  options: BatchOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const { concurrency, maxSize, patience } = options
  const queue: Waiting<Item, Result>[] = []
  let underWay = 0
  let scheduled = false
  /** The last batch that was begun, while the next one waits for it. */
  let leader: symbol | undefined

  const pump = (): void => {
    scheduled = false
    while (queue.length > 0 && underWay < concurrency && !isWorthWaiting()) {
      const batch = queue.splice(0, maxSize)
      // Part of a request in it: otherwise it would be part of whichever began the batch before.
      const { within } = batch.find((waiting) => waiting.within) ?? {}
      const run = patience ? flushPatiently : flush
      void (within ? within(run, batch) : run(batch))
    }
  }

  const isWorthWaiting = () =>
    leader !== undefined && patience !== undefined && queue.length < patience.enough

  const flush = async (batch: Waiting<Item, Result>[]): Promise<void> => {
    underWay += 1
    try {
      await settleBatch(options, batch)
    } finally {
      underWay -= 1
      pump()
    }
  }

  const flushPatiently = async (batch: Waiting<Item, Result>[]): Promise<void> => {
    if (!patience) return
    const { clock, gatherMs, besideAfterMs } = patience
    const self = Symbol()
    const stopWaiting = () => {
      if (leader === self) leader = undefined
      pump()
    }
    leader = self
    const ended = new AbortController()
    void clock.sleep(besideAfterMs, ended.signal).then(() => ended.signal.aborted || stopWaiting())
    await flush(batch)
    ended.abort()
    // Who was alone has shown no company to wait for.
    if (batch.length > 1 || queue.length > 0) await clock.sleep(gatherMs)
    stopWaiting()
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      const within = queue.length % maxSize === 0 ? AsyncLocalStorage.snapshot() : undefined
      queue.push({ item, within, resolve, reject })
      if (scheduled) return
      scheduled = true
      // One turn of the event loop lets requests that arrived together travel together.
      setImmediate(pump)
    })
}

async function settleBatch<Item, Result>(
  options: BatchOptions<Item, Result>,
  batch: Waiting<Item, Result>[],
): Promise<void> {
  try {
    const results = await options.run(batch.map((waiting) => waiting.item))
    for (const [index, waiting] of batch.entries()) {
      // A boundary: run promises one result per item, and undefined may be a result.
      waiting.resolve(results[index] as Result)
    }
  } catch (error) {
    if (batch.length === 1 || !options.isolates(error)) {
      for (const waiting of batch) waiting.reject(error)
      return
    }
    await settleAlone(options, batch)
  }
}

// Several, so that the one that waits makes nobody else wait; few, because each has a connection that others want too.
const ALONE_AT_ONCE = 4

async function settleAlone<Item, Result>(
  options: BatchOptions<Item, Result>,
  batch: Waiting<Item, Result>[],
): Promise<void> {
  const left = batch.values()
  const settleNext = async () => {
    for (const waiting of left) await settleBatch(options, [waiting])
  }
  await Promise.all(Array.from({ length: ALONE_AT_ONCE }, settleNext))
}
