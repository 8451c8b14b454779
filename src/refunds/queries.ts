// The statements over refunds, except the lists and reconciliation.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import { BACKLOG_LIMIT, type Backlog } from '../kit/observability/backlog.ts'
import type { RefundKey, Report, SavedReport } from '../payments/app.ts'
import { REFUND, type RefundRow, type RefundWake } from './refund.ts'
import type { RefundReason } from './states.ts'

const COLUMNS = REFUND.select('r')

const insertRefundStatement = sql<unknown>`
insert into refunds (${REFUND.list()})
values (${REFUND.placeholders()})`

export async function insertRefund(tx: Tx, refund: RefundRow): Promise<void> {
  await tx.query(insertRefundStatement, REFUND.values(refund))
}

const selectRefund = sql<RefundRow>`
select ${COLUMNS}
from refunds r
where r.merchant_id = $1 and r.id = $2`

export async function findRefund(db: Tx, merchantId: string, id: string): Promise<RefundRow | undefined> {
  return firstRow(db, selectRefund, [merchantId, id])
}

const selectDuplicateRefundStatement = sql<{ id: string }>`
select id
from refunds
where merchant_id = $1 and attempt_id = $2 and is_duplicate and status <> 'failed'`

/** The refund of held money of an attempt; there is at most one. */
export async function selectDuplicateRefund(
  tx: Tx,
  merchantId: string,
  attemptId: string,
): Promise<{ id: string } | undefined> {
  return firstRow(tx, selectDuplicateRefundStatement, [merchantId, attemptId])
}

interface RefundReferenceRow {
  refundId: string
  fingerprint: Buffer
}

// Waits for a concurrent transaction that claims the same reference.
const claimRefundReferenceStatement = sql<{ refundId: string }>`
insert into refund_references (merchant_id, reference, refund_id, fingerprint)
values ($1, $2, $3, $4)
on conflict (merchant_id, reference) do nothing
returning refund_id as "refundId"`

/** False if an earlier refund has this reference. */
export async function claimRefundReference(
  tx: Tx,
  merchantId: string,
  reference: string,
  claim: RefundReferenceRow,
): Promise<boolean> {
  const values = [merchantId, reference, claim.refundId, claim.fingerprint]
  return (await tx.query(claimRefundReferenceStatement, values)).length > 0
}

const selectRefundReference = sql<RefundReferenceRow>`
select refund_id as "refundId", fingerprint
from refund_references
where merchant_id = $1 and reference = $2`

export async function findRefundReference(
  tx: Tx,
  merchantId: string,
  reference: string,
): Promise<RefundReferenceRow | undefined> {
  return firstRow(tx, selectRefundReference, [merchantId, reference])
}

const markSubmittedStatement = sql<RefundRow>`
update refunds r
set submitted_at = coalesce(r.submitted_at, $4), is_blocking = $5
where r.merchant_id = $1 and r.id = $2 and r.fence = $3 and r.status = 'pending'
returning ${COLUMNS}`

/**
 * Records that a call may follow. Returns undefined if another process has claimed the refund since. Throws a unique
 * violation if the refund would block and another refund of the payment blocks already.
 */
export async function markSubmitted(
  db: Db,
  { merchantId, id, fence }: RefundRow,
  at: Date,
  isBlocking: boolean,
): Promise<RefundRow | undefined> {
  return firstRow(db, markSubmittedStatement, [merchantId, id, fence, at, isBlocking])
}

export interface RefundProgress {
  statusReason: RefundReason | null
  gatewayReference: string | null
  dueAt: Date
  /** The call never reached the gateway. */
  isUnsent: boolean
  /** Another refund of the payment may be submitted now. */
  stopsBlocking: boolean
  at: Date
}

