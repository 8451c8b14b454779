// The second wall between merchants. The first is the merchant in the where of every statement; this one stands in
// PostgreSQL (row-level security) and holds when the first was forgotten. Who asks is known from the API key, and not from what
// the code in between hands on: that code is what the wall is for.

import { AsyncLocalStorage } from 'node:async_hooks'
import { type ConnectedDb, type Db, sql, type Tx } from './db.ts'

const asking = new AsyncLocalStorage<string>()

/** Whatever the work asks of a walled database, now or later on, it asks for this merchant. */
export function asMerchant<Result>(merchantId: string, work: () => Result): Result {
  return asking.run(merchantId, work)
}

/** Pieces that are made when somebody takes them, long after the work that began them has ended. */
export function piecesAsMerchant<Piece>(
  merchantId: string,
  pieces: AsyncIterable<Piece>,
): AsyncIterable<Piece> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = asMerchant(merchantId, () => pieces[Symbol.asyncIterator]())
      return {
        next: () => asMerchant(merchantId, () => iterator.next()),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/** Behind the wall for whoever asks as a merchant, and whole for the background, the pages and the operators. */
export function walled(db: ConnectedDb): Db {
  const side = (): Db => {
    const merchantId = asking.getStore()
    return merchantId === undefined ? db : db.as(merchantId)
  }
  return {
    query: (statement, values) => side().query(statement, values),
    script: (text) => side().script(text),
    transaction: (work, options) => side().transaction(work, options),
    close: () => db.close(),
  }
}

/**
 * For a writer that shares its statements among merchants, and so goes past the wall: whoever asks as a merchant hands it
 * rows of this merchant only.
 */
export function ownOnly<Item extends { merchant_id: string }, Result>(
  write: (item: Item) => Promise<Result>,
): (item: Item) => Promise<Result> {
  return async (item) => {
    const merchantId = asking.getStore()
    if (merchantId !== undefined && merchantId !== item.merchant_id)
      throw new Error('a request of one merchant would write for another')
    return write(item)
  }
}

interface WallGap {
  what: string
  why: string
}

const raiseStatement = sql<unknown>`select raise_merchant_wall()`
const selectGaps = sql<WallGap>`select what, why from invariant_i15_merchants_are_walled order by what`

/** Raises the wall where it does not stand, as far as this user may; answers what is missing. */
export async function raiseWall(db: Db): Promise<WallGap[]> {
  const gaps = await db.query(selectGaps)
  if (gaps.length === 0) return []
  const raise = async (tx: Tx) => {
    // Like a migration, which another process may be at.
    await tx.script('set local lock_timeout = 0; set local statement_timeout = 0')
    await tx.query(raiseStatement)
  }
  await db.transaction(raise, { isPatient: true })
  return db.query(selectGaps)
}
