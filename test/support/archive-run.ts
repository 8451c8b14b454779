// A run of the archive that a test holds at a step.

import { archiveMonths } from '../../src/archive/run.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { connectDb, type Db } from '../../src/kit/db/db.ts'

/** A run that waits before it gives the files their names. */
export async function archiveUntilWritten(url: string, dir: string, before: Date) {
  const db = connectDb({ url, poolSize: 1, acquireTimeoutMs: 30_000 })
  const [written, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isWritten = false
  const query: Db['query'] = async (statement, values) => {
    if (isWritten) {
      written.resolve()
      await goOn.promise
    }
    return db.query(statement, values)
  }
  const onProgress = (line: string) => {
    isWritten ||= line.startsWith('postings:') && line.endsWith('written')
  }
  const waiting = { ...db, query }
  const job = { db: waiting, clock: systemClock, cell: 'main', dir, before, exportOnly: false, onProgress }
  const ended = archiveMonths(job).finally(() => db.close())
  await Promise.race([written.promise, ended])
  return {
    ended,
    goOn: goOn.resolve,
    loseLock: () => db.script('select pg_advisory_unlock_all()'),
  }
}
