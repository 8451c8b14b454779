// Webhooks that were stored before their attempt was known: it is looked for again, also in the cells to which merchants of
// this one were moved meanwhile.

import { areSeveral, askEveryCell, type CellHistory, currentCell, inCellOf } from '../kit/cells/cells.ts'
import { addMs } from '../kit/clock.ts'
import { DbUnavailable, movedMerchantOf } from '../kit/db/db.ts'
import type { PaymentsApp } from '../payments/app.ts'
import {
  findNamedAttempts,
  markHandled,
  type NamedAttempt,
  purgeWebhooksBefore,
  type RetriedWebhook,
  retryUnmatchedWebhooks,
  wakeAttempt,
} from './retry-queries.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const RETRY_BATCH_SIZE = 200

// After three days the payment is not expected any more; the webhook is kept but not matched again.
const RETRY_PERIOD_MS = 3 * DAY_MS

type RetryApp = Pick<PaymentsApp, 'db' | 'cells' | 'clock'>

export async function retryGatewayWebhooks(app: RetryApp): Promise<number> {
  const now = app.clock.now()
  const expiredBefore = addMs(now, -RETRY_PERIOD_MS)
  const retried = await retryUnmatchedWebhooks(app.db, now, expiredBefore, RETRY_BATCH_SIZE)
  const unmatched = retried.filter(({ isHandled }) => !isHandled)
  const { cells } = app
  if (cells && areSeveral(cells) && unmatched.length > 0) await retryElsewhere({ ...app, cells }, unmatched)
  return retried.length
}

/** Wakes attempts whose merchant was in this cell, or is moved from it or to it. */
async function retryElsewhere(
  app: RetryApp & { cells: CellHistory },
  webhooks: readonly RetriedWebhook[],
): Promise<void> {
  const { db, cells, clock } = app
  const here = currentCell() ?? 0
  const places = [here, ...cells.successorsOf(here)]
  const { results } = await askEveryCell(cells, () => findNamedAttempts(db, webhooks), places)
  const attempts = new Map(results.flat().map((one) => [one.index, one]))
  const handled: RetriedWebhook[] = []
  for (const [index, webhook] of webhooks.entries()) {
    const attempt = attempts.get(index)
    if (attempt && (await wakeElsewhere(app, attempt, webhook))) handled.push(webhook)
  }
  if (handled.length > 0) await markHandled(db, handled, clock.now())
}

/** False if the cell of the merchant does not answer: the webhook is retried later. */
async function wakeElsewhere(
  { db, cells, clock }: RetryApp & { cells: CellHistory },
  attempt: NamedAttempt,
  { checksPaid }: RetriedWebhook,
): Promise<boolean> {
  const wake = () => wakeAttempt(db, attempt, { checksPaid, now: clock.now() })
  try {
    await inCellOf(cells, attempt.merchantId, wake)
    return true
  } catch (error) {
    if (!(error instanceof DbUnavailable) && movedMerchantOf(error) === undefined) throw error
    return false
  }
}

// Some providers sign no timestamp, so a captured webhook can be replayed at any time. Within the retention a replay
// polls only the refunds of the payment; after the purge also the payment, if it is unpaid or the webhook is of a dispute.
const RETENTION_MS = 400 * DAY_MS

export function purgeGatewayWebhooks(app: PaymentsApp): Promise<number> {
  return purgeWebhooksBefore(app.db, addMs(app.clock.now(), -RETENTION_MS))
}
