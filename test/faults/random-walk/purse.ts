// What the model expects of one balance: how much is available, how much is pending, and when it is settled. The rules are
// said here once more and by other means, so that the ledger is held against something that is not itself.

import type { Payment } from './model.ts'

export const SETTLED_AFTER_MS = 24 * 3_600_000

interface Waiting {
  payment: Payment
  minor: bigint
  /** It is settled somewhere between these two, because we know only when we asked and when we were answered. */
  dueFrom: number
  dueTo: number
}

export interface Purse {
  available: bigint
  /** In the order in which it came. */
  waiting: Waiting[]
  /** False after things happened at once: then only the sum of both is known, until all is settled. */
  isExact: boolean
}

export const emptyPurse = (): Purse => ({ available: 0n, waiting: [], isExact: true })

export function pendingOf({ waiting }: Purse): bigint {
  return waiting.reduce((sum, { minor }) => sum + minor, 0n)
}

export function putIn(purse: Purse, payment: Payment, minor: bigint, from: number, to: number): void {
  if (minor === 0n) return
  purse.waiting.push({ payment, minor, dueFrom: from + SETTLED_AFTER_MS, dueTo: to + SETTLED_AFTER_MS })
}

/** Available money first, then what is pending of the payment itself, then what came last; the rest makes it negative. */
export function takeOut(purse: Purse, payment: Payment, minor: bigint): void {
  const free = purse.available > 0n ? purse.available : 0n
  let left = minor > free ? minor - free : 0n
  const own = purse.waiting.filter((one) => one.payment === payment)
  const others = purse.waiting.filter((one) => one.payment !== payment).reverse()
  for (const one of [...own, ...others]) {
    const part = one.minor < left ? one.minor : left
    one.minor -= part
    left -= part
  }
  const fromWaiting = minor - free > 0n ? minor - free - left : 0n
  purse.available -= minor - fromWaiting
  purse.waiting = purse.waiting.filter((one) => one.minor > 0n)
}

/** What is due by now has become available. What may or may not be due leaves the purse inexact. */
export function settle(purse: Purse, now: number): void {
  const isDue = ({ dueFrom }: Waiting) => dueFrom <= now
  if (purse.waiting.some((one) => isDue(one) && one.dueTo > now)) purse.isExact = false
  purse.available += purse.waiting.filter(isDue).reduce((sum, { minor }) => sum + minor, 0n)
  purse.waiting = purse.waiting.filter((one) => !isDue(one))
}
