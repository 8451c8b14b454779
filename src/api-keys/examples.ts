// Examples for the OpenAPI document.

export const KEY_EXAMPLE = {
  keyId: '4fTz0QmB7xLa',
  name: 'Nightly report',
  prefix: 'cowry_test_4fTz0QmB7xLa_…',
  mode: 'test',
  scopes: ['checkout:read', 'customers:read'],
  allowedIps: ['203.0.113.0/24'],
  rateLimit: null,
  status: 'active',
  replacedBy: null,
  createdAt: '2026-03-14T09:26:53.589Z',
  expiresAt: '2027-03-14T00:00:00.000Z',
  lastUsedAt: null,
  revokedAt: null,
  isCurrent: false,
}

/** The secret is elided, so that secret scanners do not report the document. */
export const CREATED_KEY_EXAMPLE = { ...KEY_EXAMPLE, apiKey: 'cowry_test_4fTz0QmB7xLa_…' }

export const MERCHANT_KEY_BODY_EXAMPLE = { name: 'Shop', scopes: ['checkout:write', 'checkout:read'] }

export const MERCHANT_KEY_EXAMPLE = {
  keyId: '4fTz0QmB7xLa',
  merchantUuid: '0197a3c1-5e20-7b14-a3d9-6c0f1e2b8d47',
  ...MERCHANT_KEY_BODY_EXAMPLE,
  prefix: 'cowry_test_4fTz0QmB7xLa_…',
  mode: 'test',
  allowedIps: [],
  rateLimit: null,
  status: 'active',
  replacedBy: null,
  createdAt: '2026-03-14T09:26:53.589Z',
  expiresAt: null,
  lastUsedAt: null,
  revokedAt: null,
}

export const CREATED_MERCHANT_KEY_EXAMPLE = {
  ...MERCHANT_KEY_EXAMPLE,
  apiKey: CREATED_KEY_EXAMPLE.apiKey,
}
