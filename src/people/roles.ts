// Roles are named sets of scopes: the scopes of API keys, and some that only people can have.

import { PEOPLE_SCOPES, type PersonScope, SCOPES } from '../core/merchant.ts'

/** From the one with the fewest rights. */
export const ROLES = ['viewer', 'support', 'finance', 'developer', 'admin', 'owner'] as const
export type Role = (typeof ROLES)[number]

const ALL: readonly PersonScope[] = [...SCOPES, ...PEOPLE_SCOPES]
const without = (scopes: readonly PersonScope[], ...left: PersonScope[]) =>
  scopes.filter((scope) => !left.includes(scope))

const READS = ALL.filter((scope) => scope.endsWith(':read'))
// Keys and the audit log say how the merchant protects itself.
const VIEWER = without(READS, 'keys:read', 'audit:read')
const READS_PAYMENTS: readonly PersonScope[] = [
  'checkout:read',
  'charges:read',
  'customers:read',
  'refunds:read',
  'links:read',
  'p2p:read',
  'cases:read',
  'webhooks:read',
  'team:read',
]
const HELPS_PAYERS: readonly PersonScope[] = [
  'refunds:request',
  'receipts:send',
  'notes:write',
  'deliveries:resend',
]
const DEVELOPS: readonly PersonScope[] = [
  'webhooks:write',
  'keys:read',
  'keys:write',
  'audit:read',
  'settings:read',
  'deliveries:resend',
  'sandbox:write',
]
const ACCOUNTS: readonly PersonScope[] = ['refunds:write', 'cases:write', 'reconciliations:write']

export const ROLE_SCOPES: Readonly<Record<Role, readonly PersonScope[]>> = {
  viewer: VIEWER,
  support: [...READS_PAYMENTS, ...HELPS_PAYERS],
  finance: [...without(READS, 'keys:read'), ...ACCOUNTS, ...HELPS_PAYERS],
  developer: [...READS_PAYMENTS, ...DEVELOPS],
  admin: without(ALL, 'owners:write'),
  owner: ALL,
}

/** Whether a person with `scopes` has everything that the role grants. */
export function coversRole(scopes: readonly PersonScope[], role: Role): boolean {
  return ROLE_SCOPES[role].every((scope) => scopes.includes(scope))
}
