// The lock of a run: one at a time archives a cell. It is of the session, so the handle must have one connection.

import { ADVISORY_LOCKS } from '../kit/db/advisory-locks.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { ArchiveRefused } from './refusal.ts'

// One database may have several cells, each in a schema.
const LOCK = `${ADVISORY_LOCKS.archive}, hashtext(current_schema())`

const tryLock = sql<{ isLocked: boolean }>`select pg_try_advisory_lock(${LOCK}) as "isLocked"`
const unlock = sql<unknown>`select pg_advisory_unlock_all()`

/** Takes the lock, or sees that this session has it. */
export async function requireLock(db: Db): Promise<void> {
  const [row] = await db.query(tryLock)
  if (!row?.isLocked) throw new ArchiveRefused('Another run archives this cell.')
}

export async function withLock<Result>(db: Db, work: () => Promise<Result>): Promise<Result> {
  await requireLock(db)
  try {
    return await work()
  } finally {
    // A connection that does not answer has lost the lock, and the result of the work counts.
    await db.query(unlock).catch(() => undefined)
  }
}
