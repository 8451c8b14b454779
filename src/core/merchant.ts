// The tenant. A request's merchant comes only from its API key; every query over merchant data filters by merchant id.

export type Mode = 'test' | 'live'

export interface Merchant {
  readonly id: string
  readonly name: string
  readonly mode: Mode
  readonly baseCurrency: string
}

export const SCOPES = [
  'checkout:write',
  'checkout:read',
  'charges:write',
  'customers:read',
  'customers:write',
  'wallet:read',
  'refunds:write',
  'links:write',
  'p2p:write',
  'webhooks:write',
  'keys:write',
  'audit:read',
] as const

export type Scope = (typeof SCOPES)[number]

/** `*` grants every scope, including scopes that later versions add. */
export type GrantedScope = Scope | '*'
