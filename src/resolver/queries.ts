// Claims of due checkouts and attempts. A claim is a lease: a row whose process dies becomes due again.

import { type Db, sql } from '../kit/db/db.ts'
import { PAYMENT_COLUMNS, type PaymentRow } from '../payments/payment.ts'

const claimDueCheckoutsStatement = sql<PaymentRow>`
with due as (
  select merchant_id, id
  from payments
  where due_at <= $1
  order by due_at
  limit $3
  for update skip locked
)
update payments p
set due_at = $2
from due d
where p.merchant_id = d.merchant_id and p.id = d.id
returning ${PAYMENT_COLUMNS}`

/** Open checkouts whose time has passed, leased until `leaseUntil`. */
export async function claimDueCheckouts(
  db: Db,
  now: Date,
  leaseUntil: Date,
  limit: number,
): Promise<PaymentRow[]> {
  return db.query(claimDueCheckoutsStatement, [now, leaseUntil, limit])
}

export interface ClaimedAttempt {
  merchantId: string
  paymentId: string
  id: string
  gateway: string
}

const claimDueAttemptsStatement = sql<ClaimedAttempt>`
with due as (
  select merchant_id, id
  from attempts
  where due_at <= $1 and gateway <> all ($4)
  order by due_at
  limit $3
  for update skip locked
)
update attempts a
set due_at = $2, polled_at = $1, polls = a.polls + 1, fence = a.fence + 1
from due d
where a.merchant_id = d.merchant_id and a.id = d.id
returning a.merchant_id as "merchantId", a.payment_id as "paymentId", a.id, a.gateway`

/** Due attempts, leased until `leaseUntil`. The fence makes the writes of an earlier lease holder fail. */
export async function claimDueAttempts(
  db: Db,
  now: Date,
  leaseUntil: Date,
  limit: number,
  /** Gateways that have the maximum of attempts in flight. */
  saturatedGateways: readonly string[],
): Promise<ClaimedAttempt[]> {
  return db.query(claimDueAttemptsStatement, [now, leaseUntil, limit, saturatedGateways])
}
