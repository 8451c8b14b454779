// What a key may hand on. A key that manages keys never gives what it does not have itself: otherwise one with few rights,
// once leaked, could make one with all of them.

import type { Issue } from '../core/errors.ts'
import { isWithinBlocks } from './addresses.ts'
import type { KeyRow } from './api-key.ts'

export type Rights = Pick<KeyRow, 'scopes' | 'allowedIps' | 'expiresAt' | 'ratePerSecond' | 'rateBurst'>

/** Every way in which the requested rights go beyond a key's own. */
export function excessIssues(caller: Rights, requested: Rights): Issue[] {
  return [
    ...excessScopes(caller, requested),
    ...excessAddresses(caller, requested),
    ...excessExpiry(caller, requested),
    ...excessRateLimit(caller, requested),
  ]
}

/** `*` includes scopes that are added later, so only `*` holds it. */
function excessScopes(caller: Rights, requested: Rights): Issue[] {
  if (caller.scopes.includes('*')) return []
  return requested.scopes.flatMap((scope, index) =>
    caller.scopes.includes(scope)
      ? []
      : [exceeded(`scopes.${index}`, `${scope} is not a scope of the key that asks.`)],
  )
}

function excessAddresses(caller: Rights, requested: Rights): Issue[] {
  if (caller.allowedIps.length > 0 && requested.allowedIps.length === 0)
    return [exceeded('allowedIps', 'the key that asks may not be used from every address.')]
  return requested.allowedIps.flatMap((block, index) =>
    isWithinBlocks(block, caller.allowedIps)
      ? []
      : [exceeded(`allowedIps.${index}`, 'lies outside the addresses of the key that asks.')],
  )
}

function excessExpiry(caller: Rights, requested: Rights): Issue[] {
  const end = caller.expiresAt
  if (end === null || (requested.expiresAt !== null && requested.expiresAt <= end)) return []
  return [exceeded('expiresAt', `the key that asks ends itself at ${end.toISOString()}.`)]
}

/** The pace of a key is the operator's to set; a key without one has that of the service. */
function excessRateLimit(caller: Rights, requested: Rights): Issue[] {
  const isWithinLimit = (limit: number | null, value: number | null) =>
    limit === null || (value !== null && value <= limit)
  return isWithinLimit(caller.ratePerSecond, requested.ratePerSecond) &&
    isWithinLimit(caller.rateBurst, requested.rateBurst)
    ? []
    : [exceeded('rateLimit', 'the key that asks is held to a slower pace.')]
}

const exceeded = (field: string, message: string): Issue => ({ field, code: 'scope_exceeded', message })
