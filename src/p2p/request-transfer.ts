// Asking for a transfer: a checkout is opened as for any payment, and its one attempt is begun for the payer at once, so
// that the answer already says where to send the money.

import { initiatePayment } from '../checkout/initiate.ts'
import { toInitiateInput } from '../checkout/input.ts'
import { startAttempt } from '../checkout/start-attempt.ts'
import { requireCheckoutPayment } from '../checkout/view.ts'
import { ApiError } from '../core/errors.ts'
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

/** Without a transfer where none was begun before the payment ended, or none yet. */
export interface RequestedPayment {
  payment: PaymentRow
  transfer: TransferRow | null
}

interface RequestInput extends InitiateInput {
  /** Null: whichever the merchant has. */
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
  if (payment.status === 'pending') await startTransferAttempt(app, merchant, payment, input, replayed)
  return { ...(await pollForTransfer(app, merchant, payment)), replayed }
}

/**
 * Also for a request that was recorded by a process which died before it got here. What has changed since then, such as
 * an account that is gone, is no reason to refuse it now: a retry is never an error.
 */
async function startTransferAttempt(
  app: P2pApp,
  merchant: Merchant,
  payment: PaymentRow,
  input: RequestInput,
  replayed: boolean,
): Promise<void> {
  try {
    const view = await requireCheckoutPayment(app, merchant, payment.reference)
    const channel = await requireChannel(app, merchant.id, input)
    const { attempt } = await startAttempt(app, view, { channel })
    // The account was deleted between the look and the start.
    if (attempt?.status === 'declined') throw new ApiError('p2p_account_required')
  } catch (error) {
    if (!replayed || !(error instanceof ApiError)) throw error
  }
}

type ChannelQuery = Pick<RequestInput, 'amount' | 'country' | 'reference' | 'channel'>

/** The channel that the merchant can be sent this by, looked up once more before anybody is refused. */
async function requireChannel(app: P2pApp, merchantId: string, query: ChannelQuery): Promise<DirectChannel> {
  const cached = await findChannel(app, merchantId, query)
  if (cached) return cached
  // Another process may have made the account a moment ago.
  app.direct.invalidate(merchantId)
  const channel = await findChannel(app, merchantId, query)
  if (!channel) throw new ApiError('p2p_account_required')
  return channel
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
 * Whoever begins it at this moment, here or in another process, is given time. Who has died over it is followed by the
 * resolver, and where the payment is over there is nothing to wait for: then the record is all there is.
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
