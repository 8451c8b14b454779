// The statements over payments, references and attempts, except the two of the money path (record-queries.ts and
// move-queries.ts). The functions that run them are in find.ts and update-attempt.ts.

import { SHOWN_METHOD } from '../customers/method.ts'
import { shared, sql } from '../kit/db/db.ts'
import { ATTEMPT, ATTEMPT_COLUMNS, type AttemptRow, SHOWN_ATTEMPT } from './attempt.ts'
import { type LockedPayment, PAYMENT, PAYMENT_COLUMNS, type PaymentRow } from './payment.ts'

export interface ReferenceRow {
  paymentId: string
  fingerprint: Buffer
}

export const selectByReference = sql<ReferenceRow>`
select payment_id as "paymentId", fingerprint
from payment_references
where merchant_id = $1 and reference = $2`

export const selectPayment = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = $2`

export const selectPayments = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = any ($2::uuid[])`

export const selectPaymentByReference = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payment_references r
join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id
where r.merchant_id = $1 and r.reference = $2`

// A row for each attempt, or one for a payment without any: what a record of the API is made of.
export const WHOLE_PAYMENT = {
  payment: PAYMENT.joined('p', PAYMENT.except()),
  attempt: ATTEMPT.joined('a', SHOWN_ATTEMPT),
  method: SHOWN_METHOD,
}
const WHOLE_COLUMNS = Object.values(WHOLE_PAYMENT)
  .map(({ select }) => select)
  .join(', ')
const ATTEMPTS_AND_METHOD = `
left join attempts a on a.merchant_id = p.merchant_id and a.payment_id = p.id
left join payment_methods m on m.merchant_id = p.merchant_id and m.id = p.payment_method_id`

// Of many payments at once (shared-reads.ts). From a limit that it does not know the planner expects few keys (record-queries.ts).
// A cast of a key in the condition would keep it out of the index under row-level security.
const wantedKeys = (type: 'text' | 'uuid') => `
from (
  select key
  from unnest($2::${type}[]) as given (key)
  limit (select cardinality($2::${type}[]))
) wanted`

export const selectWholePayment = shared(sql<object>`
select wanted.key::text, ${WHOLE_COLUMNS}${wantedKeys('uuid')}
join payments p on p.merchant_id = $1 and p.id = wanted.key${ATTEMPTS_AND_METHOD}
order by a.number`)

export const selectWholePaymentByReference = shared(sql<object>`
select wanted.key, ${WHOLE_COLUMNS}${wantedKeys('text')}
join payment_references r on r.merchant_id = $1 and r.reference = wanted.key
join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id${ATTEMPTS_AND_METHOD}
order by a.number`)

// The access code is a capability for one payment of one merchant, so this statement has no merchant condition.
export const selectPaymentByAccessHash = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.access_hash = $1`

/** Whose payment it is, before its merchant is known. */
export const selectMerchantByAccessHash = sql<{ merchantId: string }>`
select p.merchant_id as "merchantId"
from payments p
where p.access_hash = $1`

/** Whose attempt or refund has this key at the gateway. */
export const selectMerchantByGatewayKey = sql<{ merchantId: string }>`
select merchant_id as "merchantId"
from attempts
where gateway_key = $1
union all
select merchant_id
from refunds
where gateway_key = $1`

export const selectPaymentForUpdate = sql<LockedPayment>`
select ${PAYMENT_COLUMNS}, p.refund_reserved_minor as "refundReservedMinor"
from payments p
where p.merchant_id = $1 and p.id = $2
for no key update of p`

export const selectAtVersion = sql<{ id: string }>`
select id
from payments
where merchant_id = $1 and id = $2 and version = $3
for no key update`

export const selectWithoutMethod = sql<{ id: string }>`
select id
from payments
where merchant_id = $1 and id = $2 and payment_method_id is null
for no key update`

export const selectReferences = sql<{ id: string; reference: string }>`
select id, reference
from payments
where merchant_id = $1 and id = any ($2::uuid[])`

export const selectAttempts = sql<AttemptRow>`
select ${ATTEMPT_COLUMNS}
from attempts a
where a.merchant_id = $1 and a.payment_id = $2
order by a.number`

export const selectAttemptsOfPayments = sql<AttemptRow>`
select ${ATTEMPT_COLUMNS}
from attempts a
where a.merchant_id = $1 and a.payment_id = any ($2::uuid[])
order by a.payment_id, a.number`

export const makeAttemptDue = sql<unknown>`
update attempts
set due_at = $3, polls = 0
where merchant_id = $1
  and gateway_key = $2
  and status in ('started', 'awaiting_customer')
  and (due_at is null or due_at > $3)`

// The version stays: a process that ends the checkout compares expires_at as well. The attempt is locked first, as in every
// statement that writes both tables; the same order everywhere prevents deadlocks.
export const extendSentCheckout = sql<unknown>`
with sent as (
  update attempts
  set sent_at = coalesce(sent_at, $5)
  where merchant_id = $1
    and payment_id = $2
    and gateway_key = $3
    and status in ('started', 'awaiting_customer')
  returning number
)
update payments p
set
  status_reason = $4,
  expires_at = greatest(p.expires_at, case when p.link_id is null then $6::timestamptz else $7::timestamptz end),
  due_at = greatest(p.expires_at, case when p.link_id is null then $6::timestamptz else $7::timestamptz end)
from sent s
where p.merchant_id = $1
  and p.id = $2
  and p.kind = 'checkout'
  and p.status = 'processing'
  and p.attempts_used = s.number`
