// The gateway whose provider is the merchant itself. It has books of its own like any other, the transfers, and answers
// from them; so the payment machine, the resolver and the pages know P2P payments as they know all others.

import { money } from '../core/money.ts'
import type { Gateway, NextStep, Outcome, Rail } from '../gateways/gateway.ts'
import type { Db } from '../kit/db.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { accountChannelOf, loadRails } from '../p2p-accounts/rails.ts'
import { type DirectGateways, P2P } from './app.ts'
import { type OpenTransferApp, openTransfer } from './open-transfer.ts'
import { networkName } from './schema.ts'
import type { TransferRow } from './transfer.ts'
import { findTransferByAttempt } from './transfer-queries.ts'

/** `whole` is past the wall: what is remembered is read for many merchants at once. */
export function createDirectGateways(
  app: OpenTransferApp,
  unscopedDb: Db,
  refreshUntil?: AbortSignal,
): DirectGateways {
  const rails = createTenantCache({
    clock: app.clock,
    loadMany: (merchantIds) => loadRails(unscopedDb, merchantIds),
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
    // Its books are ours and forget nothing, so what it does not know was never begun.
    recovery: {
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
    // Nothing is called off here: the payer may still send. Once somebody says that money was sent, the merchant alone
    // knows whether it came.
    async cancel({ key }, gatewayReference) {
      const transfer = await findTransferByAttempt(app.db, merchantId, key, gatewayReference)
      if (!transfer) return NOT_FOUND
      return isMarkedAsSent(transfer, key) ? MARKED_AS_SENT : outcomeOf(transfer, key)
    },
    parseWebhook: () => ({ kind: 'ignored', reason: 'nobody rings for the merchant itself' }),
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
  message: 'The money is said to be sent, and the merchant has not told what arrived.',
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

/** What the merchant's word is to the payment. What it has beyond the amount is between it and the payer. */
function outcomeOf(transfer: TransferRow, key: string): Outcome {
  const { narration: gatewayReference, status } = transfer
  if (transfer.attemptKey !== key) {
    const message = 'The payer chose this way again, and the transfer went on there.'
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
      const message = 'The merchant called the transfer off.'
      return { kind: 'declined', code: 'customer_cancelled', message, gatewayReference, final: true }
    }
    // Time proves nothing about money: it may still come.
    case 'awaiting_payment':
    case 'marked_paid':
    case 'underpaid':
    case 'expired':
      return { kind: 'pending', gatewayReference }
  }
}
