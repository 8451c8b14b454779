// What was carried forward when statement lines were archived: the last line of each month and currency.

import type { Currency } from '../core/currency.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { StandingRow } from './change-queries.ts'

const selectCarriedAt = sql<StandingRow>`
select number, available_minor as "availableMinor", pending_minor as "pendingMinor"
from archived_lines
where merchant_id = $1 and currency = $2 and before <= $3::timestamptz
order by before desc
limit 1`

/** The balances at the end of the last archived month before the time. */
export function findCarriedAt(
  db: Db,
  merchantId: string,
  currency: Currency,
  at: string,
): Promise<StandingRow | undefined> {
  return firstRow(db, selectCarriedAt, [merchantId, currency, at])
}
