// Long work in one process: it gives the event loop back between its steps, so that other requests run meanwhile.

import { setImmediate } from 'node:timers/promises'

/** Resolves one turn of the event loop after the call before it, however many callers wait. */
export function createTurnQueue(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => setImmediate())
    return last
  }
}

const ITEMS_PER_TURN = 20

/** Maps the items of a page, and lets other requests run after every few of them. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % ITEMS_PER_TURN === 0) await setImmediate()
    results.push(map(item))
  }
  return results
}
