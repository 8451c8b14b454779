// Every statement over the refunds of duplicate payments: attempts that succeeded after their payment was paid.

import { sql } from '../kit/db/db.ts'
import type { DuplicateRow } from './duplicate.ts'

export const claimDueDuplicatesStatement = sql<DuplicateRow>`
with due as (
  select merchant_id, id
  from attempts
  where refund_due_at <= $1
  order by refund_due_at
  limit $3
  for update skip locked
)
update attempts a
set refund_due_at = $2
from due d
where a.merchant_id = d.merchant_id and a.id = d.id
returning
  a.merchant_id as "merchantId", a.id as "attemptId", a.payment_id as "paymentId",
  exists (
    select 1
    from cases c
    where c.merchant_id = a.merchant_id
      and c.attempt_id = a.id
      and c.kind = 'duplicate_not_refundable'
      and c.closed_at is null
  ) as "hasOpenCase"`

export const unscheduleDuplicateRefundStatement = sql<{ id: string }>`
update attempts
set refund_due_at = null
where merchant_id = $1 and id = $2 and status = 'duplicate_success' and refund_due_at is not null
returning id`

export const scheduleDuplicateRefundStatement = sql<unknown>`
update attempts
set refund_due_at = $3
where merchant_id = $1 and id = $2 and status = 'duplicate_success'`

export const lockAttemptStatement = sql<unknown>`
select id
from attempts
where merchant_id = $1 and id = $2
for no key update`

export const updateDuplicateRefundTotalStatement = sql<unknown>`
update attempts
set refunded_minor = refunded_minor + $3
where merchant_id = $1 and id = $2 and status in ('duplicate_success', 'amount_mismatch')`
