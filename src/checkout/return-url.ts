// Validates the redirect URL of a payment: its form, and whether the merchant has registered its origin. Checked when a
// payment is initiated, and again before the payer is redirected.

import { errorFromIssues } from '../core/errors.ts'
import type { Merchant, Mode } from '../core/merchant.ts'
import { isLocalhost, readWebAddress } from '../core/web-address.ts'
import type { MerchantProfile } from '../merchants/profiles.ts'
import type { PaymentsApp } from '../payments/app.ts'

/** An https URL; in test mode also http, because a developer's shop has no certificate. */
export function readReturnUrl(text: string, allowHttp: boolean): URL | undefined {
  const url = readWebAddress(text)
  return url && (url.protocol === 'https:' || allowHttp) ? url : undefined
}

/** Any origin is allowed if the merchant has registered none. In test mode localhost is always allowed. */
export function isAllowedReturn(
  profile: Pick<MerchantProfile, 'redirectOrigins'>,
  url: string,
  mode: Mode,
): boolean {
  const target = readReturnUrl(url, mode === 'test')
  if (!target) return false
  if (profile.redirectOrigins.length === 0 || (mode === 'test' && isLocalhost(target))) return true
  return profile.redirectOrigins.includes(target.origin)
}

export async function requireAllowedReturn(
  app: Pick<PaymentsApp, 'merchantProfile' | 'settings'>,
  merchant: Merchant,
  redirectUrl: string | null,
): Promise<void> {
  if (redirectUrl === null) return
  const profile = await app.merchantProfile(merchant.id)
  if (isAllowedReturn(profile, redirectUrl, app.settings.mode)) return
  const { origin } = new URL(redirectUrl)
  const message = `redirectUrl leads to ${origin}, which is not a registered origin of this merchant. Ask the operator to add it to settings.redirectOrigins of the merchant.`
  throw errorFromIssues([{ field: 'redirectUrl', code: 'not_allowed', message }])
}
