// Reads refunds by the names that a gateway has for them.

import { SANDBOX } from '../core/gateway-accounts/name.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { GatewayRefundRow, RefundRow } from './refund.ts'

export interface GatewayAccount {
  gateway: string
  /** The merchant whose own account it is; null is the account of the instance. */
  merchantId: string | null
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
  and (case when $2::uuid is null then r.account_id is null else r.merchant_id = $2 and (r.account_id is not null or r.gateway = '${SANDBOX}') end)`

export async function selectGatewayRefunds(
  db: Tx,
  { gateway, merchantId }: GatewayAccount,
  keys: readonly string[],
  references: readonly string[],
): Promise<GatewayRefundRow[]> {
  return db.query(selectGatewayRefundsStatement, [gateway, merchantId, keys, references])
}

const selectOtherReferencesStatement = sql<{ reference: string }>`
select gateway_reference as reference
from refunds
where merchant_id = $1 and payment_id = $2 and id <> $3 and gateway_reference is not null`

/** The gateway's references of the other refunds of the same payment. */
export async function selectOtherReferences(
  db: Tx,
  { merchantId, paymentId, id }: RefundRow,
): Promise<string[]> {
  const rows = await db.query(selectOtherReferencesStatement, [merchantId, paymentId, id])
  return rows.map(({ reference }) => reference)
}

export interface RefundSum {
  /** Of all refunds that have not failed. */
  minor: bigint
  /** One may have been submitted, and the gateway's reference of it is not known. */
  hasUnnamed: boolean
}

const selectRefundSumStatement = sql<RefundSum>`
select
  coalesce(sum(amount_minor), 0)::bigint as minor,
  coalesce(bool_or(status = 'pending' and gateway_reference is null), false) as "hasUnnamed"
from refunds
where merchant_id = $1 and payment_id = $2 and attempt_id = $3 and status <> 'failed'`

/** The refunds of an attempt in our records. */
export async function selectRefundSum(
  db: Tx,
  { merchantId, paymentId, id }: Pick<AttemptRow, 'merchantId' | 'paymentId' | 'id'>,
): Promise<RefundSum> {
  const row = await firstRow(db, selectRefundSumStatement, [merchantId, paymentId, id])
  return row ?? { minor: 0n, hasUnnamed: false }
}
