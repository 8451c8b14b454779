// Debits a merchant for a refund or a reversal: available money first, then pending money. If both are used up, available
// becomes negative. Money taken from pending must never be settled later, so the pending settlements are reduced too: first
// the payment's own, then others, the latest due first.
//
// Fees are not returned: the whole amount is debited, including the fee that the merchant never received.

import type { Currency } from '../core/currency.ts'
import type { Money } from '../core/money.ts'
import type { Tx } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import {
  type EntryInput,
  type HoldingAccount,
  insertEntry,
  lockDebits,
  readAvailable,
  reduceSettlements,
  selectHeld,
  selectWrittenOff,
  type WrittenOff,
} from './debit-queries.ts'

export interface MerchantDebit {
  merchantId: string
  kind: EntryInput['kind']
  /** The payment that is refunded or reversed. */
  paymentId: string
  refundId: string | null
  amount: Money
  /** The account that receives the money, such as gateway:stripe. */
  to: string
  at: Date
}

export interface DebitedAmounts {
  availableMinor: bigint
  pendingMinor: bigint
}

/**
 * Debits the merchant and inserts the entry, in the caller's transaction. The lock of the merchant's row serializes
 * debits until the transaction ends. To avoid deadlocks, lock the payment's row before calling this.
 */
export async function debitMerchant(
  app: { random: Random },
  tx: Tx,
  debit: MerchantDebit,
): Promise<DebitedAmounts> {
  const { merchantId, kind, paymentId, refundId, to, at } = debit
  const { minor, currency } = debit.amount
  await lockDebits(tx, merchantId)
  const available = await readAvailable(tx, merchantId, currency)
  const wantedMinor = available >= minor ? 0n : minor - (available > 0n ? available : 0n)
  const pendingMinor = await debitPending(tx, merchantId, currency, paymentId, wantedMinor)
  const availableMinor = minor - pendingMinor
  await recordEntry(app, tx, {
    merchantId,
    kind,
    paymentId,
    attemptId: null,
    refundId,
    currency,
    at,
    lines: [
      ['available', -availableMinor],
      ['pending', -pendingMinor],
      [to, minor],
    ],
  })
  return { availableMinor, pendingMinor }
}

// One row is usually enough. A merchant that refunds thousands of payments at once needs more batches.
const SETTLEMENTS_AT_ONCE = 100

async function debitPending(
  tx: Tx,
  merchantId: string,
  currency: Currency,
  paymentId: string,
  wantedMinor: bigint,
): Promise<bigint> {
  if (wantedMinor === 0n) return 0n
  let taken = await reduceSettlements(tx, merchantId, currency, paymentId, wantedMinor, 1)
  while (taken < wantedMinor) {
    const left = wantedMinor - taken
    const more = await reduceSettlements(tx, merchantId, currency, null, left, SETTLEMENTS_AT_ONCE)
    if (more === 0n) break
    taken += more
  }
  return taken
}

export interface NewEntry extends Omit<EntryInput, 'id' | 'postings'> {
  /** Account and amount. The amounts sum to zero; lines with a zero amount are dropped. */
  lines: readonly (readonly [account: string, amountMinor: bigint])[]
}

/** Inserts an entry with its postings, in the caller's transaction. */
export async function recordEntry(app: { random: Random }, tx: Tx, entry: NewEntry): Promise<void> {
  const { lines, ...facts } = entry
  const postings = lines
    .filter(([, amountMinor]) => amountMinor !== 0n)
    .map(([account, amountMinor]) => ({ account, amount_minor: String(amountMinor) }))
  await insertEntry(tx, { ...facts, id: app.random.uuid(), postings })
}

/** What an account still holds of an attempt that was not credited to the merchant. */
export async function readHeld(
  tx: Tx,
  merchantId: string,
  attemptId: string,
  account: HoldingAccount,
): Promise<bigint> {
  return selectHeld(tx, merchantId, attemptId, account)
}

/** What was written off of the refunds of an attempt, and what lost disputes have taken of that. */
export async function readWrittenOff(tx: Tx, merchantId: string, attemptId: string): Promise<WrittenOff> {
  return selectWrittenOff(tx, merchantId, attemptId)
}
