// M-Pesa moves whole shillings. Its records write them as 168, 168.00 or 1.0.

import { type Money, money } from '../../core/money.ts'

const CENTS = 100n

/** Undefined for an amount with cents, which M-Pesa cannot move. */
export function toShillings({ minor, currency }: Money): number | undefined {
  return currency === 'KES' && minor % CENTS === 0n ? Number(minor / CENTS) : undefined
}

const AMOUNT = /^(0|[1-9]\d{0,11})(?:\.(\d{1,2})0*)?$/

export function fromShillings(text: string | undefined): Money | undefined {
  const match = AMOUNT.exec(text ?? '')
  if (!match) return undefined
  return money(BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`), 'KES')
}
