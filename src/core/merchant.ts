// Who is asking. The merchant comes only from the API key and stands in the where of every query over its data.

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
] as const

export type Scope = (typeof SCOPES)[number]

/** `*` is every scope, also those added later. */
export type GrantedScope = Scope | '*'
