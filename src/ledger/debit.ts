// Taking money back from a merchant, for a refund or a reversal: available money first, then what is pending, and where
// both are used up available goes below zero. What is taken from pending must never become available later, so the
// settlements to come shrink with it: the payment's own first, then others, the latest due first.
//
// Fees stay with us: the whole amount is taken, also the part that the merchant never got.

import type { Currency } from '../core/currency.ts'
import type { Money } from '../core/money.ts'
import type { Tx } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import {
  type EntryInput,
  insertEntry,
  lockBalance,
  readAvailable,
  reduceSettlements,
} from './debit-queries.ts'

export interface MerchantDebit {
  merchantId: string
  kind: EntryInput['kind']
  /** The payment whose money goes back. */
  paymentId: string
  refundId: string | null
  amount: Money
  /** The account it goes to, such as gateway:stripe. */
  to: string
  at: Date
}

export interface DebitedAmounts {
  availableMinor: bigint
  pendingMinor: bigint
}

/**
 * Takes the money and writes the entry, in the caller's transaction. Takers of one merchant and currency go one after the
 * other to the end of theirs, so that no two take the same money; whoever also locks the payment's row does so before.
 */
export async function debitMerchant(
  app: { random: Random },
  tx: Tx,
  debit: MerchantDebit,
): Promise<DebitedAmounts> {
  const { merchantId, kind, paymentId, refundId, to, at } = debit
  const { minor, currency } = debit.amount
  await lockBalance(tx, merchantId, currency)
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

// Rarely is more than one needed; who gives back thousands of payments at once reads on.
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
  /** Account and amount; they sum to zero. Lines of nothing are left out. */
  lines: readonly (readonly [account: string, amountMinor: bigint])[]
}

/** Writes an entry with its postings, in the caller's transaction. */
export async function recordEntry(app: { random: Random }, tx: Tx, entry: NewEntry): Promise<void> {
  const { lines, ...facts } = entry
  const postings = lines
    .filter(([, amountMinor]) => amountMinor !== 0n)
    .map(([account, amountMinor]) => ({ account, amount_minor: String(amountMinor) }))
  await insertEntry(tx, { ...facts, id: app.random.uuid(), postings })
}