const saveRefundProgressStatement = sql<RefundRow>`
update refunds r
set
  status_reason = $4,
  gateway_reference = coalesce($5, r.gateway_reference),
  due_at = case when r.due_at = $6 then $7 else r.due_at end,
  submitted_at = case when $8 then null else r.submitted_at end,
  is_blocking = r.is_blocking and not $9,
  updated_at = case when r.status_reason is distinct from $4 then $10 else r.updated_at end
where r.merchant_id = $1 and r.id = $2 and r.fence = $3 and r.status = 'pending'
returning ${COLUMNS}`

/**
 * Stores the progress of a pending refund and its next poll. If a webhook has changed `due_at` meanwhile, the webhook's time
 * stays. Returns undefined if another process has claimed or completed the refund.
 */
export async function saveRefundProgress(
  db: Tx,
  refund: RefundRow,
  progress: RefundProgress,
): Promise<RefundRow | undefined> {
  return firstRow(db, saveRefundProgressStatement, [
    refund.merchantId,
    refund.id,
    refund.fence,
    progress.statusReason,
    progress.gatewayReference,
    refund.dueAt,
    progress.dueAt,
    progress.isUnsent,
    progress.stopsBlocking,
    progress.at,
  ])
}

const completeRefundStatement = sql<RefundRow>`
update refunds r
set
  status = $3,
  status_reason = null,
  version = r.version + 1,
  gateway_reference = coalesce($4, r.gateway_reference),
  failure_message = $5,
  is_blocking = false,
  due_at = null,
  updated_at = $6
where r.merchant_id = $1 and r.id = $2 and r.status = 'pending'
returning ${COLUMNS}`

/** Returns undefined if the refund was completed before: concurrent outcomes apply once. */
export async function completeRefund(
  tx: Tx,
  { merchantId, id }: RefundRow,
  completion: {
    status: 'successful' | 'failed'
    gatewayReference: string | null
    failureMessage: string | null
    at: Date
  },
): Promise<RefundRow | undefined> {
  const values = [
    merchantId,
    id,
    completion.status,
    completion.gatewayReference,
    completion.failureMessage,
    completion.at,
  ]
  return firstRow(tx, completeRefundStatement, values)
}

const wakeQueuedStatement = sql<unknown>`
update refunds
set due_at = $3
where merchant_id = $1 and payment_id = $2 and status_reason = 'queued' and due_at > $3`

/** Marks the queued refunds of the payment due, because no other refund blocks them any more. */
export async function wakeQueued(db: Db, { merchantId, paymentId }: RefundRow, at: Date): Promise<void> {
  await db.query(wakeQueuedStatement, [merchantId, paymentId, at])
}

const claimDueRefundsStatement = sql<RefundRow>`
with due as (
  select merchant_id, id
  from refunds
  where due_at <= $1 and gateway <> all ($4)
  order by due_at
  limit $3
  for update skip locked
)
update refunds r
set due_at = $2, polls = r.polls + 1, fence = r.fence + 1
from due d
where r.merchant_id = d.merchant_id and r.id = d.id
returning ${COLUMNS}`

/** Leases the due refunds until `leaseUntil`. If the process dies, they are claimed again after that. */
export async function claimDueRefunds(
  db: Db,
  now: Date,
  leaseUntil: Date,
  limit: number,
  /** Gateways that have the maximum of refunds in flight. */
  saturatedGateways: readonly string[],
): Promise<RefundRow[]> {
  return db.query(claimDueRefundsStatement, [now, leaseUntil, limit, saturatedGateways])
}

const saveRecheckStatement = sql<RefundRow>`
update refunds r
set
  status_reason = $4,
  due_at = case when r.due_at = $5 then $6 else r.due_at end,
  updated_at = case when r.status_reason is distinct from $4 then $7 else r.updated_at end
where r.merchant_id = $1 and r.id = $2 and r.fence = $3 and r.status = 'successful'
returning ${COLUMNS}`

