// Every statement over payments and attempts except the two that carry the money path (record-queries and
// settle-queries).

import type { Currency } from '../core/currency.ts'
import type { FailureCode } from '../core/failures.ts'
import type { CheckoutChoice, NextStep } from '../gateways/gateway.ts'
import { type Db, sql } from '../kit/db.ts'
import type { AttemptStatus, PaymentStatus } from './states.ts'

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
  paymentMethodId: string | null
  recoveryPaymentId: string | null
  failureCode: FailureCode | null
  failureWords: string | null
  expiresAt: Date | null
  dueAt: Date | null
  paidAt: Date | null
  createdAt: Date
}

const PAYMENT_COLUMNS = `
  p.merchant_id as "merchantId", p.id, p.kind, p.reference, p.status, p.status_reason as "statusReason", p.version,
  p.amount_minor as "amountMinor", p.currency, p.amount_paid_minor as "amountPaidMinor", p.fee_minor as "feeMinor",
  p.refunded_minor as "refundedMinor", p.gateway, p.country, p.description, p.metadata,
  p.redirect_url as "redirectUrl", p.is_recurring as "isRecurring", p.customer_id as "customerId",
  p.customer_email as "customerEmail", p.customer_firstname as "customerFirstname",
  p.customer_lastname as "customerLastname", p.access_sealed as "accessSealed", p.attempts_used as "attemptsUsed",
  p.payment_method_id as "paymentMethodId", p.recovery_payment_id as "recoveryPaymentId",
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

export interface IdempotencyRow {
  operation: string
  fingerprint: Buffer
  resource: string
}

const selectIdempotencyKey = sql<IdempotencyRow>`
select operation, fingerprint, resource
from idempotency_keys
where merchant_id = $1 and key = $2`

export async function findIdempotencyKey(
  db: Db,
  merchantId: string,
  key: string,
): Promise<IdempotencyRow | undefined> {
  const [row] = await db.query(selectIdempotencyKey, [merchantId, key])
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
delete from idempotency_keys
where (merchant_id, key) in (
  select merchant_id, key
  from idempotency_keys
  where created_at < $1
  limit 1000
)
returning key`

export async function forgetIdempotencyKeys(db: Db, before: Date): Promise<number> {
  return (await db.query(forgetIdempotencyKeysStatement, [before])).length
}

