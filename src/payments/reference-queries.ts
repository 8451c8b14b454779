// The merchants' own names of payments, for whoever knows payments by their uuid.

import { type Db, sql } from '../kit/db.ts'

const selectReferences = sql<{ id: string; reference: string }>`
select id, reference
from payments
where merchant_id = $1 and id = any ($2::uuid[])`

/** The references of payments, by their uuid. */
export async function findReferences(
  db: Db,
  merchantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = ids.length === 0 ? [] : await db.query(selectReferences, [merchantId, ids])
  return new Map(rows.map(({ id, reference }) => [id, reference]))
}
