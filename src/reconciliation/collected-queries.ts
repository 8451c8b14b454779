// Reads the payments that a gateway has collected according to our records, for reconciliation with its settlement file. A
// file covers one account, of the instance or of one merchant, so only attempts of that account are returned.

import type { Currency } from '../core/currency.ts'
import { SANDBOX } from '../core/gateway-accounts/name.ts'
import { type Db, sql } from '../kit/db/db.ts'
import type { AttemptRow } from '../payments/attempt.ts'

/** An account at a gateway: the merchant's own, or the instance's if merchantId is null. */
export interface GatewayAccount {
  gateway: string
  merchantId: string | null
}

export interface CollectedRow {
  merchantId: string
  paymentId: string
  /** Our key at the gateway. */
  key: string
  /** The gateway's own id of the payment. */
  reference: string | null
  status: AttemptRow['status']
  paidMinor: bigint | null
  paidCurrency: Currency | null
  /** The fee that the instance keeps. */
  feeMinor: bigint | null
}

const COLLECTED_COLUMNS = `
  a.merchant_id as "merchantId", a.payment_id as "paymentId", a.gateway_key as key, a.gateway_reference as reference,
  a.status, a.paid_minor as "paidMinor", a.paid_currency as "paidCurrency", p.fee_minor as "feeMinor"`

// The merchants of staging have no accounts of their own at the sandbox: each has its part of the one there.
const OF_ACCOUNT = `
  a.gateway = $1
  and (case when $2::uuid is null then a.account_id is null else a.merchant_id = $2 and (a.account_id is not null or a.gateway = '${SANDBOX}') end)`

const selectCollectedStatement = sql<CollectedRow>`
with named as (
  select merchant_id, id
  from attempts
  where gateway_key = any ($3::text[])
  union
  select merchant_id, id
  from attempts
  where gateway = $1 and gateway_reference = any ($4::text[])
)
select ${COLLECTED_COLUMNS}
from named n
join attempts a on a.merchant_id = n.merchant_id and a.id = n.id
join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
where ${OF_ACCOUNT}`

/** Finds the attempts with one of these keys or references, in any state. */
export async function findCollected(
  db: Db,
  account: GatewayAccount,
  keys: readonly string[],
  references: readonly string[],
): Promise<CollectedRow[]> {
  return db.query(selectCollectedStatement, [account.gateway, account.merchantId, keys, references])
}

export interface CollectedInPeriod extends CollectedRow {
  paidAt: Date
}

const listCollectedStatement = sql<CollectedInPeriod>`
select ${COLLECTED_COLUMNS}, p.paid_at as "paidAt"
from payments p
join attempts a
  on a.merchant_id = p.merchant_id and a.payment_id = p.id and a.gateway = p.gateway and a.status = 'succeeded'
where ${OF_ACCOUNT}
  and p.gateway = $1
  and p.paid_at >= $3
  and p.paid_at < $4
  and (p.paid_at, p.id) > ($5, $6::uuid)
order by p.paid_at, p.id
limit $7`

/** Lists the payments paid from `from` (inclusive) to `to` (exclusive), with keyset pagination after this position. */
export async function listCollected(
  db: Db,
  account: GatewayAccount,
  from: Date,
  to: Date,
  after: { paidAt: Date | '-infinity'; paymentId: string },
  limit: number,
): Promise<CollectedInPeriod[]> {
  return db.query(listCollectedStatement, [
    account.gateway,
    account.merchantId,
    from,
    to,
    after.paidAt,
    after.paymentId,
    limit,
  ])
}

const selectAccountsStatement = sql<{ gateway: string }>`
select distinct gateway
from gateway_accounts
where merchant_id = $1
order by gateway`

/** Where the merchant has an account, or had one: the provider still settles what a revoked account has collected. */
export async function listAccountGateways(db: Db, merchantId: string): Promise<string[]> {
  return (await db.query(selectAccountsStatement, [merchantId])).map(({ gateway }) => gateway)
}
