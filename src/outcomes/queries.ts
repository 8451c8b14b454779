import { type Db, sql } from '../kit/db.ts'
import type { AttemptRow } from '../payments/attempt.ts'

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

const claimQuestionStatement = sql<{ id: string }>`
update attempts
set polled_at = $3
where merchant_id = $1 and id = $2 and (polled_at is null or polled_at <= $4)
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
