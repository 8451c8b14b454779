// Requests a transfer: opens a checkout as for any payment and starts its attempt for the payer at once, so that the response
// already says where to send the money.

import { initiatePayment } from '../checkout/initiate.ts'
import { toInitiateInput } from '../checkout/input.ts'
import { startAttempt } from '../checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../checkout/view.ts'
import { API_ERRORS, ApiError, requireFound } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { DirectChannel } from '../gateways/gateway.ts'
import { DIRECT_CHANNELS } from '../p2p-accounts/rails.ts'
import { requirePayment } from '../payments/find.ts'
import type { InitiateInput } from '../payments/input.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { P2P, type P2pApp } from './app.ts'
import { DEFAULT_OPEN_MINUTES, type P2pPaymentInput } from './schema.ts'
import type { TransferRow } from './transfer.ts'
import { findTransferRow } from './transfer-queries.ts'
import { withPayment } from './transfers.ts'

const REQUEST = 'POST /api/v1/p2p/payments'
const MINUTE_MS = 60_000

/** `transfer` is null if the payment ended before one was opened, or none is open yet. */
export interface RequestedPayment {
  payment: PaymentRow
  transfer: TransferRow | null
}

interface RequestInput extends InitiateInput {
  /** Null: any channel that the merchant has. */
  channel: DirectChannel | null
}

function toRequestInput(body: P2pPaymentInput): RequestInput {
  return {
    ...toInitiateInput(body),
    channel: body.channel ? DIRECT_CHANNELS[body.channel] : null,
    openForMs: (body.expiresInMinutes ?? DEFAULT_OPEN_MINUTES) * MINUTE_MS,
  }
}

export async function requestTransfer(
  app: P2pApp,
  merchant: Merchant,
  body: P2pPaymentInput,
  idempotencyKey: string | null,
): Promise<RequestedPayment & { replayed: boolean }> {
  const input = toRequestInput(body)
  const { payment, replayed } = await initiatePayment(app, merchant, input, idempotencyKey, {
    operation: REQUEST,
    async chooseGateway() {
      await requireChannel(app, merchant.id, input)
      return P2P
    },
  })
  const existing = await findTransferRow(app.db, merchant.id, payment.id)
  if (existing) return { ...(await withPayment(app, existing)), replayed }
  if (payment.status === 'pending') await startTransferAttempt(app, merchant, payment, input)
  return { ...(await pollForTransfer(app, merchant, payment)), replayed }
}

/**
 * Also runs for a replay whose first process died before this step. What changed since the payment was recorded, such as a blocked
 * customer or a deleted account, must not fail a request that was accepted; a passing error may, because its repetition starts
 * the transfer.
 */
async function startTransferAttempt(
  app: P2pApp,
  merchant: Merchant,
  payment: PaymentRow,
  input: RequestInput,
): Promise<void> {
  try {
    const view = await requireCheckoutPayment(app, merchant, payment.reference)
    const channel = await requireChannel(app, merchant.id, input)
    const { attempt } = await startAttempt(app, view, { channel })
    // The cached account was deleted: a repetition must not use up the attempts of the payment.
    if (attempt?.status === 'declined') app.p2pGateways.invalidate(merchant.id)
  } catch (error) {
    if (!(error instanceof ApiError) || API_ERRORS[error.code].retryable) throw error
  }
}

type ChannelQuery = Pick<RequestInput, 'amount' | 'country' | 'reference' | 'channel'>

/** The channel of a matching account. On a cache miss the accounts are read again before the request fails. */
async function requireChannel(app: P2pApp, merchantId: string, query: ChannelQuery): Promise<DirectChannel> {
  const cached = await findChannel(app, merchantId, query)
  if (cached) return cached
  // Another process may have created the account a moment ago.
  app.p2pGateways.invalidate(merchantId)
  return requireFound(await findChannel(app, merchantId, query), 'p2p_account_required')
}

async function findChannel(
  app: P2pApp,
  merchantId: string,
  query: ChannelQuery,
): Promise<DirectChannel | undefined> {
  const { currency, minor: amountMinor } = query.amount
  const wanted = { currency, country: query.country, amountMinor, key: query.reference }
  const candidates = await app.gateways.candidates(merchantId, wanted)
  const offered = candidates.find(({ gateway }) => gateway.name === P2P)?.channels ?? []
  return Object.values(DIRECT_CHANNELS)
    .toSorted((one, other) => offered.indexOf(one) - offered.indexOf(other))
    .find((one) => offered.includes(one) && (query.channel === null || query.channel === one))
}

const POLL_TIMEOUT_MS = 2_000
const POLL_INTERVAL_MS = 50

/**
 * Polls for the transfer that another request or process may be opening. If that process died, the resolver continues. If the
 * payment has ended, there is nothing to wait for. In both cases the record is returned without a transfer.
 */
async function pollForTransfer(
  app: P2pApp,
  merchant: Merchant,
  { reference }: PaymentRow,
): Promise<RequestedPayment> {
  for (let waitedMs = 0; ; waitedMs += POLL_INTERVAL_MS) {
    const payment = await requirePayment(app, merchant, { reference })
    const transfer = await findTransferRow(app.db, merchant.id, payment.id)
    if (transfer || payment.status !== 'processing' || waitedMs >= POLL_TIMEOUT_MS)
      return { payment, transfer: transfer ?? null }
    await app.clock.sleep(POLL_INTERVAL_MS)
  }
}
