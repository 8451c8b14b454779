// Until when the history of a merchant may be archived (src/archive): its rows are then in files of the operator.

import type { PageMeta } from '../../../core/page.ts'
import { sql, type Tx } from '../db.ts'
import type { ListQuery, Page } from '../pagination.ts'
import { firstRow } from '../rows.ts'

const selectBoundary = sql<{ archivedBefore: Date }>`
select archived_before as "archivedBefore"
from archive_boundaries
where merchant_id = $1`

/** Null: nothing is archived. */
export async function archivedBefore(db: Tx, merchantId: string): Promise<Date | null> {
  return (await firstRow(db, selectBoundary, [merchantId]))?.archivedBefore ?? null
}

/** Says until when rows are archived, on the page where they would be: the last one, or the first one from the oldest on. */
export async function noteArchive<Row>(
  db: Tx,
  merchantId: string,
  { createdFrom, sort }: ListQuery,
  page: Page<Row>,
): Promise<Page<Row>> {
  const { hasNext, hasPrevious } = page.meta
  const isAtEnd = sort === 'createdAt:asc' ? !hasPrevious : !hasNext
  if (!isAtEnd) return page
  const from = createdFrom === undefined ? null : new Date(createdFrom)
  return { ...page, meta: withBoundary(page.meta, await archivedBefore(db, merchantId), from) }
}

/** Rows from this time on are asked for; null: all. */
export function withBoundary(meta: PageMeta, boundary: Date | null, from: Date | null): PageMeta {
  const isOutside = boundary === null || (from !== null && from >= boundary)
  return isOutside ? meta : { ...meta, archivedBefore: boundary.toISOString() }
}
