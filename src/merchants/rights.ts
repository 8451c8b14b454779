// What a key may hand on. A key that manages keys never gives what it does not have itself: otherwise one with few rights,
// once leaked, could make one with all of them.

import type { Complaint } from '../core/errors.ts'
import { isWithinBlocks } from './addresses.ts'
import type { KeyRow } from './queries.ts'

export type Rights = Pick<KeyRow, 'scopes' | 'allowed_ips' | 'expires_at' | 'rate_per_second' | 'rate_burst'>

/** Every way in which the wanted rights go beyond a key's own. */
export function complainOfExcess(own: Rights, wanted: Rights): Complaint[] {
  return [
    ...excessScopes(own, wanted),
    ...excessAddresses(own, wanted),
    ...excessTime(own, wanted),
    ...excessPace(own, wanted),
  ]
}

/** `*` includes scopes that are added later, so only `*` holds it. */
function excessScopes(own: Rights, wanted: Rights): Complaint[] {
  if (own.scopes.includes('*')) return []
  return wanted.scopes.flatMap((scope, index) =>
    own.scopes.includes(scope)
      ? []
      : [beyond(`scopes.${index}`, `${scope} is not a scope of the key that asks.`)],
  )
}

function excessAddresses(own: Rights, wanted: Rights): Complaint[] {
  if (own.allowed_ips.length > 0 && wanted.allowed_ips.length === 0)
    return [beyond('allowedIps', 'the key that asks may not be used from every address.')]
  return wanted.allowed_ips.flatMap((block, index) =>
    isWithinBlocks(block, own.allowed_ips)
      ? []
      : [beyond(`allowedIps.${index}`, 'lies outside the addresses of the key that asks.')],
  )
}

function excessTime(own: Rights, wanted: Rights): Complaint[] {
  const end = own.expires_at
  if (end === null || (wanted.expires_at !== null && wanted.expires_at <= end)) return []
  return [beyond('expiresAt', `the key that asks ends itself at ${end.toISOString()}.`)]
}

/** The pace of a key is the operator's to set; a key without one has that of the service. */
function excessPace(own: Rights, wanted: Rights): Complaint[] {
  const isWithin = (mine: number | null, theirs: number | null) =>
    mine === null || (theirs !== null && theirs <= mine)
  return isWithin(own.rate_per_second, wanted.rate_per_second) && isWithin(own.rate_burst, wanted.rate_burst)
    ? []
    : [beyond('rateLimit', 'the key that asks is held to a slower pace.')]
}

const beyond = (field: string, message: string): Complaint => ({ field, code: 'beyond_own_rights', message })
