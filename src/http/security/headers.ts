// The headers that make a browser careful with our answers. The API is for programs: nothing of it may be framed,
// cached, sniffed or read by another site. Pages may load from us alone, and their forms lead where the page says.

export interface SecurityHeaders {
  /** Also for what a page loads or asks, and for its redirects: nothing there is looked at as a document. */
  api: Readonly<Record<string, string>>
  page(styleNonce: string, formActions?: readonly string[]): Record<string, string>
  /** A picture that came from a merchant: opened by itself it may do nothing, whatever is drawn in it. */
  image: Readonly<Record<string, string>>
  /** The API reference: its bundle needs what no page of ours needs, see the policy. */
  reference(nonce: string): Record<string, string>
}

/** Where browsers tell us that a page did what its policy forbids. */
export const REPORTS_PATH = '/csp-reports'

const YEAR_SECONDS = 31_536_000

// All that a page could ask a phone for and ours never does. What they use is left out: the clipboard for writing.
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
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
]

/** https is required in production only; the header would lock a developer's localhost into it. */
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
    'permissions-policy': DENIED_FEATURES.map((feature) => `${feature}=()`).join(', '),
  }
  return {
    api: { ...common, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'" },
    page: (nonce, formActions) => ({
      ...page,
      'reporting-endpoints': `csp="${REPORTS_PATH}"`,
      'content-security-policy': pagePolicy(nonce, formActions ?? []),
    }),
    image: { ...common, 'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox" },
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
    "object-src 'none'",
    "frame-ancestors 'none'",
    // Our script writes texts and never markup, so it needs no policy of its own to get past this.
    "require-trusted-types-for 'script'",
    // For browsers that do not know report-to, which the others follow instead.
    `report-uri ${REPORTS_PATH}`,
    'report-to csp',
  ].join('; ')
}

/** An origin, or every https address; anything else in the header could widen the policy further than that. */
function originOf(address: string): string {
  return address === 'https:' ? address : new URL(address).origin
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