/** Stores the result of rechecking a successful refund. Returns undefined if another process has claimed it since. */
export async function saveRecheck(
  tx: Tx,
  refund: RefundRow,
  { statusReason, dueAt, at }: { statusReason: RefundReason | null; dueAt: Date | null; at: Date },
): Promise<RefundRow | undefined> {
  const { merchantId, id, fence, dueAt: leasedUntil } = refund
  return firstRow(tx, saveRecheckStatement, [merchantId, id, fence, statusReason, leasedUntil, dueAt, at])
}

const saveLateReasonStatement = sql<unknown>`
update refunds
set status_reason = $3, updated_at = $4
where merchant_id = $1 and id = $2 and status = 'successful' and status_reason = 'failed_late'`

export async function saveLateReason(
  tx: Tx,
  { merchantId, id }: RefundRow,
  reason: RefundReason,
  at: Date,
): Promise<void> {
  await tx.query(saveLateReasonStatement, [merchantId, id, reason, at])
}

const failLateStatement = sql<RefundRow>`
update refunds r
set
  status = 'failed',
  status_reason = 'credited_back',
  version = r.version + 1,
  failure_message = $3,
  due_at = null,
  updated_at = $4
where r.merchant_id = $1 and r.id = $2 and r.status = 'successful' and r.status_reason = 'failed_late'
returning ${COLUMNS}`

/** Returns undefined if the refund has not failed after its success, or was failed before. */
export async function failLate(
  tx: Tx,
  { merchantId, id }: RefundRow,
  failureMessage: string,
  at: Date,
): Promise<RefundRow | undefined> {
  return firstRow(tx, failLateStatement, [merchantId, id, failureMessage, at])
}

// Only the gateway knows our key, and the webhook's signature was verified for this account, so no tenant is checked here.
// Successful refunds are polled too: the payer's bank may have rejected the money later.
const IS_RECHECKABLE = `(due_at is null and status = 'successful' and status_reason is null)`

const markRefundsDueStatement = sql<unknown>`
update refunds
set due_at = $4, polls = 0
where attempt_key = $3
  and gateway = $1
  and account_id is not distinct from $2
  and (due_at > $4 or ${IS_RECHECKABLE})`

export async function markRefundsDue(
  db: Db,
  { gateway, accountId, key }: RefundWake,
  now: Date,
): Promise<void> {
  await db.query(markRefundsDueStatement, [gateway, accountId, key, now])
}

// The refunds that markRefundsDue would mark. A report is kept with any refund.
const IS_WOKEN = `(r.due_at > $6 or ${IS_RECHECKABLE})`
const wakeRefundByKeyStatement = sql<SavedReport>`
update refunds r
set
  due_at = case when ${IS_WOKEN} then $6 else r.due_at end,
  polls = case when ${IS_WOKEN} then 0 else r.polls end,
  report = case when r.report is null or ($5 and not r.report_is_final) then coalesce($4, r.report) else r.report end,
  report_is_final = r.report_is_final or ($5 and $4 is not null)
where r.gateway_key = $3 and r.gateway = $1 and r.account_id is not distinct from $2
returning $4::text is null or r.report = $4 as "isStored"`

/** Stores the report of a callback, if it has one, and marks the refund due, in one statement. */
export async function wakeRefundByKey(
  db: Db,
  { gateway, accountId, key }: RefundKey,
  report: Report | null,
  now: Date,
): Promise<SavedReport | undefined> {
  const values = [gateway, accountId, key, report?.text ?? null, report?.isFinal ?? false, now]
  return firstRow(db, wakeRefundByKeyStatement, values)
}

const selectBacklogStatement = sql<Backlog>`
select 'resolve-refunds' as name, count(*)::integer as due, min(r.due_at) as "oldestDueAt"
from (select due_at from refunds where due_at <= $1 order by due_at limit ${BACKLOG_LIMIT}) r`

export async function selectRefundBacklog(db: Db, now: Date): Promise<Backlog[]> {
  return db.query(selectBacklogStatement, [now])
}
