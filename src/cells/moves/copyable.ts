// Whether the rows of a merchant can be copied from a database and to it.

import { type Db, DbUnavailable } from '../../kit/db/db.ts'
import { COPYING, isDistributed } from './guard-queries.ts'

/** Why they cannot; undefined if they can. */
export async function findObstacle(db: Db): Promise<string | undefined> {
  if (await isDistributed(db)) return 'no merchant is moved into a cell on Citus, or out of it'
  return findMissingRight(db)
}

/** What the user of a database must be granted; undefined on Citus, where nothing is copied. */
export async function findLackOfRights(db: Db): Promise<string | undefined> {
  return (await isDistributed(db)) ? undefined : findMissingRight(db)
}

async function findMissingRight(db: Db): Promise<string | undefined> {
  try {
    await db.transaction((tx) => tx.script(COPYING))
    return undefined
  } catch (error) {
    if (error instanceof DbUnavailable) throw error
    return 'the user of the database may not set session_replication_role: make it a superuser, or grant set on parameter session_replication_role to it'
  }
}
