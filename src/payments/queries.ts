// Every statement over payments, references and idempotency keys, except the two that carry the money path
// (record-queries and settle-queries).

import type { Currency } from '../core/currency.ts'
import type { FailureCode } from '../core/failures.ts'
import { type Db, sql, type Tx } from '../kit/db.ts'
import type { PaymentStatus } from './states.ts'

export interface PaymentRow {
  merchantId: string
  id: string
  kind: 'checkout' | 'charge'
  reference: string
  status: PaymentStatus
  statusReason: string | null
  version: number
  amountMinor: bigint
  currency: Currency
  amountPaidMinor: bigint | null
  feeMinor: bigint | null
  refundedMinor: bigint
  gateway: string
  country: string | null
  description: string | null
  metadata: Record<string, unknown>
  redirectUrl: string | null
  isRecurring: boolean
  customerId: string
  customerEmail: string
  customerFirstname: string
  customerLastname: string
  accessSealed: string | null
  attemptsUsed: number
  /** How many of the attempts took over at once from one that provably began nothing. */
  failovers: number
  paymentMethodId: string | null
  recoveryPaymentId: string | null
  /** The payment link at which it was begun. */
  linkId: string | null
  failureCode: FailureCode | null
  failureWords: string | null
  expiresAt: Date | null
  dueAt: Date | null
  paidAt: Date | null
  createdAt: Date
}

export const PAYMENT_COLUMNS = `
  p.merchant_id as "merchantId", p.id, p.kind, p.reference, p.status, p.status_reason as "statusReason", p.version,
  p.amount_minor as "amountMinor", p.currency, p.amount_paid_minor as "amountPaidMinor", p.fee_minor as "feeMinor",
  p.refunded_minor as "refundedMinor", p.gateway, p.country, p.description, p.metadata,
  p.redirect_url as "redirectUrl", p.is_recurring as "isRecurring", p.customer_id as "customerId",
  p.customer_email as "customerEmail", p.customer_firstname as "customerFirstname",
  p.customer_lastname as "customerLastname", p.access_sealed as "accessSealed", p.attempts_used as "attemptsUsed",
  p.failovers,
  p.payment_method_id as "paymentMethodId", p.recovery_payment_id as "recoveryPaymentId",
  p.link_id as "linkId",
  p.failure_code as "failureCode", p.failure_words as "failureWords", p.expires_at as "expiresAt",
  p.due_at as "dueAt", p.paid_at as "paidAt", p.created_at as "createdAt"`

export interface ReferenceRow {
  paymentId: string
  fingerprint: Buffer
}

const selectByReference = sql<ReferenceRow>`
select payment_id as "paymentId", fingerprint
from payment_references
where merchant_id = $1 and reference = $2`

export async function findReference(
  db: Db,
  merchantId: string,
  reference: string,
): Promise<ReferenceRow | undefined> {
  const [row] = await db.query(selectByReference, [merchantId, reference])
  return row
}

// A key that was claimed together with a reference which another body holds has made nothing, so it is given back.
const deleteIdempotencyKey = sql<unknown>`
delete from idempotency_keys
where merchant_id = $1 and key = $2 and claimed_by = $3`

export async function releaseIdempotencyKey(
  db: Db,
  merchantId: string,
  key: string,
  claimedBy: string,
): Promise<void> {
  await db.query(deleteIdempotencyKey, [merchantId, key, claimedBy])
}

const forgetIdempotencyKeysStatement = sql<{ key: string }>`
with old as materialized (
  select merchant_id, key
  from idempotency_keys
  where created_at < $1
  limit 1000
)
delete from idempotency_keys k
using old
where k.merchant_id = old.merchant_id and k.key = old.key
returning k.key`

export async function forgetIdempotencyKeys(db: Db, before: Date): Promise<number> {
  return (await db.query(forgetIdempotencyKeysStatement, [before])).length
}

const selectPayment = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = $2`

export async function findPayment(db: Tx, merchantId: string, id: string): Promise<PaymentRow | undefined> {
  const [row] = await db.query(selectPayment, [merchantId, id])
  return row
}

const selectPayments = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = any ($2::uuid[])`

/** In no order. */
export async function findPayments(
  db: Db,
  merchantId: string,
  ids: readonly string[],
): Promise<PaymentRow[]> {
  return db.query(selectPayments, [merchantId, ids])
}

const selectPaymentByReference = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payment_references r
join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id
where r.merchant_id = $1 and r.reference = $2`

export async function findPaymentByReference(
  db: Db,
  merchantId: string,
  reference: string,
): Promise<PaymentRow | undefined> {
  const [row] = await db.query(selectPaymentByReference, [merchantId, reference])
  return row
}

// The access code is a capability that stands for merchant and payment together, so no merchant is asked for here.
const selectPaymentByAccess = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.access_hash = $1`

export async function findPaymentByAccess(db: Db, accessHash: Buffer): Promise<PaymentRow | undefined> {
  const [row] = await db.query(selectPaymentByAccess, [accessHash])
  return row
}

// The version stays, because nothing has moved: it counts moves, and each has its event. Whoever ends a checkout for time
// compares the time itself (settle-queries), so an expiry that was decided before does not win.
const extendExpiryStatement = sql<unknown>`
update payments
set expires_at = $4, due_at = $4
where merchant_id = $1
  and id = $2
  and kind = 'checkout'
  and status = 'pending'
  and expires_at > $3
  and expires_at < $4`

/** Moves the end of an open checkout on. A no-op when it is over by now, or ends later anyway. */
export async function extendExpiry(
  db: Db,
  merchantId: string,
  id: string,
  now: Date,
  expiresAt: Date,
): Promise<void> {
  await db.query(extendExpiryStatement, [merchantId, id, now, expiresAt])
}

export interface Hold {
  merchantId: string
  paymentId: string
  /** Of the attempt by which the money is said to come. */
  gatewayKey: string
  reason: string
  at: Date
  until: Date
  /** For a payment of a link, where somebody else may be waiting for the place. */
  untilAtLink: Date
}

// As above the version stays, and who ends the checkout for the payer compares the time as well. Whoever has said that
// money is under way is given the time to find it. The attempt goes first, as in every statement that writes both.
const holdOpenStatement = sql<unknown>`
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

/**
 * Notes that the money of an attempt is said to be sent, and keeps its checkout open for it. A checkout that is over, or
 * that another attempt has under way, stays as it is.
 */
export async function holdOpen(tx: Tx, hold: Hold): Promise<void> {
  const { merchantId, paymentId, gatewayKey, reason, at, until, untilAtLink } = hold
  await tx.query(holdOpenStatement, [merchantId, paymentId, gatewayKey, reason, at, until, untilAtLink])
}

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