const selectPayment = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = $2`

export async function findPayment(db: Db, merchantId: string, id: string): Promise<PaymentRow | undefined> {
  const [row] = await db.query(selectPayment, [merchantId, id])
  return row
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

export interface AttemptRow {
  merchantId: string
  id: string
  paymentId: string
  number: number
  operation: 'checkout' | 'charge'
  gateway: string
  channel: string
  status: AttemptStatus
  gatewayKey: string
  gatewayReference: string | null
  choice: CheckoutChoice | null
  nextStep: NextStep | null
  failureCode: FailureCode | null
  failureWords: string | null
  paidMinor: bigint | null
  paidCurrency: string | null
  startedAt: Date
  endedAt: Date | null
  dueAt: Date | null
  tries: number
  fence: number
}

const ATTEMPT_COLUMNS = `
  a.merchant_id as "merchantId", a.id, a.payment_id as "paymentId", a.number, a.operation, a.gateway, a.channel,
  a.status, a.gateway_key as "gatewayKey", a.gateway_reference as "gatewayReference", a.choice,
  a.next_step as "nextStep", a.failure_code as "failureCode", a.failure_words as "failureWords",
  a.paid_minor as "paidMinor", a.paid_currency as "paidCurrency", a.started_at as "startedAt",
  a.ended_at as "endedAt", a.due_at as "dueAt", a.tries, a.fence`

const selectAttempts = sql<AttemptRow>`
select ${ATTEMPT_COLUMNS}
from attempts a
where a.merchant_id = $1 and a.payment_id = $2
order by a.number`

export async function listAttempts(db: Db, merchantId: string, paymentId: string): Promise<AttemptRow[]> {
  return db.query(selectAttempts, [merchantId, paymentId])
}

const markAwaitingStatement = sql<{ id: string }>`
with awaiting as (
  update attempts
  set
    status = 'awaiting_customer',
    gateway_reference = coalesce($4, gateway_reference),
    next_step = coalesce($5::jsonb, next_step),
    due_at = $6
  where merchant_id = $1 and id = $2 and fence = $3 and status in ('started', 'awaiting_customer')
  returning id, payment_id
)
update payments p
set status_reason = 'awaiting_customer'
from awaiting a
where p.merchant_id = $1 and p.id = a.payment_id and p.status = 'processing'
returning a.id`

/** The gateway has taken the attempt on and the payer is to act. */
export async function markAwaiting(
  db: Db,
  attempt: AttemptRow,
  gatewayReference: string | null,
  nextStep: NextStep | null,
  dueAt: Date | null,
): Promise<void> {
  await db.query(markAwaitingStatement, [
    attempt.merchantId,
    attempt.id,
    attempt.fence,
    gatewayReference,
    nextStep === null ? null : JSON.stringify(nextStep),
    dueAt,
  ])
}

const postponeAttemptStatement = sql<unknown>`
update attempts
set due_at = $4
where merchant_id = $1 and id = $2 and fence = $3 and due_at is not null`

/** When to ask again, or null for no more; a no-op when another process has claimed the attempt meanwhile. */
export async function postponeAttempt(db: Db, attempt: AttemptRow, dueAt: Date | null): Promise<void> {
  await db.query(postponeAttemptStatement, [attempt.merchantId, attempt.id, attempt.fence, dueAt])
}

const claimQuestionStatement = sql<{ id: string }>`
update attempts
set asked_at = $3
where merchant_id = $1 and id = $2 and (asked_at is null or asked_at <= $4)
returning id`

/** Whether this caller may ask the gateway now; over all processes only one may in the window. */
export async function claimQuestion(
  db: Db,
  attempt: AttemptRow,
  now: Date,
  notSince: Date,
): Promise<boolean> {
  const rows = await db.query(claimQuestionStatement, [attempt.merchantId, attempt.id, now, notSince])
  return rows.length > 0
}

export interface ClaimedAttempt {
  merchantId: string
  paymentId: string
  id: string
}

const claimDueAttemptsStatement = sql<ClaimedAttempt>`
with due as (
  select merchant_id, id
  from attempts
  where due_at <= $1
  order by due_at
  limit $3
  for update skip locked
)
update attempts a
set due_at = $2, asked_at = $1, tries = a.tries + 1, fence = a.fence + 1
from due d
where a.merchant_id = d.merchant_id and a.id = d.id
returning a.merchant_id as "merchantId", a.payment_id as "paymentId", a.id`

/** Attempts whose time has come, leased until `leaseUntil`: a process that dies gives them back by then. */
export async function claimDueAttempts(
  db: Db,
  now: Date,
  leaseUntil: Date,
  limit: number,
): Promise<ClaimedAttempt[]> {
  return db.query(claimDueAttemptsStatement, [now, leaseUntil, limit])
}

const hastenAttemptStatement = sql<{ id: string }>`
update attempts
set due_at = $3
where gateway = $1
  and gateway_key = $2
  and status in ('started', 'awaiting_customer', 'declined', 'requires_review')
  and (due_at is null or due_at > $3)
returning id`

/** A doorbell rang: the resolver looks at once, also after an attempt that was over, because late money is money. */
export async function hastenAttempt(db: Db, gateway: string, key: string, now: Date): Promise<void> {
  await db.query(hastenAttemptStatement, [gateway, key, now])
}

const insertInboundHook = sql<{ eventId: string }>`
insert into inbound_hooks (gateway, event_id, gateway_key, received_at)
values ($1, $2, $3, $4)
on conflict (gateway, event_id) do nothing
returning event_id as "eventId"`

/** False when this very webhook was noted before. */
export async function noteInboundHook(
  db: Db,
  gateway: string,
  eventId: string,
  key: string,
  now: Date,
): Promise<boolean> {
  return (await db.query(insertInboundHook, [gateway, eventId, key, now])).length > 0
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
