// The model of one balance: the available and pending amounts, and when they settle. The rules are implemented here
// independently of the ledger, so that the comparison proves something.

import type { Payment } from './model.ts'

export const SETTLED_AFTER_MS = 24 * 3_600_000

interface PendingSettlement {
  payment: Payment
  minor: bigint
  /** It settles between these two times: we know only when the request was sent and answered. */
  dueFrom: number
  dueTo: number
}

export interface ModelBalance {
  available: bigint
  /** In the order of arrival. */
  pendingSettlements: PendingSettlement[]
  /** False after concurrent requests: then only the sum of both is known, until all is settled. */
  isExact: boolean
}

export const emptyBalance = (): ModelBalance => ({ available: 0n, pendingSettlements: [], isExact: true })

export function pendingOf({ pendingSettlements }: ModelBalance): bigint {
  return pendingSettlements.reduce((sum, { minor }) => sum + minor, 0n)
}

export function addPending(
  modelBalance: ModelBalance,
  payment: Payment,
  minor: bigint,
  from: number,
  to: number,
): void {
  if (minor === 0n) return
  modelBalance.pendingSettlements.push({
    payment,
    minor,
    dueFrom: from + SETTLED_AFTER_MS,
    dueTo: to + SETTLED_AFTER_MS,
  })
}

/**
 * Takes available money first, then the pending money of the payment, then the latest; the rest makes the balance
 * negative.
 */
export function debit(modelBalance: ModelBalance, payment: Payment, minor: bigint): void {
  const free = modelBalance.available > 0n ? modelBalance.available : 0n
  let left = minor > free ? minor - free : 0n
  const own = modelBalance.pendingSettlements.filter((one) => one.payment === payment)
  const others = modelBalance.pendingSettlements.filter((one) => one.payment !== payment).reverse()
  for (const one of [...own, ...others]) {
    const part = one.minor < left ? one.minor : left
    one.minor -= part
    left -= part
  }
  const fromPending = minor - free > 0n ? minor - free - left : 0n
  modelBalance.available -= minor - fromPending
  modelBalance.pendingSettlements = modelBalance.pendingSettlements.filter((one) => one.minor > 0n)
}

/** Settles money that is due. Money that may or may not be due makes the balance inexact. */
export function settle(modelBalance: ModelBalance, now: number): void {
  const isDue = ({ dueFrom }: PendingSettlement) => dueFrom <= now
  if (modelBalance.pendingSettlements.some((one) => isDue(one) && one.dueTo > now))
    modelBalance.isExact = false
  modelBalance.available += modelBalance.pendingSettlements
    .filter(isDue)
    .reduce((sum, { minor }) => sum + minor, 0n)
  modelBalance.pendingSettlements = modelBalance.pendingSettlements.filter((one) => !isDue(one))
}
