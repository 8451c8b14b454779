// The second wall between merchants. The first is the merchant in the where of every statement; this one stands in
// PostgreSQL (row-level security) and holds when the first was forgotten. Who asks is known from the API key, and not from what
// the code in between hands on: that code is what the wall is for.

import { AsyncLocalStorage } from 'node:async_hooks'
import { type ConnectedDb, type Db, sql, type Tx } from './db.ts'

const tenantContext = new AsyncLocalStorage<string>()

/** Whatever the work asks of a walled database, now or later on, it asks for this merchant. */
export function runAsMerchant<Result>(merchantId: string, work: () => Result): Result {
  return tenantContext.run(merchantId, work)
}

/** Pieces that are made when somebody takes them, long after the work that began them has ended. */
export function iterateAsMerchant<Piece>(
  merchantId: string,
  pieces: AsyncIterable<Piece>,
): AsyncIterable<Piece> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = runAsMerchant(merchantId, () => pieces[Symbol.asyncIterator]())
      return {
        next: () => runAsMerchant(merchantId, () => iterator.next()),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/** Behind the wall for whoever asks as a merchant, and whole for the background, the pages and the operators. */
export function tenantScoped(db: ConnectedDb): Db {
  const scopedDb = (): Db => {
    const merchantId = tenantContext.getStore()
    return merchantId === undefined ? db : db.forMerchant(merchantId)
  }
  return {
    query: (statement, values) => scopedDb().query(statement, values),
    script: (text) => scopedDb().script(text),
    transaction: (work, options) => scopedDb().transaction(work, options),
    close: () => db.close(),
  }
}

/**
 * For a writer that shares its statements among merchants, and so goes past the wall: whoever asks as a merchant hands it
 * rows of this merchant only.
 */
export function assertSameTenant<Item extends { merchantId: string }, Result>(
  write: (item: Item) => Promise<Result>,
): (item: Item) => Promise<Result> {
  return async (item) => {
    const merchantId = tenantContext.getStore()
    if (merchantId !== undefined && merchantId !== item.merchantId)
      throw new Error('a request of one merchant would write for another')
    return write(item)
  }
}

interface IsolationGap {
  what: string
  why: string
}

const applyStatement = sql<unknown>`select apply_row_level_security()`
const selectGaps = sql<IsolationGap>`select what, why from invariant_i15_tenants_are_isolated order by what`

/** Raises the wall where it does not stand, as far as this user may; answers what is missing. */
export async function applyRowLevelSecurity(db: Db): Promise<IsolationGap[]> {
  const gaps = await db.query(selectGaps)
  if (gaps.length === 0) return []
  const apply = async (tx: Tx) => {
    // Like a migration, which another process may be at.
    await tx.script('set local lock_timeout = 0; set local statement_timeout = 0')
    await tx.query(applyStatement)
  }
  await db.transaction(apply, { noTimeout: true })
  return db.query(selectGaps)
}
