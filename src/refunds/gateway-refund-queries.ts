// What a gateway has given back by our books, for whoever holds its settlement file against them.

import type { Currency } from '../core/currency.ts'
import { type Db, sql } from '../kit/db/db.ts'
import type { RefundStatus } from './states.ts'

export interface GatewayRefundRow {
  merchantId: string
  paymentId: string
  refundId: string
  /** Our key at the gateway. */
  key: string
  /** The gateway's own name for it. */
  reference: string | null
  status: RefundStatus
  amountMinor: bigint
  currency: Currency
}

const selectGatewayRefundsStatement = sql<GatewayRefundRow>`
with named as (
  select merchant_id, id
  from refunds
  where gateway_key = any ($3::text[])
  union
  select merchant_id, id
  from refunds
  where gateway = $1 and gateway_reference = any ($4::text[])
)
select
  r.merchant_id as "merchantId", r.payment_id as "paymentId", r.id as "refundId", r.gateway_key as key,
  r.gateway_reference as reference, r.status, r.amount_minor as "amountMinor", r.currency
from named n
join refunds r on r.merchant_id = n.merchant_id and r.id = n.id
where r.gateway = $1
  and (case when $2::uuid is null then r.account_id is null else r.merchant_id = $2 and r.account_id is not null end)`

/** The refunds that have one of these keys or references, of the installation's account or of this merchant's own. */
export async function findGatewayRefunds(
  db: Db,
  { gateway, merchantId }: { gateway: string; merchantId: string | null },
  keys: readonly string[],
  references: readonly string[],
): Promise<GatewayRefundRow[]> {
  return db.query(selectGatewayRefundsStatement, [gateway, merchantId, keys, references])
}
