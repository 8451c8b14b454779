// The indexes over the text of references and customers, and over metadata. PostgreSQL appends new entries to a list,
// which each search reads, and merges the list into the index.

import { type Db, sql } from '../kit/db/db.ts'

const mergeStatement = sql<{ pages: number }>`
select (gin_clean_pending_list('payment_references_search') + gin_clean_pending_list('customers_by_ngrams'))::integer as pages`

/** Merges both lists and returns their number of pages. For a handle that owns the tables. */
export async function mergeSearchIndexes(db: Db): Promise<number> {
  const [row] = await db.query(mergeStatement)
  return row?.pages ?? 0
}
