// State transitions of a transfer: one transaction locks it, plans the steps, and writes them with their events and their
// effect on the payment. The caller then applies the outcome to the payment; if the process dies first, the resolver does.

import type { Mode } from '../core/merchant.ts'
import type { MethodRow } from '../customers/method.ts'
import { recordEvents } from '../events/service.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import { isReplay, type KeyClaim } from '../kit/db/idempotency.ts'
import type { Random } from '../kit/random.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { keepCheckoutOpen, wakeAttempt } from '../payments/update-attempt.ts'
import { loadRedactedPayment } from '../payments/views.ts'
import type { Step } from './plan.ts'
import { toTransfer } from './schema.ts'
import { eventOf, type TransferStatus } from './states.ts'
import type { TransferRow } from './transfer.ts'
import { insertMove, lockTransfer, type MoveSource, updateTransfer } from './transfer-queries.ts'

export interface MoveRequest {
  merchantId: string
  /** Of the payment. */
  id: string
  source: MoveSource
  method: MethodRow | null
  /** Returns the steps for the locked transfer. */
  plan(transfer: TransferRow): Step[]
  /** Saved with the last step. */
  rejectionReason?: string | null
  /** The idempotency claim of the request, if there is one. */
  claim?: KeyClaim
}

interface MoveResult {
  /** After the steps, or unchanged if there were none; undefined if the payment has no transfer. */
  transfer: TransferRow | undefined
  /** Whether the same request was processed before. */
  replayed: boolean
}

export function moveTransfer(app: PaymentsApp, request: MoveRequest): Promise<MoveResult> {
  return app.db.transaction(async (tx) => {
    const current = await lockTransfer(tx, request.merchantId, request.id)
    const replayed = request.claim !== undefined && (await isReplay(app, tx, request.claim))
    const steps = current && !replayed ? request.plan(current) : []
    const transfer = current && (await applySteps(app, tx, current, steps, request))
    return { transfer, replayed }
  })
}

/** Writes each step with its event, then the effect of the last status on the payment. */
async function applySteps(
  app: PaymentsApp,
  tx: Tx,
  current: TransferRow,
  steps: readonly Step[],
  request: MoveRequest,
): Promise<TransferRow> {
  const now = app.clock.now()
  const moved: TransferRow[] = []
  for (const { to: status, receivedMinor } of steps) {
    const from = moved.at(-1) ?? current
    const changed = { status, receivedMinor, version: from.version + 1, dueAt: null, updatedAt: now }
    moved.push({ ...from, ...changed })
    await insertMove(tx, from.status, { ...from, ...changed }, request.source)
  }
  const last = moved.at(-1)
  if (!last) return current
  const saved = { ...last, rejectionReason: request.rejectionReason ?? last.rejectionReason }
  await updateTransfer(tx, saved)
  await notifyPayment(tx, saved, now, request.source)
  await emitMoveEvents(app, tx, [...moved.slice(0, -1), saved], request.method)
  return saved
}

const DAY_MS = 24 * 3_600_000
// A merchant checks its account within a week. Then the checkout ends, and a later transfer is a late payment.
const CONFIRMATION_WINDOW_MS = 7 * DAY_MS
// Any payer can mark a transfer as sent at a link, and so reserve a slot that other payers wait for.
const LINK_CONFIRMATION_WINDOW_MS = DAY_MS
// This process applies the outcome at once; the resolver takes over only if the process dies.
const WAKE_DELAY_MS = 2_000

const PAYMENT_EFFECTS: Readonly<Record<TransferStatus, 'hold' | 'wake' | 'nothing'>> = {
  awaiting_payment: 'nothing',
  expired: 'nothing',
  marked_paid: 'hold',
  underpaid: 'hold',
  confirmed: 'wake',
  overpaid: 'wake',
  rejected: 'wake',
  cancelled: 'wake',
}

/** These statuses are also reasons of the payment, which waits for the merchant. */
function isHeld(status: TransferStatus): status is 'marked_paid' | 'underpaid' {
  return PAYMENT_EFFECTS[status] === 'hold'
}

/** Runs in the transaction of the move, so both commit together. */
export async function notifyPayment(
  tx: Tx,
  transfer: TransferRow,
  now: Date,
  source: MoveSource,
): Promise<void> {
  const { merchantId, id: paymentId, status, attemptKey } = transfer
  if (isHeld(status)) {
    const until = addMs(now, CONFIRMATION_WINDOW_MS)
    const untilAtLink = source === 'merchant' ? until : addMs(now, LINK_CONFIRMATION_WINDOW_MS)
    const hold = { merchantId, paymentId, gatewayKey: attemptKey, at: now, until, untilAtLink }
    await keepCheckoutOpen(tx, { ...hold, reason: status })
  }
  if (PAYMENT_EFFECTS[status] === 'wake')
    await wakeAttempt(tx, merchantId, attemptKey, addMs(now, WAKE_DELAY_MS))
}

interface EventsApp {
  clock: Clock
  random: Random
  mode: Mode
}

/** The events contain the payment as it was before this move. */
export async function emitMoveEvents(
  app: EventsApp,
  tx: Tx,
  moved: readonly TransferRow[],
  method: MethodRow | null,
): Promise<void> {
  const [first] = moved
  if (!first) return
  const payment = await loadRedactedPayment(app, tx, first, method)
  const events = moved.map((transfer) => ({
    merchantId: transfer.merchantId,
    type: eventOf(transfer.status),
    resource: { type: 'p2p_payment' as const, uuid: transfer.id, version: transfer.version },
    data: { ...payment, ...toTransfer(transfer, payment) },
  }))
  await recordEvents(app, tx, app.mode, events)
}
