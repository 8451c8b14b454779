// Every statement over attempts, except what the move of a payment and the webhooks about it write.

import type { FailureCode } from '../core/failures.ts'
import type { CheckoutChoice, NextStep } from '../gateways/gateway.ts'
import { type Db, sql, type Tx } from '../kit/db.ts'
import type { AttemptStatus } from './states.ts'

export interface AttemptRow {
  merchantId: string
  id: string
  paymentId: string
  number: number
  operation: 'checkout' | 'charge'
  gateway: string
  /** The merchant's own account at the gateway; null is the installation's. */
  accountId: string | null
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
  /** What has gone back of money that came twice. */
  refundedMinor: bigint
  startedAt: Date
  endedAt: Date | null
  /** When the payer said that the money was sent. */
  sentAt: Date | null
  /** When the payer came back from the gateway's page. */
  returnedAt: Date | null
  dueAt: Date | null
  tries: number
  fence: number
}

const ATTEMPT_COLUMNS = `
  a.merchant_id as "merchantId", a.id, a.payment_id as "paymentId", a.number, a.operation, a.gateway,
  a.account_id as "accountId", a.channel, a.status, a.gateway_key as "gatewayKey", a.gateway_reference as "gatewayReference", a.choice,
  a.next_step as "nextStep", a.failure_code as "failureCode", a.failure_words as "failureWords",
  a.paid_minor as "paidMinor", a.paid_currency as "paidCurrency", a.refunded_minor as "refundedMinor", a.started_at as "startedAt",
  a.ended_at as "endedAt", a.sent_at as "sentAt", a.returned_at as "returnedAt", a.due_at as "dueAt", a.tries, a.fence`

const selectAttempts = sql<AttemptRow>`
select ${ATTEMPT_COLUMNS}
from attempts a
where a.merchant_id = $1 and a.payment_id = $2
order by a.number`

export async function listAttempts(db: Tx, merchantId: string, paymentId: string): Promise<AttemptRow[]> {
  return db.query(selectAttempts, [merchantId, paymentId])
}

const selectAttemptsOfMany = sql<AttemptRow>`
select ${ATTEMPT_COLUMNS}
from attempts a
where a.merchant_id = $1 and a.payment_id = any ($2::uuid[])
order by a.payment_id, a.number`

/** The attempts of several payments, each payment's in order. */
export async function listAttemptsOfMany(
  db: Db,
  merchantId: string,
  paymentIds: readonly string[],
): Promise<AttemptRow[]> {
  return db.query(selectAttemptsOfMany, [merchantId, paymentIds])
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
set status_reason = coalesce(nullif(p.status_reason, 'outcome_unknown'), 'awaiting_customer')
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

const notePayerStatement = sql<unknown>`
update attempts
set
  sent_at = case when $3 = 'sent' then coalesce(sent_at, $4) else sent_at end,
  returned_at = case when $3 = 'returned' then coalesce(returned_at, $4) else returned_at end
where merchant_id = $1 and id = $2`

/** Keeps what the payer said or did, the first time. */
export async function notePayer(
  db: Db,
  { merchantId, id }: AttemptRow,
  what: 'sent' | 'returned',
  at: Date,
): Promise<void> {
  await db.query(notePayerStatement, [merchantId, id, what, at])
}

const postponeAttemptStatement = sql<unknown>`
update attempts
set
  due_at = case when due_at = $4 then $5 else due_at end,
  gateway_reference = coalesce($6, gateway_reference)
where merchant_id = $1 and id = $2 and fence = $3`

/**
 * When to ask again, or null for no more, and by which reference. A no-op when another process has claimed the attempt
 * meanwhile; when a doorbell has rung since we looked its time stays, because it may be about what came after our question.
 */
export async function postponeAttempt(
  db: Db,
  attempt: AttemptRow,
  dueAt: Date | null,
  gatewayReference: string | null,
): Promise<void> {
  const { merchantId, id, fence, dueAt: leasedUntil } = attempt
  await db.query(postponeAttemptStatement, [merchantId, id, fence, leasedUntil, dueAt, gatewayReference])
}

const ringAttemptStatement = sql<unknown>`
update attempts
set due_at = $3, tries = 0
where merchant_id = $1
  and gateway_key = $2
  and status in ('started', 'awaiting_customer')
  and (due_at is null or due_at > $3)`

/** Makes an attempt due, in the transaction of what it is to be asked about. */
export async function ringAttempt(tx: Tx, merchantId: string, gatewayKey: string, at: Date): Promise<void> {
  await tx.query(ringAttemptStatement, [merchantId, gatewayKey, at])
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
set due_at = $2, asked_at = $1, tries = a.tries + 1, fence = a.fence + 1
from due d
where a.merchant_id = d.merchant_id and a.id = d.id
returning a.merchant_id as "merchantId", a.payment_id as "paymentId", a.id, a.gateway`

/** Attempts whose time has come, leased until `leaseUntil`: a process that dies gives them back by then. */
export async function claimDueAttempts(
  db: Db,
  now: Date,
  leaseUntil: Date,
  limit: number,
  /** Those that have enough to answer already. */
  busyGateways: readonly string[],
): Promise<ClaimedAttempt[]> {
  return db.query(claimDueAttemptsStatement, [now, leaseUntil, limit, busyGateways])
}
