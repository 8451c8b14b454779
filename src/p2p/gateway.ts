// The gateway whose provider is the merchant itself. Its records are the transfers, and it answers status checks from them.
// So payments, the resolver and the pages treat P2P payments like all others.

import { money } from '../core/money.ts'
import type { Gateway, NextStep, Outcome, Rail } from '../gateways/gateway.ts'
import { type CellMap, loadByCell } from '../kit/cells/cells.ts'
import type { Db } from '../kit/db/db.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { accountChannelOf, loadRails } from '../p2p-accounts/rails.ts'
import { P2P, type P2pGateways } from './app.ts'
import { type OpenTransferApp, openTransfer } from './open-transfer.ts'
import { networkName } from './schema.ts'
import type { TransferRow } from './transfer.ts'
import { findTransferByAttempt } from './transfer-queries.ts'

/** The cache reads the rails of many merchants at once, so it needs the database handle without row-level security. */
export function createP2pGateways(
  app: OpenTransferApp & { cells?: CellMap },
  unscopedDb: Db,
  refreshUntil?: AbortSignal,
): P2pGateways {
  const rails = createTenantCache({
    clock: app.clock,
    loadMany: (merchantIds) => loadByCell(app.cells, merchantIds, (some) => loadRails(unscopedDb, some)),
    refreshUntil,
  })
  return {
    name: P2P,
    title: 'P2P',
    forMerchant: async (merchantId) => gatewayOf(app, merchantId, await rails.get(merchantId)),
    invalidate: (merchantId) => rails.invalidate(merchantId),
  }
}

function gatewayOf(app: OpenTransferApp, merchantId: string, rails: readonly Rail[]): Gateway {
  return {
    name: P2P,
    rails,
    // The records are ours and are never purged, so an unknown attempt was never submitted.
    behavior: {
      keyRetentionHours: 24 * 365,
      cachesErrors: false,
      lookupByReference: true,
      notifiesOnEveryChange: true,
    },
    settlesDirectly: true,
    async startCheckout(attempt, choice) {
      const transfer = await openTransfer(app, merchantId, attempt, accountChannelOf(choice))
      if (!transfer) return NO_ACCOUNT
      return { kind: 'started', gatewayReference: transfer.narration, next: nextStepOf(transfer) }
    },
    async verify({ key }, gatewayReference) {
      const transfer = await findTransferByAttempt(app.db, merchantId, key, gatewayReference)
      return transfer ? outcomeOf(transfer, key) : NOT_FOUND
    },
    // Nothing is cancelled here: the payer may still send money. Once the transfer is marked as sent, only the merchant
    // knows whether it arrived.
    async cancel({ key }, gatewayReference) {
      const transfer = await findTransferByAttempt(app.db, merchantId, key, gatewayReference)
      if (!transfer) return NOT_FOUND
      return isMarkedAsSent(transfer, key) ? MARKED_AS_SENT : outcomeOf(transfer, key)
    },
    parseWebhook: () => ({ kind: 'ignored', reason: 'P2P has no webhooks' }),
  }
}

const NO_ACCOUNT: Outcome = {
  kind: 'declined',
  code: 'provider_unavailable',
  message: 'The merchant has no receiving account for this.',
  gatewayReference: null,
  refused: true,
}

const NOT_FOUND: Outcome = { kind: 'unknown', reason: 'not_found', message: 'There is no such transfer.' }

const MARKED_AS_SENT: Outcome = {
  kind: 'unknown',
  reason: 'no_answer',
  message: 'The transfer is marked as sent, and the merchant has not confirmed what arrived.',
}

function isMarkedAsSent({ status, attemptKey }: TransferRow, key: string): boolean {
  return attemptKey === key && (status === 'marked_paid' || status === 'underpaid')
}

function nextStepOf(transfer: TransferRow): NextStep {
  const { accountName, narration } = transfer
  const common = { accountName, narration, expiresAt: transfer.expiresAt.toISOString() }
  return transfer.channel === 'bank_transfer'
    ? {
        kind: 'transfer',
        bankName: transfer.bankName ?? '',
        accountNumber: transfer.accountNumber ?? '',
        ...common,
      }
    : {
        kind: 'wallet_transfer',
        network: networkName(transfer.network) ?? '',
        phoneNumber: transfer.phoneNumber ?? '',
        ...common,
      }
}

/** Maps the transfer to the outcome of the payment. An excess is between the merchant and the payer. */
function outcomeOf(transfer: TransferRow, key: string): Outcome {
  const { narration: gatewayReference, status } = transfer
  if (transfer.attemptKey !== key) {
    const message = 'The payer chose P2P again, and the new attempt has the transfer.'
    return { kind: 'declined', code: 'customer_cancelled', message, gatewayReference }
  }
  switch (status) {
    case 'confirmed':
    case 'overpaid': {
      const paid = money(transfer.expectedMinor, transfer.currency)
      return { kind: 'succeeded', gatewayReference, paid, key, savedMethod: null, paidAt: transfer.updatedAt }
    }
    case 'rejected': {
      const message = transfer.rejectionReason ?? 'The merchant did not find the transfer.'
      return { kind: 'declined', code: 'unknown', message, gatewayReference, final: true }
    }
    case 'cancelled': {
      const message = 'The merchant cancelled the transfer.'
      return { kind: 'declined', code: 'customer_cancelled', message, gatewayReference, final: true }
    }
    // An expired transfer stays pending: the money may still arrive.
    case 'awaiting_payment':
    case 'marked_paid':
    case 'underpaid':
    case 'expired':
      return { kind: 'pending', gatewayReference }
  }
}
