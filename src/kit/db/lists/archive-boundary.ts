// Until when the history of a merchant may be archived (src/archive): its rows are then in files of the operator.

import { sql, type Tx } from '../db.ts'
import { firstRow } from '../rows.ts'

const selectBoundary = sql<{ archivedBefore: Date }>`
select archived_before as "archivedBefore"
from archive_boundaries
where merchant_id = $1`

/** Null: nothing is archived. */
export async function archivedBefore(db: Tx, merchantId: string): Promise<Date | null> {
  return (await firstRow(db, selectBoundary, [merchantId]))?.archivedBefore ?? null
}
