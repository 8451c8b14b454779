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
import { type PayerChannel, REFUND_REASONS } from './markets.ts'
import type { Order } from './orders.ts'
import type { Seeded } from './seeded.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export type Aftermath =
  | 'nothing'
  | 'refund'
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

export function planAftermath(seeded: Seeded, channel: PayerChannel, agoMs: number): Aftermath {
  const isCard = channel === 'card'
  const isTransfer = channel === 'bank_transfer'
  return seeded.choose<Aftermath>([
    ['nothing', 920],
    ['refund', 26],
    ['partial_refund', 16],
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
    // A few are still open.
    if (seeded.isTrue(0.85)) after(4 * HOUR_MS, 4 * DAY_MS, () => resolveMismatch(history, order, payment))
    return
  }
  if (payment.status !== 'successful') return
  const refund = (share: number | null, name: string) => () =>
    refundPayment(history, order, payment, share, name)
  switch (aftermath) {
    case 'refund':
    case 'declined_refund':
      return after(HOUR_MS, 9 * DAY_MS, refund(null, 'R1'))
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
        const outcome = seeded.isTrue(0.45) ? 'won' : 'lost'
        after(6 * DAY_MS, 16 * DAY_MS, () => dispute(history, payment, outcome))
      })
    default:
      return
  }
}

async function dispute({ app, merchant }: History, payment: PaymentRow, outcome: 'open' | 'won' | 'lost') {
  await simulateDispute(app, merchant, payment.reference, { action: 'dispute', outcome })
}

/** Without a share the whole payment is refunded. */
async function refundPayment(
  { app, merchant }: History,
  { seeded, market }: Order,
  { reference, amountMinor, currency }: PaymentRow,
  share: number | null,
  name: string,
): Promise<void> {
  // In whole units, as people refund.
  const unit =
    BigInt(market.step) *
    (amountMinor / BigInt(formatAmount(money(amountMinor, currency)).split('.')[0] ?? 1))
  const minor = share === null ? null : (BigInt(Math.round(Number(amountMinor) * share)) / unit) * unit
  const amount = minor === null || minor === 0n ? null : Number(formatAmount(money(minor, currency)))
  const refundReference = `${reference}-${name}`
  const reason = seeded.pick(REFUND_REASONS)
  await requestRefund(
    app,
    merchant,
    { refundReference, payment: { reference }, amount, reason, metadata: {} },
    undefined,
  )
}

const NOTES: Readonly<Record<'accept' | 'return', string>> = {
  accept: 'Agreed with the customer on the phone',
  return: 'The customer asked for the money back',
}

async function resolveMismatch({ app, merchant, keyId }: History, { seeded }: Order, payment: PaymentRow) {
  const { cases } = await listCases(app, merchant, { payment: payment.id })
  const [open] = cases
  const resolution: Extract<Resolution, 'accept' | 'return'> = seeded.isTrue(0.7) ? 'accept' : 'return'
  const request = { resolution, note: NOTES[resolution], proof: null }
  if (open)
    await resolveCase(app, merchantActor(merchant, { type: 'api_key', id: keyId }), open.row.id, request)
}
