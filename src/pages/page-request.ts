// The start of every checkout page: loads the payment, its payment methods and the return URL.

import { isAllowedReturn } from '../checkout/return-url.ts'
import { type CheckoutView, requireCheckout } from '../checkout/view.ts'
import type { PageRoute } from '../kit/http/route.ts'
import { P2P } from '../p2p/app.ts'
import type { TransferRow } from '../p2p/transfer.ts'
import { findTransfer } from '../p2p/transfers.ts'

import type { PaymentsApp } from '../payments/app.ts'
import { buildReturnUrl } from './return-url.ts'

export type PageRequest = Parameters<PageRoute['handle']>[0]

export function loadCheckout(app: PaymentsApp, { params }: PageRequest): Promise<CheckoutView> {
  return requireCheckout(app, params.accessCode ?? '')
}

export function pathOf({ params }: PageRequest): string {
  return `/pay/${encodeURIComponent(params.accessCode ?? '')}`
}

/** Only payments by direct transfer have one. */
export async function transferOf(
  app: PaymentsApp,
  { payment, attempts }: CheckoutView,
): Promise<TransferRow | null> {
  return attempts.some(({ gateway }) => gateway === P2P) ? findTransfer(app, payment) : null
}

/**
 * The return URL, if the merchant still allows its origin; the list may have changed since the payment was created.
 */
export async function returnUrlOf(
  app: PaymentsApp,
  { payment, isCancelled }: CheckoutView,
): Promise<string | null> {
  const { redirectUrl, reference, status } = payment
  if (redirectUrl === null) return null
  const profile = await app.merchantProfile(payment.merchantId)
  if (!isAllowedReturn(profile, redirectUrl, app.settings.mode)) return null
  return buildReturnUrl(redirectUrl, reference, isCancelled ? 'cancelled' : status)
}
