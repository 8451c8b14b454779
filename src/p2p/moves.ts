// One way to move a transfer: locked, planned, written with its event in one transaction, and the payment told. The
// payment itself is settled by the one settle; if this process dies before it comes to that, the resolver does it.

import type { Mode } from '../core/merchant.ts'
import type { MethodRow } from '../customers/method.ts'
import { recordEvents } from '../events/service.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import type { Tx } from '../kit/db.ts'
import { isReplay, type KeyClaim } from '../kit/idempotency.ts'
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
  /** What to change of the transfer, as it is found. */
  plan(transfer: TransferRow): Step[]
  /** Kept with the last step. */
  rejectionReason?: string | null
  /** Of the request that says so, where there is one. */
  claim?: KeyClaim
}

interface MoveResult {
  /** After the move, or as it was when there was nothing to move; undefined when there is none. */
  transfer: TransferRow | undefined
  /** The same request has said so before. */
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

/** Each with its move and its event; the payment hears of where they lead. */
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
// A merchant looks at its account within a week; then the checkout is over, and what is found later is late money.
const CONFIRMATION_WINDOW_MS = 7 * DAY_MS
// Anybody can press "I have sent it" at a link, and holds a place there that others wait for.
const LINK_CONFIRMATION_WINDOW_MS = DAY_MS
// We settle it ourselves at once; the resolver only comes if this process dies meanwhile.
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

/** In the transaction of the move: whoever sees the one sees the other. */
export async function notifyPayment(
  tx: Tx,
  transfer: TransferRow,
  now: Date,
  source: MoveSource,
): Promise<void> {
  const { merchantId, id: paymentId, status, attemptKey } = transfer
  if (PAYMENT_EFFECTS[status] === 'hold') {
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

/** The payment in these events is as it was before it heard of them. */
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
