// Tenant isolation by row-level security. Every statement filters by the merchant; PostgreSQL enforces the same even if
// a statement lacks that filter. The tenant context comes from the API key and not from arguments, because the code in
// between is what this protects against.

import { AsyncLocalStorage } from 'node:async_hooks'
import { currentAudit } from './audit-context.ts'
import { type Db, type ScopableDb, sql, type Tx } from './db.ts'

const tenantContext = new AsyncLocalStorage<string>()

/** Runs the work with this merchant as the tenant context, also for its later asynchronous steps. */
export function runAsMerchant<Result>(merchantId: string, work: () => Result): Result {
  return tenantContext.run(merchantId, work)
}

/** For parts of a response that are produced after the work that began them has ended. */
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

/**
 * Scoped to the merchant inside a tenant context, and unscoped for background jobs, pages and operators. Changes carry
 * the actor of the request. Shared writers and caches use the plain handle: their work is not of one request.
 */
export function requestScoped(db: ScopableDb, { isTenantScoped }: { isTenantScoped: boolean }): Db {
  const scopedDb = (): Db => {
    const audit = currentAudit()
    const merchantId = isTenantScoped ? tenantContext.getStore() : undefined
    if (merchantId !== undefined) return db.forMerchant(merchantId, audit)
    return audit === undefined ? db : db.audited(audit)
  }
  return {
    query: (statement, values) => scopedDb().query(statement, values),
    script: (text) => scopedDb().script(text),
    transaction: (work, options) => scopedDb().transaction(work, options),
    close: () => db.close(),
  }
}

/**
 * Guards a writer that batches rows of several merchants and is therefore unscoped: in a tenant context it accepts only
 * rows of that merchant.
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

/** Applies row-level security where it is missing, as far as this user may; returns the gaps. */
export async function applyRowLevelSecurity(db: Db): Promise<IsolationGap[]> {
  const gaps = await db.query(selectGaps)
  if (gaps.length === 0) return []
  const apply = async (tx: Tx) => {
    // Like a migration, which another process may be running.
    await tx.script('set local lock_timeout = 0; set local statement_timeout = 0')
    await tx.query(applyStatement)
  }
  await db.transaction(apply, { noTimeout: true })
  return db.query(selectGaps)
}
