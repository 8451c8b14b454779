// What follows a payment: refunds, disputes, and money of another amount.

import { merchantActor } from '../case-resolutions/request.ts'
import { resolveCase } from '../case-resolutions/resolve.ts'
import type { Resolution } from '../cases/case-kinds.ts'
import { listCases } from '../cases/find.ts'
import { formatAmount, money } from '../core/money.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { requestRefund } from '../refunds/request.ts'
import { simulateDispute } from '../sandbox-api/dispute.ts'
import type { History, PaidAttempt } from './app.ts'
import { actAs, askRefund, decideRefund, writeNote } from './decisions.ts'
import { type PayerChannel, REFUND_REASONS } from './markets.ts'
import type { Order } from './orders.ts'
import type { Seeded } from './seeded.ts'
import { filePeriodMs } from './settlement-file.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type Aftermath =
  | 'nothing'
  | 'refund'
  | 'requested_refund'
  | 'partial_refund'
  | 'two_partial_refunds'
  | 'declined_refund'
  | 'late_failed_refund'
  | 'dispute'
  | 'underpaid'
  | 'overpaid'
  | 'unknown_answer'

/** A status that we do not know is decided by people within a few days, so only late payments still have one. */
const UNDECIDED_MS = 6 * DAY_MS

/** Since when money of another amount may wait for a decision. */
const UNRESOLVED_MS = 30 * DAY_MS

export function planAftermath(seeded: Seeded, channel: PayerChannel, agoMs: number): Aftermath {
  const isCard = channel === 'card'
  const isTransfer = channel === 'bank_transfer'
  return seeded.choose<Aftermath>([
    ['nothing', 920],
    ['refund', 16],
    ['requested_refund', 14],
    ['partial_refund', 12],
    ['two_partial_refunds', 3],
    ['declined_refund', isCard ? 6 : 0],
    ['late_failed_refund', isCard ? 3 : 0],
    ['dispute', isCard ? 22 : 0],
    ['underpaid', isTransfer ? 16 : 0],
    ['overpaid', isTransfer ? 8 : 0],
    ['unknown_answer', isCard && agoMs < UNDECIDED_MS ? 25 : 0],
  ])
}

const CARDS: Readonly<Partial<Record<Aftermath, string>>> = {
  declined_refund: 'card_refund_declined',
  late_failed_refund: 'card_refund_fails_later',
  unknown_answer: 'card_unknown_status',
}

const TRANSFERS: Readonly<Partial<Record<Aftermath, string>>> = {
  underpaid: 'transfer_underpaid',
  overpaid: 'transfer_overpaid',
}

/** The test instrument of the sandbox that behaves like this. */
export function instrumentOf(aftermath: Aftermath, channel: PayerChannel): string {
  if (channel === 'mobile_money') return 'mobile_success'
  if (channel === 'bank_transfer') return TRANSFERS[aftermath] ?? 'transfer_success'
  return CARDS[aftermath] ?? 'card_success'
}

type Step = () => Promise<void>

