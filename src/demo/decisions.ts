// What people of the demo merchant decide and write down: requests for refunds with their approvals, and notes.

import { formatAmount, money } from '../core/money.ts'
import { runAudited } from '../kit/db/audit-context.ts'
import { createNote } from '../payment-notes/service.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { approveRequest, askForRefund, rejectRequest } from '../refund-requests/service.ts'
import type { History, PaidAttempt, Team } from './app.ts'
import { runAt } from './simulated-time.ts'

const HOUR_MS = 3_600_000

export const NOTES = {
  damaged: 'She sent photos: the parcel arrived open, and two pieces are broken.',
  proven: 'Delivery note and photos of the handover sent to the bank.',
  called: 'Called the customer. The difference is the fee of their bank.',
  waiting: 'The courier looks for the parcel. We call the customer back tomorrow.',
} as const

/** In the range for documentation: the people of the demo have no connection. */
const ADDRESS = '203.0.113.24'

/** Runs what a person does in the dashboard, which is in the audit log under their name. */
export function actAs<Result>(
  { app, team }: Pick<History, 'app' | 'team'>,
  by: keyof Team,
  operation: string,
  action: (person: Team[keyof Team]) => Promise<Result>,
): Promise<Result> {
  const person = team[by]
  const actor = { actorType: 'user', actorId: person.id, role: by, address: ADDRESS } as const
  const context = { ...actor, requestId: app.random.uuid(), operation, target: null, at: app.clock.now() }
  return runAudited(context, () => action(person))
}

export async function writeNote(
  history: History,
  { id: uuid }: PaymentRow,
  by: keyof Team,
  note: keyof typeof NOTES,
): Promise<void> {
  const { app, merchant } = history
  await actAs(history, by, 'POST /app/payments/{uuid}/notes', (person) =>
    createNote(app, merchant, person, { uuid, text: NOTES[note] }, undefined),
  )
}

/** Support asks for the refund. Returns the id of the request. */
export async function askRefund(
  history: History,
  { id: paymentUuid }: PaymentRow,
  amount: number,
  reason: string,
): Promise<string> {
  const { app, merchant } = history
  const { record } = await actAs(history, 'support', 'POST /app/refund-requests', (person) =>
    askForRefund(app, merchant, person, { paymentUuid, amount, reason }, undefined),
  )
  return record.id
}

/** Finance decides about the request. */
export async function decideRefund(history: History, requestId: string, isApproved: boolean): Promise<void> {
  const { app, merchant } = history
  const reason = 'The order is with the courier; ask again on Friday.'
  const operation = `POST /app/refund-requests/{uuid}/${isApproved ? 'approve' : 'reject'}`
  await actAs(history, 'finance', operation, (person) =>
    isApproved
      ? approveRequest(app, merchant, person, requestId)
      : rejectRequest(app, merchant, person, requestId, reason),
  )
}

// So many requests wait for a decision at the end of the history.
const OPEN_REQUESTS = 3
const NOT_RECENT_MS = 6 * HOUR_MS

/** The work of the last hours: requests that wait for a decision, and a note for the others. */
export async function leaveWork(history: History): Promise<void> {
  const { paid, nowMs } = history
  const earlier = paid.filter(({ payment }) => timeOf(payment) < nowMs - NOT_RECENT_MS)
  for (const [index, { payment }] of earlier.slice(-OPEN_REQUESTS).entries()) {
    const at = (hours: number) => timeOf(payment) + hours * HOUR_MS
    if (index === 0) await runAt(at(1), () => writeNote(history, payment, 'support', 'waiting'))
    await runAt(at(index + 2), () => askRefund(history, payment, wholeOf(payment), 'Not delivered yet'))
  }
}

const wholeOf = ({ amountMinor, currency }: PaymentRow) => Number(formatAmount(money(amountMinor, currency)))

const timeOf = ({ paidAt, createdAt }: PaidAttempt['payment']) => (paidAt ?? createdAt).getTime()
