// The security headers of responses. API responses must not be framed, cached, sniffed or read by another site. Pages
// load only from our origin, and their forms go to the listed origins.

export interface SecurityHeaders {
  /** Also for a page's assets, status polls and redirects, which are never rendered as documents. */
  api: Readonly<Record<string, string>>
  page(styleNonce: string, formActions?: readonly string[], allowsPasskeys?: boolean): Record<string, string>
  /** For an image uploaded by a merchant: opened as a document it is sandboxed. */
  image: Readonly<Record<string, string>>
  /** For the API reference, whose script needs a wider policy. */
  reference(nonce: string): Record<string, string>
}

/** Where browsers report violations of a page's content security policy. */
export const REPORTS_PATH = '/csp-reports'

const YEAR_SECONDS = 31_536_000

// Browser features that our pages never use. Writing to the clipboard is used, so it is not listed.
const DENIED_FEATURES = [
  'accelerometer',
  'autoplay',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'gamepad',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'picture-in-picture',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
]

const PASSKEY_FEATURES = ['publickey-credentials-create', 'publickey-credentials-get']

/** HSTS is set only in production, because it would force https on a developer's localhost. */
export function securityHeaders(environment: 'staging' | 'production'): SecurityHeaders {
  const common: Record<string, string> = {
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
  }
  if (environment === 'production') common['strict-transport-security'] = `max-age=${YEAR_SECONDS}`
  const page = {
    ...common,
    'permissions-policy': permissionsPolicy(false),
  }
  return {
    api: { ...common, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" },
    page: (nonce, formActions, allowsPasskeys) => ({
      ...page,
      'permissions-policy': permissionsPolicy(allowsPasskeys ?? false),
      'reporting-endpoints': `csp="${REPORTS_PATH}"`,
      'content-security-policy': pagePolicy(nonce, formActions ?? []),
    }),
    image: { ...common, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox" },
    reference: (nonce) => ({ ...page, 'content-security-policy': referencePolicy(nonce) }),
  }
}

function permissionsPolicy(allowsPasskeys: boolean): string {
  const passkeys = PASSKEY_FEATURES.map((feature) => `${feature}=${allowsPasskeys ? '(self)' : '()'}`)
  return [...DENIED_FEATURES.map((feature) => `${feature}=()`), ...passkeys].join(', ')
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
    "object-src 'none'",
    "frame-ancestors 'none'",
    // Our script writes text and never markup, so it needs no trusted types policy.
    "require-trusted-types-for 'script'",
    // For browsers without report-to; the others ignore it.
    `report-uri ${REPORTS_PATH}`,
    'report-to csp',
  ].join('; ')
}

/** The origin alone: any other value could widen the policy further. */
function originOf(address: string): string {
  return new URL(address).origin
}

/** The reference sets style attributes at run time, which needs unsafe-inline; its scripts need the nonce. */
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
