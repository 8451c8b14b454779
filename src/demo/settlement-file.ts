// A settlement file of the provider that an operator has compared: most lines agree, and a few differ.

import { formatAmount, money } from '../core/money.ts'
import { reconcileFile } from '../reconciliation/reconcile.ts'
import { assignBreak, listBreaks, parseUploadedFile } from '../reconciliation/service.ts'
import type { History, PaidAttempt } from './app.ts'

const DAY_MS = 24 * 3_600_000
const MOST_LINES = 60

/** How long ago the payments of the file were paid: all of them are settled, so the file changes no balance. */
export const filePeriodMs = ({ app }: Pick<History, 'app'>) => ({
  from: app.settings.settlementMs + 3 * DAY_MS,
  to: app.settings.settlementMs + 2 * DAY_MS,
})

export async function reconcileDay(history: History): Promise<void> {
  const { app, paid, nowMs } = history
  const { from, to } = filePeriodMs(history)
  const isInside = ({ payment: { paidAt } }: PaidAttempt) => {
    const agoMs = nowMs - (paidAt?.getTime() ?? 0)
    return agoMs <= from && agoMs > to
  }
  const lines = linesOf(paid.filter(isInside).slice(0, MOST_LINES))
  const content = Buffer.from(lines.join('\r\n')).toString('base64')
  const day = new Date(nowMs - from).toISOString().slice(0, 10)
  const file = { gateway: app.sandbox.name, fileName: `settlement-${day}.csv`, content }
  await reconcileFile(app, await parseUploadedFile(app, file))
  const { rows } = await listBreaks(app, null, { gateway: app.sandbox.name })
  const [first] = rows
  if (first) await assignBreak(app, null, first.id, { owner: 'Otieno', note: 'Asked the provider.' })
}

function linesOf(paid: readonly PaidAttempt[]): string[] {
  const lines = paid.map(({ payment, attempt }, index) => {
    const { amountPaidMinor, currency } = payment
    // The third one has another amount.
    const amount = formatAmount(money(((amountPaidMinor ?? 0n) * (index === 2 ? 9n : 10n)) / 10n, currency))
    return `payment,${attempt.gatewayKey},,${amount},${currency},,settled`
  })
  const unknown = 'payment,7f0c5d1e-unknown,,4500.00,KES,,settled'
  return ['type,key,reference,amount,currency,fee,status', ...lines, ...lines.slice(0, 1), unknown, '']
}
