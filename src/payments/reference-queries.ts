// The index over the text of references. PostgreSQL appends new references to a list, which each search reads, and merges the
// list into the index.

import { type Db, sql } from '../kit/db/db.ts'

const mergeReferencesStatement = sql<{ pages: number }>`
select gin_clean_pending_list('payment_references_search')::integer as pages`

/** Merges the list and returns its number of pages. For a handle that owns the tables. */
export async function mergeReferences(db: Db): Promise<number> {
  const [row] = await db.query(mergeReferencesStatement)
  return row?.pages ?? 0
}
