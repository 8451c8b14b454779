// The headers that make a browser careful with our answers. The API is for programs: nothing of it may be framed,
// cached, sniffed or read by another site. Pages may load from us alone, and their forms lead where the page says.

export interface SecurityHeaders {
  api: Readonly<Record<string, string>>
  page(styleNonce: string, formActions?: readonly string[]): Record<string, string>
  /** The API reference: its bundle needs what no page of ours needs, see the policy. */
  reference(nonce: string): Record<string, string>
}

const YEAR_SECONDS = 31_536_000

/** https is required in production only; the header would lock a developer's localhost into it. */
export function securityHeaders(environment: 'staging' | 'production'): SecurityHeaders {
  const common: Record<string, string> = {
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  }
  if (environment === 'production') common['strict-transport-security'] = `max-age=${YEAR_SECONDS}`
  const page = {
    ...common,
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy':
      'accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()',
  }
  return {
    api: { ...common, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" },
    page: (nonce, formActions) => ({
      ...page,
      'content-security-policy': pagePolicy(nonce, formActions ?? []),
    }),
    reference: (nonce) => ({ ...page, 'content-security-policy': referencePolicy(nonce) }),
  }
}

function pagePolicy(nonce: string, formActions: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    ["form-action 'self'", ...formActions.map(originOf)].join(' '),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Only an origin: anything else in the header could widen the policy. */
function originOf(address: string): string {
  return new URL(address).origin
}

/** The reference sets style attributes while it runs, which only unsafe-inline allows; its scripts need the nonce. */
function referencePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
