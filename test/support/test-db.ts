// Connections of the tests, and of services in their process, wait longer for PostgreSQL than those of a service in
// operation: on a busy machine it needs seconds for a new one.

import { type ConnectedDb, connectDb, type DbOptions } from '../../src/kit/db/db.ts'

export const TEST_ACQUIRE_TIMEOUT_MS = 30_000

export function connectTestDb(options: DbOptions): ConnectedDb {
  return connectDb({ acquireTimeoutMs: TEST_ACQUIRE_TIMEOUT_MS, ...options })
}
