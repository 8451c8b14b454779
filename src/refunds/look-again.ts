// A refund that was successful may fail after all, when the payer's bank cannot take it: the money is at the gateway again,
// and neither the payer nor the merchant has it. When the gateway rings it is asked, and a person is told.

import { openCase } from '../disputes/cases.ts'
import type { Gateway, RefundOutcome } from '../gateways/gateway.ts'
import { addMs } from '../kit/clock.ts'
import { jittered } from '../kit/random.ts'
import { unknownDelayMs } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { ask } from './ask.ts'
import { noteLook, type RefundRow } from './queries.ts'

/** The refund as it stands after one question about what was given. */
export async function lookAgain(
  app: PaymentsApp,
  gateway: Gateway | undefined,
  refund: RefundRow,
): Promise<RefundRow> {
  const outcome = gateway && (await ask(gateway, refund))
  if (outcome?.kind === 'failed') return noteFailure(app, refund)
  const at = app.clock.now()
  const dueAt = outcome && isUnanswered(outcome) ? nextLookAt(app, refund, at) : null
  return (await noteLook(app.db, refund, { statusReason: refund.statusReason, dueAt, at })) ?? refund
}

const isUnanswered = ({ kind, ...rest }: RefundOutcome) =>
  kind === 'unknown' && 'reason' in rest && rest.reason !== 'not_found'

// About an hour, and most outages are over by then; the next doorbell makes us ask again.
const MAX_TRIES = 100

function nextLookAt(app: PaymentsApp, { tries }: RefundRow, now: Date): Date | null {
  return tries >= MAX_TRIES ? null : addMs(now, jittered(app.random, unknownDelayMs(tries)))
}

async function noteFailure(app: PaymentsApp, refund: RefundRow): Promise<RefundRow> {
  const { merchantId, paymentId, attemptId, id: refundId, gateway } = refund
  const noted = await app.db.transaction(async (tx) => {
    const row = await noteLook(tx, refund, {
      statusReason: 'failed_late',
      dueAt: null,
      at: app.clock.now(),
    })
    if (!row) return undefined
    await openCase(app, tx, { merchantId, kind: 'refund_failed_late', paymentId, attemptId, refundId })
    return row
  })
  const facts = { merchantId, paymentId, refundId, gateway, reason: 'failed_late' }
  if (noted) app.log.error('a refund that was successful has failed, and needs a person', facts)
  return noted ?? refund
}
