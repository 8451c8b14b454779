// The list of disputes, the nearest deadline first.

import type { Db } from '../kit/db/db.ts'
import { operatorList, readOperatorList } from '../kit/db/lists/operator-list.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { DISPUTE, type DisputeRow } from './dispute.ts'

/** Where disputes without a deadline stand in the list. */
export const NO_DEADLINE = new Date('9999-12-31T00:00:00Z')

export interface ListedDispute extends DisputeRow {
  /** Of the disputed attempt. */
  gateway: string
}

export interface DisputeFilter {
  status: string | null
  paymentId: string | null
}

// The index has the same expression.
const DISPUTES = operatorList<ListedDispute>({
  columns: `${DISPUTE.select()}, (
    select a.gateway
    from attempts a
    where a.merchant_id = disputes.merchant_id and a.id = disputes.attempt_id
  ) as gateway`,
  table: 'disputes',
  time: "coalesce(respond_by, timestamptz '9999-12-31 00:00:00+00')",
  order: 'asc',
  filter: `
  merchant_id = $1
  and ($2::text is null or status = $2)
  and ($3::uuid is null or payment_id = $3)
  and opened_at >= $4::timestamptz
  and opened_at <= $5::timestamptz`,
  filterValues: 5,
})

export function listDisputeRows(db: Db, merchantId: string, filter: DisputeFilter, window: ListWindow) {
  const { createdFrom, createdTo } = window
  return readOperatorList(db, DISPUTES, window, [
    ...[merchantId, filter.status, filter.paymentId],
    ...[createdFrom ?? '-infinity', createdTo ?? 'infinity'],
  ])
}
