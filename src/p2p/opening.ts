// How a transfer comes to be: an account is picked, a narration is drawn, and both are on disk before the payer is told.
// A payment has one transfer at most: whoever chooses this way again goes on with the same narration.

import type { Mode } from '../core/merchant.ts'
import type { Attempt } from '../gateways/gateway.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db, Tx } from '../kit/db.ts'
import type { Random } from '../kit/random.ts'
import { ringAttempt } from '../payments/attempt-queries.ts'
import { type AccountChannel, type AccountRow, findFittingAccount } from './account-queries.ts'
import { tellMoves, tellPayment } from './moves.ts'
import { newNarration } from './narration.ts'
import {
  insertMove,
  insertTransfer,
  lockTransfer,
  type TransferRow,
  updateTransfer,
} from './transfer-queries.ts'

export interface OpeningApp {
  db: Db
  clock: Clock
  random: Random
  mode: Mode
}

// Of tens of thousands of millions: two in a row that are taken do not happen to anybody.
const MAX_DRAWS = 5

/** Undefined when the merchant has no account for it, or has called this transfer off. */
export function openTransfer(
  app: OpeningApp,
  merchantId: string,
  attempt: Attempt,
  channel: AccountChannel,
): Promise<TransferRow | undefined> {
  return app.db.transaction(async (tx) => {
    const { amount, country, paymentId } = attempt
    const account = await findFittingAccount(tx, merchantId, channel, amount.currency, country)
    for (let draws = 0; account && draws < MAX_DRAWS; draws += 1) {
      const drawn = draftTransfer(app, account, attempt)
      if (await insertTransfer(tx, drawn)) {
        await keepMove(app, tx, null, drawn)
        return drawn
      }
      const known = await lockTransfer(tx, merchantId, paymentId)
      if (known) return goOn(app, tx, known, account, attempt)
    }
    const known = await lockTransfer(tx, merchantId, paymentId)
    return known?.attemptKey === attempt.key ? known : undefined
  })
}

function draftTransfer(app: OpeningApp, account: AccountRow, attempt: Attempt): TransferRow {
  const now = app.clock.now()
  // A checkout always has an end.
  const expiresAt = attempt.expiresAt ?? now
  return {
    ...destinationOf(account),
    merchantId: account.merchantId,
    id: attempt.paymentId,
    attemptKey: attempt.key,
    narration: newNarration(app.random),
    status: 'awaiting_payment',
    version: 1,
    currency: attempt.amount.currency,
    expectedMinor: attempt.amount.minor,
    receivedMinor: null,
    rejectionReason: null,
    expiresAt,
    dueAt: expiresAt,
    createdAt: now,
    updatedAt: now,
  }
}

function destinationOf(account: AccountRow) {
  const { channel, id: accountId, accountName, accountNumber, bankName, network, phoneNumber } = account
  return { channel, accountId, accountName, accountNumber, bankName, network, phoneNumber }
}

/** The same call again, or the payer who chose this way again. */
async function goOn(
  app: OpeningApp,
  tx: Tx,
  known: TransferRow,
  account: AccountRow,
  attempt: Attempt,
): Promise<TransferRow | undefined> {
  if (known.attemptKey === attempt.key) return known
  const now = app.clock.now()
  const again: TransferRow = { ...known, attemptKey: attempt.key, updatedAt: now }
  switch (known.status) {
    case 'awaiting_payment':
    case 'expired':
      Object.assign(again, destinationOf(account), openUntil(attempt.expiresAt ?? now))
      break
    case 'marked_paid':
    case 'underpaid':
      // Money is said to be on its way to where the payer was told first.
      break
    default:
      return undefined
  }
  if (known.status === 'expired')
    Object.assign(again, { status: 'awaiting_payment', version: known.version + 1 })
  await updateTransfer(tx, again)
  // The attempt that had it is over, and is told so.
  await ringAttempt(tx, known.merchantId, known.attemptKey, now)
  // Money that is said to be sent holds the new attempt as it held the old one.
  await tellPayment(tx, again, now, 'payer')
  if (again.version !== known.version) await keepMove(app, tx, known, again)
  return again
}

const openUntil = (expiresAt: Date) => ({ expiresAt, dueAt: expiresAt })

async function keepMove(app: OpeningApp, tx: Tx, from: TransferRow | null, to: TransferRow): Promise<void> {
  await insertMove(tx, from?.status ?? null, to, 'payer')
  await tellMoves(app, tx, [to], null)
}
