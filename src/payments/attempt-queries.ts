// Every statement over attempts, except what the move of a payment and the webhooks about it write.

import { type Db, sql, type Tx } from '../kit/db.ts'
import type { AttemptRow } from './attempt.ts'

const ATTEMPT_COLUMNS = `
  a.merchant_id as "merchantId", a.id, a.payment_id as "paymentId", a.number, a.operation, a.gateway,
  a.account_id as "accountId", a.channel, a.status, a.gateway_key as "gatewayKey", a.gateway_reference as "gatewayReference", a.choice,
  a.next_step as "nextStep", a.failure_code as "failureCode", a.failure_message as "failureMessage",
  a.paid_minor as "paidMinor", a.paid_currency as "paidCurrency", a.refunded_minor as "refundedMinor", a.started_at as "startedAt",
  a.ended_at as "endedAt", a.sent_at as "sentAt", a.returned_at as "returnedAt", a.due_at as "dueAt", a.polls, a.fence`

const selectAttempts = sql<AttemptRow>`
select ${ATTEMPT_COLUMNS}
from attempts a
where a.merchant_id = $1 and a.payment_id = $2
order by a.number`

export async function listAttempts(db: Tx, merchantId: string, paymentId: string): Promise<AttemptRow[]> {
  return db.query(selectAttempts, [merchantId, paymentId])
}

const selectAttemptsOfPayments = sql<AttemptRow>`
select ${ATTEMPT_COLUMNS}
from attempts a
where a.merchant_id = $1 and a.payment_id = any ($2::uuid[])
order by a.payment_id, a.number`

/** The attempts of several payments, each payment's in order. */
export async function listAttemptsOfPayments(
  db: Db,
  merchantId: string,
  paymentIds: readonly string[],
): Promise<AttemptRow[]> {
  return db.query(selectAttemptsOfPayments, [merchantId, paymentIds])
}

const wakeAttemptStatement = sql<unknown>`
update attempts
set due_at = $3, polls = 0
where merchant_id = $1
  and gateway_key = $2
  and status in ('started', 'awaiting_customer')
  and (due_at is null or due_at > $3)`

/** Makes an attempt due, in the transaction of what it is to be asked about. */
export async function wakeAttempt(tx: Tx, merchantId: string, gatewayKey: string, at: Date): Promise<void> {
  await tx.query(wakeAttemptStatement, [merchantId, gatewayKey, at])
}
