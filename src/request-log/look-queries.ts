// Requests of one key, route or reference. An index for each would cost every request; the newest requests are compared
// instead.

import type { Db } from '../kit/db/db.ts'
import { boundedSearch, searchBounded } from '../kit/db/lists/bounded-search.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { REQUEST, type RequestRow } from './request.ts'

// $4 key, $5 route, $6 reference.
const source = {
  columns: REQUEST.select('r'),
  table: 'api_requests',
  alias: 'r',
  fits: `($4::text is null or r.key_id = $4) and ($5::text is null or r.route = $5)
    and ($6::text is null or r.reference = $6)`,
  filterValues: 3,
  most: 10_000,
}

const ANY = boundedSearch<RequestRow>(source)
const FAILED = boundedSearch<RequestRow>({ ...source, filter: 'r.http >= 400' })

export interface LookFilter {
  failed: boolean
  keyId: string | null
  route: string | null
  reference: string | null
}

export function lookForRequests(
  db: Db,
  merchantId: string,
  { failed, keyId, route, reference }: LookFilter,
  window: ListWindow,
): Promise<CountedRows<RequestRow>> {
  return searchBounded(db, failed ? FAILED : ANY, merchantId, window, [keyId, route, reference])
}