/** Schedules what happens to the payment. */
export async function startAftermath(
  history: History,
  order: Order,
  aftermath: Aftermath,
  { payment, attempt }: PaidAttempt,
): Promise<void> {
  const { seeded } = order
  const after = (fromMs: number, toMs: number, step: Step) =>
    history.schedule.add(
      history.app.clock.now().getTime() + seeded.between(fromMs, toMs),
      order.market.currency,
      step,
    )
  if (attempt.status === 'amount_mismatch') {
    // Some of the last weeks are still open.
    const isOld = history.nowMs - order.atMs > UNRESOLVED_MS
    if (isOld || seeded.isTrue(0.4))
      after(4 * HOUR_MS, 4 * DAY_MS, () => resolveMismatch(history, order, payment, after))
    return
  }
  if (payment.status !== 'successful') return
  if (aftermath === 'nothing') return remember(history, { payment, attempt })
  const refund = (share: number | null, name: string) => () =>
    refundPayment(history, order, payment, share, name)
  switch (aftermath) {
    case 'refund':
    case 'declined_refund':
      return after(HOUR_MS, 9 * DAY_MS, refund(null, 'R1'))
    case 'requested_refund':
      return after(2 * HOUR_MS, 9 * DAY_MS, async () => {
        await writeNote(history, payment, 'support', 'damaged')
        const requestId = await askRefund(
          history,
          payment,
          amountOf(order, payment, null),
          seeded.pick(REFUND_REASONS),
        )
        after(HOUR_MS, 30 * HOUR_MS, () => decideRefund(history, requestId, seeded.isTrue(0.7)))
      })
    case 'partial_refund':
      return after(HOUR_MS, 9 * DAY_MS, refund(seeded.between(2, 7) / 10, 'R1'))
    case 'two_partial_refunds':
      after(HOUR_MS, 3 * DAY_MS, refund(seeded.between(1, 4) / 10, 'R1'))
      return after(4 * DAY_MS, 9 * DAY_MS, refund(seeded.between(1, 4) / 10, 'R2'))
    case 'late_failed_refund':
      return after(HOUR_MS, 4 * DAY_MS, async () => {
        await refundPayment(history, order, payment, null, 'R1')
        const { gateway, accountId, gatewayKey: key } = attempt
        // The webhook of the provider: the bank has rejected the money.
        after(DAY_MS, 2 * DAY_MS, () => history.app.wakeRefunds({ gateway, accountId, key }))
      })
    case 'dispute':
      return after(2 * DAY_MS, 18 * DAY_MS, async () => {
        await dispute(history, payment, 'open')
        after(HOUR_MS, DAY_MS, () => writeNote(history, payment, 'finance', 'proven'))
        const outcome = seeded.isTrue(0.45) ? 'won' : 'lost'
        after(4 * DAY_MS, 9 * DAY_MS, () => dispute(history, payment, outcome))
      })
    default:
      return
  }
}

async function dispute({ app, merchant }: History, payment: PaymentRow, outcome: 'open' | 'won' | 'lost') {
  await simulateDispute(app, merchant, payment.reference, { action: 'dispute', outcome })
}

/** Keeps the payments of the last days. */
function remember(history: History, paid: PaidAttempt): void {
  const agoMs = history.nowMs - (paid.payment.paidAt?.getTime() ?? 0)
  if (agoMs <= filePeriodMs(history).from && paid.attempt.gateway === history.app.sandbox.name)
    history.paid.push(paid)
}

/** In whole units, as people refund; without a share the whole payment. */
function amountOf({ market }: Order, { amountMinor, currency }: PaymentRow, share: number | null): number {
  const unit =
    BigInt(market.step) *
    (amountMinor / BigInt(formatAmount(money(amountMinor, currency)).split('.')[0] ?? 1))
  const minor = share === null ? 0n : (BigInt(Math.round(Number(amountMinor) * share)) / unit) * unit
  return Number(formatAmount(money(minor === 0n ? amountMinor : minor, currency)))
}

async function refundPayment(
  { app, merchant }: History,
  order: Order,
  payment: PaymentRow,
  share: number | null,
  name: string,
): Promise<void> {
  const { reference } = payment
  const amount = amountOf(order, payment, share)
  const refundReference = `${reference}-${name}`
  const reason = order.seeded.pick(REFUND_REASONS)
  const input = { refundReference, payment: { reference }, amount, reason, metadata: {} }
  await requestRefund(app, merchant, input, undefined)
}

const REASONS: Readonly<Record<'accept' | 'return', string>> = {
  accept: 'Agreed with the customer on the phone',
  return: 'The customer asked for the money back',
}

/** Finance decides; where the settings require a second person, the owner approves it later. */
async function resolveMismatch(
  history: History,
  { seeded }: Order,
  payment: PaymentRow,
  after: (fromMs: number, toMs: number, step: Step) => void,
): Promise<void> {
  const { app, merchant } = history
  const { cases } = await listCases(app, merchant, { payment: payment.id })
  const [open] = cases
  if (!open) return
  const resolution: Extract<Resolution, 'accept' | 'return'> = seeded.isTrue(0.7) ? 'accept' : 'return'
  const request = { resolution, note: REASONS[resolution], proof: null }
  const decide = async (by: 'finance' | 'owner') => {
    const decided = await actAs(history, by, 'POST /api/v1/cases/{uuid}/resolve', (person) =>
      resolveCase(app, merchantActor(merchant, person), open.row.id, request),
    )
    return decided.details.row.closedAt
  }
  await writeNote(history, payment, 'finance', 'called')
  if ((await decide('finance')) === null)
    after(HOUR_MS, 20 * HOUR_MS, async () => void (await decide('owner')))
}
