// A Db over one open transaction, for work that becomes visible as a whole. Callers may be concurrent: the connection runs
// one statement after the other, and a transaction of a caller keeps the others waiting.

import { AsyncLocalStorage } from 'node:async_hooks'
import { currentAudit } from './audit-context.ts'
import { type Db, sql, type Tx } from './db.ts'

export interface TransactionDb extends Db {
  /** Runs work that must see this merchant's rows only, such as a job that claims what is due. Nothing else runs beside it. */
  asTenant<Result>(merchantId: string, work: () => Promise<Result>): Promise<Result>
  /** Throws the first error of a statement. PostgreSQL has rolled back everything then, also if a caller has caught it. */
  assertIntact(): void
}

const enterTenant = sql<unknown>`
select set_config('role', 'cowry_merchant', true), set_config('app.merchant_id', $1, true)`
const leaveTenant = sql<unknown>`select set_config('role', 'none', true), set_config('app.merchant_id', '', true)`

const beginAudit = sql<unknown>`select set_config('app.audit', $1, true)`
// An entry is written at the commit. Here the part of a caller ends instead.
const END_AUDIT = `
set constraints audit_write immediate;
set constraints audit_write deferred;
select set_config('app.audit', '', true)`

/** Runs the work with the actor of its caller, if it has one. */
async function asActor<Result>(tx: Tx, work: () => Promise<Result>): Promise<Result> {
  const audit = currentAudit()
  if (audit === undefined) return work()
  await tx.query(beginAudit, [audit])
  const result = await work()
  await tx.script(END_AUDIT)
  return result
}

/**
 * Row locks do not keep the callers apart, because they share the transaction; the queue does. An error inside a caller's
 * transaction cannot be rolled back alone, so it fails the whole.
 */
export function dbWithin(tx: Tx): TransactionDb {
  const nested = new AsyncLocalStorage<true>()
  let last: Promise<unknown> = Promise.resolve()
  let failure: { error: unknown } | undefined
  let prefix = ''

  // A plan belongs to the role it was made for: under one name, each change of the role would replan it.
  const named: Tx = {
    ...tx,
    query: (statement, values) => tx.query({ ...statement, name: `${prefix}${statement.name}` }, values),
  }
  const exclusively = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last
      .then(() => asActor(tx, work))
      .catch((error: unknown) => {
        failure ??= { error }
        throw error
      })
    last = result.catch(() => undefined)
    return result
  }
  const queued = <Result>(work: () => Promise<Result>) => (nested.getStore() ? work() : exclusively(work))

  return {
    query: (statement, values) => queued(() => named.query(statement, values)),
    script: (text) => queued(() => named.script(text)),
    async transaction(work) {
      const actions: (() => void)[] = []
      const part: Tx = { ...named, afterCommit: (action) => void actions.push(action) }
      const result = await exclusively(() => nested.run(true, () => work(part)))
      for (const action of actions) action()
      return result
    },
    close: () => Promise.resolve(),
    async asTenant(merchantId, work) {
      await exclusively(() => tx.query(enterTenant, [merchantId]))
      prefix = 'm'
      const result = await work()
      prefix = ''
      await exclusively(() => tx.query(leaveTenant))
      return result
    },
    assertIntact() {
      if (failure) throw failure.error
    },
  }
}
