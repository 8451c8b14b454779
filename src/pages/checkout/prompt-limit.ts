// Limits how many phones one visitor can prompt through one payment link, per process. Anyone with a link can start
// payments at it, so it must not be usable to send prompts to other people's phones.

import { addMs } from '../../kit/clock.ts'
import type { PaymentsApp } from '../../payments/app.ts'
import { findPayment } from '../../payments/find.ts'
import type { PaymentRow } from '../../payments/payment.ts'

const WINDOW_MS = 15 * 60_000
const MAX_WINDOWS = 10_000

interface LinkPrompt {
  payment: Pick<PaymentRow, 'id' | 'merchantId' | 'linkId'>
  /** The client's address. */
  visitor: string
  /** E.164. */
  phone: string
}

/** Counts the prompt. Returns when the visitor can send the next one if this one is over the limit. */
export type PromptLimit = (prompt: LinkPrompt) => Promise<Date | undefined>

interface Window {
  endsAt: Date
  /** The last payment of each phone. */
  payments: Map<string, LinkPrompt['payment']>
}

export function createPromptLimit(app: Pick<PaymentsApp, 'clock' | 'db' | 'settings'>): PromptLimit {
  const windows = new Map<string, Window>()
  const limit = app.settings.promptsPerVisitor
  return async ({ payment, visitor, phone }) => {
    if (payment.linkId === null || limit === 0) return undefined
    const { endsAt, payments } = openWindow(windows, `${payment.linkId} ${visitor}`, app.clock.now())
    const isFull = () => payments.size >= limit && !payments.has(phone)
    if (isFull()) await removePaid(app, payments)
    if (isFull()) return endsAt
    payments.set(phone, payment)
    return undefined
  }
}

function openWindow(windows: Map<string, Window>, owner: string, now: Date): Window {
  const existing = windows.get(owner)
  if (existing && existing.endsAt > now) return existing
  if (windows.size >= MAX_WINDOWS) windows.clear()
  const window: Window = { endsAt: addMs(now, WINDOW_MS), payments: new Map() }
  windows.set(owner, window)
  return window
}

/** Many payers of a shop or a mobile network share an address: those who have paid do not count. */
async function removePaid({ db }: Pick<PaymentsApp, 'db'>, payments: Window['payments']): Promise<void> {
  for (const [phone, { merchantId, id }] of [...payments]) {
    const payment = await findPayment(db, merchantId, id)
    if (payment?.paidAt) payments.delete(phone)
  }
}
