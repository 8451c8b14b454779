// Merges new references and customers into their search indexes. A large list costs less for each of them: the merge writes an
// entry of the index once for all that have it. A request would do it when the list is full, and make all requests of its batch
// wait.

import type { Db } from '../kit/db/db.ts'
import { mergeSearchIndexes } from './search-index-queries.ts'

// 4 MB of each, which a search reads in 3 ms; a merge takes 50 ms of one connection. The lists of several processes are full at
// 8 MB.
const MERGE_AFTER = 4_000

/** The same as `record`; starts a merge after so many of its inputs. */
export function mergingSearchIndexes<Input, Result>(
  db: Db,
  record: (inputs: readonly Input[]) => Promise<Result[]>,
  mergeAfter = MERGE_AFTER,
): (inputs: readonly Input[]) => Promise<Result[]> {
  let recorded = 0
  return async (inputs) => {
    const results = await record(inputs)
    recorded += inputs.length
    if (recorded >= mergeAfter) {
      recorded = 0
      // If it fails, a request merges the full list.
      void mergeSearchIndexes(db).catch(() => undefined)
    }
    return results
  }
}
