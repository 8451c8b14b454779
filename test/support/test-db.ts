// Connections of the tests themselves. They wait for a connection longer than a request does: on a busy machine PostgreSQL
// needs seconds for a new one.

import { type ConnectedDb, connectDb, type DbOptions } from '../../src/kit/db/db.ts'

const ACQUIRE_TIMEOUT_MS = 30_000

export function connectTestDb(options: DbOptions): ConnectedDb {
  return connectDb({ acquireTimeoutMs: ACQUIRE_TIMEOUT_MS, ...options })
}
