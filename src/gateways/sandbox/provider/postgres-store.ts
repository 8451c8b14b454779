// A store in PostgreSQL, shared by all processes that mount the provider. The primary key ensures that only one of
// several equal requests creates the record.

import { createBatcher } from '../../../kit/db/batch.ts'
import type { Db } from '../../../kit/db/db.ts'
import * as queries from './queries.ts'
import { dueAt, type SandboxRecord } from './record.ts'
import type { SandboxStore } from './store.ts'

type Inserted = Awaited<ReturnType<SandboxStore['insert']>>

export function createPostgresStore(db: Db): SandboxStore {
  const timer = createTimer()
  const findByKey = async (key: string) => (await db.query(queries.SELECT_BY_KEY, [key]))[0]?.record

  const insertAll = async (drafts: readonly SandboxRecord[]): Promise<Inserted[]> => {
    const rows = await db.query(queries.INSERT_RECORDS, [JSON.stringify(drafts.map(toRow))])
    for (const draft of drafts) timer.shorten(draft)
    const created = new Set(rows.map((row) => row.record.uuid))
    return Promise.all(
      drafts.map(async (draft) => {
        if (created.has(draft.uuid)) return { record: draft, created: true }
        const kept = await findByKey(draft.key)
        if (!kept) throw new Error(`the key ${draft.key} was taken, but its record is gone`)
        return { record: kept, created: false }
      }),
    )
  }

  return {
    insert: createBatcher({ run: insertAll, maxSize: 64, concurrency: 2, shouldSplit: () => false }),
    findByKey,
    findByPage: async (pageToken) => (await db.query(queries.SELECT_BY_PAGE, [pageToken]))[0]?.record,
    findByOrder: async (order) => (await db.query(queries.SELECT_BY_ORDER, [order])).map((row) => row.record),
    async findDue(now, limit) {
      if (!timer.isOver(now)) return []
      timer.start(now)
      const found = (await db.query(queries.SELECT_DUE, [now, limit])).map((row) => row.record)
      for (const record of found) timer.shorten(record)
      return found.filter((record) => Date.parse(dueAt(record) ?? '') <= now.getTime())
    },
    findPlanned: async (account) =>
      (await db.query(queries.SELECT_PLANNED, [account])).map((row) => row.record),
    async replace(next) {
      const values = [next.key, next.version, dueAt(next), JSON.stringify(next)]
      const replaced = await db.query(queries.REPLACE_RECORD, values)
      timer.shorten(next)
      return replaced.length > 0
    },
    // The caller closes the database.
    close: async () => undefined,
  }
}

// Each process applies the plans of its own records in time, and so late those of one that died.
const MAX_UNREAD_MS = 5_000

/** When the due records must be read again: only then, so that an idle provider leaves the database alone. */
function createTimer() {
  let startedMs = Number.POSITIVE_INFINITY
  let endsMs = 0
  return {
    // Before its start, the clock was set back.
    isOver: (now: Date) => now.getTime() >= endsMs || now.getTime() < startedMs,
    start(now: Date) {
      startedMs = now.getTime()
      endsMs = startedMs + MAX_UNREAD_MS
    },
    shorten(record: SandboxRecord) {
      const at = dueAt(record)
      if (at) endsMs = Math.min(endsMs, Date.parse(at))
    },
  }
}

function toRow(record: SandboxRecord) {
  return {
    key: record.key,
    order_id: record.order,
    page_token: record.checkout?.pageToken ?? null,
    version: record.version,
    due_at: dueAt(record),
    record,
  }
}
