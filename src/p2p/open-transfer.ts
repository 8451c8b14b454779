// Opens a transfer: selects a receiving account, generates a narration, and commits both before the payer sees them.
// A payment has at most one transfer: a payer who chooses P2P again continues with the same narration.

import type { Mode } from '../core/merchant.ts'
import type { Attempt } from '../gateways/gateway.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import type { Random } from '../kit/random.ts'
import type { AccountChannel, AccountRow } from '../p2p-accounts/account.ts'
import { lockMatchingAccount } from '../p2p-accounts/rails.ts'
import { wakeAttempt } from '../payments/update-attempt.ts'
import { emitMoveEvents, notifyPayment } from './moves.ts'
import { newNarration } from './narration.ts'
import type { TransferRow } from './transfer.ts'
import { insertMove, insertTransfer, lockTransfer, updateTransfer } from './transfer-queries.ts'

export interface OpenTransferApp {
  db: Db
  clock: Clock
  random: Random
  mode: Mode
}

// There are 38 thousand million narrations, so even one conflict is rare.
const MAX_NARRATION_ATTEMPTS = 5

/** Undefined if the merchant has no matching account, or has cancelled this transfer. */
export function openTransfer(
  app: OpenTransferApp,
  merchantId: string,
  attempt: Attempt,
  channel: AccountChannel,
): Promise<TransferRow | undefined> {
  return app.db.transaction(async (tx) => {
    const { country, paymentId } = attempt
    const { currency } = attempt.amount
    const account = await lockMatchingAccount(tx, merchantId, { channel, currency, country })
    for (let attempts = 0; account && attempts < MAX_NARRATION_ATTEMPTS; attempts += 1) {
      const draft = draftTransfer(app, account, attempt)
      if (await insertTransfer(tx, draft)) {
        await recordMove(app, tx, null, draft)
        return draft
      }
      const existing = await lockTransfer(tx, merchantId, paymentId)
      if (existing) return resumeTransfer(app, tx, existing, account, attempt)
    }
    const existing = await lockTransfer(tx, merchantId, paymentId)
    return existing?.attemptKey === attempt.key ? existing : undefined
  })
}

function draftTransfer(app: OpenTransferApp, account: AccountRow, attempt: Attempt): TransferRow {
  const now = app.clock.now()
  // A checkout always has an expiry; the fallback satisfies the type.
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

/** A retry of the same attempt returns the transfer; a new attempt of the payer takes it over. */
async function resumeTransfer(
  app: OpenTransferApp,
  tx: Tx,
  existing: TransferRow,
  account: AccountRow,
  attempt: Attempt,
): Promise<TransferRow | undefined> {
  if (existing.attemptKey === attempt.key) return existing
  const now = app.clock.now()
  const resumed: TransferRow = { ...existing, attemptKey: attempt.key, updatedAt: now }
  switch (existing.status) {
    case 'awaiting_payment':
    case 'expired':
      Object.assign(resumed, destinationOf(account), openWindow(attempt.expiresAt ?? now))
      break
    case 'marked_paid':
    case 'underpaid':
      // The payer may already have sent money to the first destination, so it stays.
      break
    default:
      return undefined
  }
  if (existing.status === 'expired')
    Object.assign(resumed, { status: 'awaiting_payment', version: existing.version + 1 })
  await updateTransfer(tx, resumed)
  // Makes the previous attempt due, so that its next status check ends it.
  await wakeAttempt(tx, existing.merchantId, existing.attemptKey, now)
  // A transfer that is marked as sent keeps the checkout open for the new attempt as well.
  await notifyPayment(tx, resumed, now, 'payer')
  if (resumed.version !== existing.version) await recordMove(app, tx, existing, resumed)
  return resumed
}

const openWindow = (expiresAt: Date) => ({ expiresAt, dueAt: expiresAt })

async function recordMove(
  app: OpenTransferApp,
  tx: Tx,
  from: TransferRow | null,
  to: TransferRow,
): Promise<void> {
  await insertMove(tx, from?.status ?? null, to, 'payer')
  await emitMoveEvents(app, tx, [to], null)
}
