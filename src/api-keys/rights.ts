// Privilege escalation check: a key that creates or rotates keys never grants more than it has itself. Otherwise a leaked key
// with few scopes could create one with all of them.

import type { Issue } from '../core/errors.ts'
import { grantsScope } from '../core/merchant.ts'
import { isWithinBlocks } from './addresses.ts'
import type { KeyRow } from './api-key.ts'

export type Rights = Pick<KeyRow, 'scopes' | 'allowedIps' | 'expiresAt' | 'ratePerSecond' | 'rateBurst'>

/** One issue for each requested right that exceeds the caller's key. */
export function excessIssues(caller: Rights, requested: Rights): Issue[] {
  return [
    ...excessScopes(caller, requested),
    ...excessAddresses(caller, requested),
    ...excessExpiry(caller, requested),
    ...excessRateLimit(caller, requested),
  ]
}

/** `*` includes scopes of later versions, so only a key with `*` may grant it. */
function excessScopes(caller: Rights, requested: Rights): Issue[] {
  return requested.scopes.flatMap((scope, index) =>
    grantsScope(caller.scopes, scope)
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

/** Operators set the rate limit of a key; a key without one has the limit of the service. */
function excessRateLimit(caller: Rights, requested: Rights): Issue[] {
  const isWithinLimit = (limit: number | null, value: number | null) =>
    limit === null || (value !== null && value <= limit)
  return isWithinLimit(caller.ratePerSecond, requested.ratePerSecond) &&
    isWithinLimit(caller.rateBurst, requested.rateBurst)
    ? []
    : [exceeded('rateLimit', 'the key that asks has a lower rate limit.')]
}

const exceeded = (field: string, message: string): Issue => ({ field, code: 'scope_exceeded', message })
