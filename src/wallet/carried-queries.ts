// What was carried forward when statement lines were archived, for the statement as a file.

import type { Currency } from '../core/currency.ts'
import { type Db, sql } from '../kit/db/db.ts'
import type { LineQuery } from '../ledger/statement.ts'

export interface CarriedRow {
  currency: Currency
  /** The lines before this time are archived. It is not after the period. */
  before: Date
  number: bigint
  availableMinor: bigint
  pendingMinor: bigint
}

const selectCarried = sql<CarriedRow>`
select distinct on (currency)
  currency, least(before, $4::timestamptz) as before, number, available_minor as "availableMinor",
  pending_minor as "pendingMinor"
from archived_lines
where merchant_id = $1 and ($2::text is null or currency = $2) and before > $3::timestamptz
  and created_at <= $4::timestamptz
order by currency, archived_lines.before desc`

/** The last line of each currency that an archive ends with in the period, if lines of the period are archived. A filter of single lines finds none. */
export async function listCarried(
  db: Db,
  merchantId: string,
  { currency, type, payment, createdFrom, createdTo }: LineQuery,
): Promise<CarriedRow[]> {
  if (type !== undefined || payment !== undefined) return []
  const period = [createdFrom ?? '-infinity', createdTo ?? 'infinity']
  return db.query(selectCarried, [merchantId, currency ?? null, ...period])
}
