// The tenant. A request's merchant comes only from its API key; every query over merchant data filters by merchant id.

export type Mode = 'test' | 'live'

export interface Merchant {
  readonly id: string
  readonly name: string
  readonly mode: Mode
  readonly baseCurrency: string
}

export const SCOPES = [
  'checkout:read',
  'checkout:write',
  'charges:read',
  'charges:write',
  'customers:read',
  'customers:write',
  'wallet:read',
  'refunds:read',
  'refunds:write',
  'links:read',
  'links:write',
  'p2p:read',
  'p2p:write',
  'webhooks:read',
  'webhooks:write',
  'keys:read',
  'keys:write',
  'audit:read',
  'reports:read',
  'cases:read',
  'cases:write',
] as const

export type Scope = (typeof SCOPES)[number]

/** Scopes that no API key holds: they are about the team, the settings, and pages that the API does not have. */
export const PEOPLE_SCOPES = [
  'team:read',
  'team:write',
  // To invite, change and remove owners.
  'owners:write',
  'settings:read',
  'settings:write',
  'reconciliations:read',
  'reconciliations:write',
  // To ask another person for a refund.
  'refunds:request',
  'receipts:send',
  // To write notes on payments.
  'notes:write',
  'deliveries:resend',
  // To let time pass in staging.
  'sandbox:write',
] as const

export type PersonScope = Scope | (typeof PEOPLE_SCOPES)[number]

/** `*` grants every scope, including scopes that later versions add. */
export type GrantedScope = Scope | '*'

/** Who makes a request of the API: one of the merchant's keys, or a person who is signed in to the dashboard. */
export type Principal =
  | { readonly type: 'api_key'; readonly id: string }
  | { readonly type: 'user'; readonly id: string; readonly scopes: readonly string[] }

/** Whether a key or a person may do what needs this scope. To write an area includes to read it. */
export function grantsScope(granted: readonly string[], needed: string): boolean {
  if (granted.includes('*') || granted.includes(needed)) return true
  return needed.endsWith(':read') && granted.includes(needed.replace(/read$/, 'write'))
}

/**
 * The scopes that a person who may create keys may give to one. No real money moves in staging, so a key there may have every
 * scope. A person with every scope may give `*`: only roles that are defined as everything have them all.
 */
export function grantableScopes(mode: Mode, own: readonly string[]): readonly string[] {
  return mode === 'test' || SCOPES.every((scope) => own.includes(scope)) ? ['*'] : own
}
